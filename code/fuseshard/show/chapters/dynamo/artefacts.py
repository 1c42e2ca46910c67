"""What our compiler made beside what torch's made: graph, guards, C++; and the compiler itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType

from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Source
from fuseshard.show.sources import Anchor, annotated_source, on, show_source
from fuseshard.show.words import Text, Word, plain, word

_LONGEST_CHECK = 96
"""characters of a guard that are shown; torch's global state alone has hundreds"""


@dataclass(frozen=True)
class Artefacts:
    """What one compiler made of one function."""

    graph: Sequence[str]
    guards: Sequence[str]
    cpp: str


def compiler_parts(modules: Sequence[ModuleType]) -> Choice:
    """Let the reader turn the pages of our compiler.

    Args:
        modules: of `compiler.tiny`, in the order in which a call passes through them.
    """
    options: list[tuple[Text, Source]] = []
    for module in modules:
        options.append((plain(f"{module.__name__.rpartition('.')[2]}.py"), show_source(module)))
    return choose("tiny-parts", word("Part of the compiler"), options)


def kernel_source(cpp: str) -> Source:
    """Show the C++ that our compiler wrote, with notes."""
    notes = [
        on(
            r"for \(long i1",
            word("The loops follow memory: x is transposed, so its last dimension is outside."),
            last=r"for \(long i0",
        ),
        on(r"t0 =", word("The product: the Python number stands in the code.")),
        on(r"t1 =", word("y has no dimension 0: a stride of 0 broadcasts it.")),
        on(r"t2 =", word("The branch was taken, so relu is here; there is no `if` on gain.")),
        on(r"out\[", word("One store an element. t0 to t2 never reach memory.")),
    ]
    caption = word("The C++ that our compiler wrote")
    return annotated_source("tiny-cpp", caption, cpp, language="cpp", notes=notes, folded=False)


def stage_choice(ours: Artefacts, theirs: Artefacts) -> Choice:
    """Let the reader step through the stages, with both compilers' artefacts in one listing."""
    checks = [[_short(line) for line in made.guards] for made in (ours, theirs)]
    graph = _both(
        "graph",
        word("Two graphs of blend"),
        ours=ours.graph,
        theirs=theirs.graph,
        notes=_graph_notes(),
    )
    guards = _both(
        "guards",
        word("Two sets of guards"),
        ours=checks[0],
        theirs=checks[1],
        notes=_guard_notes(),
    )
    cpp = _both(
        "cpp", word("Two kernels"), ours=[ours.cpp], theirs=[theirs.cpp], notes=_cpp_notes()
    )
    return choose(
        "stages",
        word("Stage"),
        [(word("1: graph"), graph), (word("2: guards"), guards), (word("3: C++"), cpp)],
    )


def _both(
    stage: str,
    caption: Word,
    *,
    ours: Sequence[str],
    theirs: Sequence[str],
    notes: Sequence[Anchor],
) -> Source:
    """Put one listing under the other, each under the name of its maker."""
    mark = "//" if stage == "cpp" else "#"
    maker = "Inductor" if stage == "cpp" else "Dynamo"
    code = "\n".join([f"{mark} tiny", *ours, "", f"{mark} {maker}", *theirs])
    language = {"graph": "python", "guards": "text", "cpp": "cpp"}[stage]
    return annotated_source(
        f"stage-{stage}", caption, code, language=language, notes=notes, folded=False
    )


def _graph_notes() -> list[Anchor]:
    return [
        on(r"^t0", word("Four operations ..."), last=r"^t3"),
        on(r"l_x_ \* 2\.0", word("... and the same four, with the line that each comes from.")),
    ]


def _guard_notes() -> list[Anchor]:
    return [
        on(r"^argument x", word("Ours: four values were read, so there are four guards.")),
        on(r"^GLOBAL_STATE", word("We leave this out: what torch itself is set to.")),
        on(r"^TENSOR_MATCH.*L\['x'\]", word("The same facts about x, and its dispatch keys.")),
        on(
            r"^NO_TENSOR_ALIASING",
            word(
                "x and y are two tensors; if they were one, a function "
                "that writes to x would change y."
            ),
        ),
        on(r"^EQUALS_MATCH.*gain", word("Equal by ==, where ours compares the bits.")),
        on(r"^EQUALS_MATCH.*offset", word("The global that a recording would miss.")),
    ]


def _cpp_notes() -> list[Anchor]:
    return [
        on(r"t0 =", word("Ours takes one number at a time, and hopes for the C++ compiler.")),
        on(r"Vectorized<float>::loadu", word("Inductor says which vector instructions it wants.")),
    ]


def _short(check: str) -> str:
    return check if len(check) <= _LONGEST_CHECK else f"{check[:_LONGEST_CHECK]} …"
