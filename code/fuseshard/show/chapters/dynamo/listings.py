"""Annotated listings of the chapter on Dynamo: bytecode before and after, and a recording.

Patterns, not line numbers: Python 3.11, 3.12 and 3.13 write the same function in different
instructions, and a pattern that finds nothing fails the build.
"""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.dynamo.records import Frame
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Source
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.words import Word, word


def recording_source(code: str) -> Source:
    """Show what torch.fx's recorder kept of the chapter's function."""
    notes = [
        on(r"_assert", word("The recorder knows that gain was fixed, and refuses another one.")),
        on(r"relu", word("The branch was taken during the recording; the `if` itself is gone.")),
        on(r"\+ 0\.5", word("The global, as it was then. Nothing says where 0.5 came from.")),
    ]
    caption = word("What torch.fx.symbolic_trace recorded with gain = 2.0")
    return _listing("recording", caption, code.strip(), notes, folded=False)


def before_source(bytecode: str) -> Source:
    """Show the bytecode of the chapter's function, as Python compiled it."""
    notes = [
        on(r"\bx\b", word("A local variable: an argument. Its name stands beside it.")),
        on(r"BINARY_OP +\*", word("Takes two values from the stack and leaves their product.")),
        on(
            r"COMPARE_OP",
            word("The condition and the jump over the next line; Python decides with a number."),
            last=r"POP_JUMP",
        ),
        on(r"relu", word("A method of whatever lies on the stack.")),
        on(r"offset", word("A global variable: the instruction says so.")),
    ]
    caption = word("The bytecode of blend, as Python compiled it")
    return _listing("bytecode-before", caption, bytecode, notes, folded=False)


def after_source(frame: Frame) -> Source:
    """Show the bytecode that Dynamo put in the place of the chapter's function."""
    return _listing(
        "bytecode-after",
        word("The bytecode that Dynamo wrote in its place"),
        frame.after,
        [*_call_notes(), *_return_notes()],
        folded=False,
    )


def break_choice(frames: Sequence[Frame]) -> Choice:
    """Let the reader step through a function with a graph break, and its resume function.

    Args:
        frames: the function and one resume function, from `compiler.dynamo.bytecode.frames`.
    """
    function, resume = frames
    first = _listing(
        "break-function-after",
        word("The first half: one graph, a jump, and a call of a function made for the rest"),
        function.after,
        _break_notes(),
        folded=False,
    )
    before = _listing(
        "break-resume-before",
        word("The resume function, before Dynamo reads it"),
        resume.before,
        [
            on(r"JUMP_FORWARD", word("It begins by jumping over what has already been done.")),
            on(r"BINARY_OP +\*", word("The first half is still here, and never runs.")),
            on(r"relu", word("Here it goes on: the body of the `if`.")),
        ],
        folded=False,
    )
    after = _listing(
        "break-resume-after",
        word("The resume function, after: a frame like any other, with a graph of its own"),
        resume.after,
        _call_notes(arguments=r"LOAD_FAST.*\bz\b"),
        folded=False,
    )
    return choose(
        "break-step",
        word("Step"),
        [
            (word("1: the function, rewritten"), first),
            (word("2: the resume function, as generated"), before),
            (word("3: the resume function, rewritten"), after),
        ],
    )


def effects_source(frame: Frame) -> Source:
    """Show where the rewritten bytecode replays an append to a global list."""
    notes = [
        on(r"__compiled_fn", word("First the graph ...")),
        on(r"'asked'", word("... then the list as it should be in the end ..."), last=r"history"),
        on(r"STORE_SUBSCR", word("... which is assigned to the whole slice history[:].")),
    ]
    caption = word("The rewritten bytecode of look_up: the side effect comes after the graph")
    return _listing("effects", caption, frame.after, notes, folded=True)


def _listing(
    name: str, caption: Word, code: str, notes: Sequence[Anchor], *, folded: bool
) -> Source:
    language = "python" if name == "recording" else "text"
    return annotated_source(name, caption, code, language=language, notes=notes, folded=folded)


def _call_notes(arguments: str = r"LOAD_FAST.*\bx\b") -> list[Anchor]:
    """Explain how rewritten bytecode calls its graph."""
    return [
        on(
            r"__compiled_fn",
            word("The compiled graph: a global variable whose name Dynamo made up."),
        ),
        on(
            r"record_pregraph_bytecode_enter",
            word("For the profiler only: it marks the time before the graph."),
        ),
        on(arguments, word("What the graph takes: tensors. Numbers are inside it.")),
        on(
            r"STORE_FAST +graph_out_0",
            word("The graph has run; its results come back in one sequence."),
        ),
    ]


def _return_notes() -> list[Anchor]:
    """Explain how the result leaves."""
    return [
        on(r"LOAD_FAST +graph_out_0", word("The first result ..."), last=r"BINARY_(SUBSCR|OP)"),
        on(r"RETURN_VALUE", word("... is returned. There is no multiplication here, and no `if`.")),
    ]


def _break_notes() -> list[Anchor]:
    """Explain the end of a function that a graph break cuts."""
    return [
        on(r"__compiled_fn", word("The first graph: the product, the sum and the comparison.")),
        on(r"POP_JUMP\w*IF_FALSE", word("The `if` itself is left to Python: it asks the tensor.")),
        on(r"__resume_at", word("True: the rest, from the body of the `if` on.")),
        on(r"__resume_at", word("False: the rest, from the line after it on."), occurrence=2),
    ]
