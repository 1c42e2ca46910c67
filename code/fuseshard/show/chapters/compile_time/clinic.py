"""Show what the caches say of each change to a program, and why."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.caches.records import Answer, ClinicCase
from fuseshard.measure.records import Origin
from fuseshard.show.cards import origin_line
from fuseshard.show.chapters.compile_time.starts import answer_word
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import duration
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def clinic_table(cases: Sequence[ClinicCase], origin: Origin | None) -> Table:
    """Show every change in one row.

    Args:
        cases: the first is no change.
        origin: where they were tried.
    """
    lookups = [case.lookup for case in cases]
    table = TableBuilder("clinic", word("What caches on disk say of a changed program."))
    table.texts(word("Changed"), [change_word(case.change) for case in cases])
    table.texts(word("AOTAutograd's cache"), [answer_word(found.autograd) for found in lookups])
    table.texts(word("FX-graph cache"), [answer_word(found.graph) for found in lookups])
    table.counts(word("C++ files compiled"), [found.compiler_runs for found in lookups])
    table.seconds(word("First call"), [found.first_call_s for found in lookups])
    table.texts(
        word("our own cache"), [answer_word(answer_by_hand(case, cases[0])) for case in cases]
    )
    return table.build(origin=origin_line(origin, num_threads=1))


def answer_by_hand(case: ClinicCase, unchanged: ClinicCase) -> Answer:
    """Return what our own cache says of a change."""
    return "hit" if case.key_by_hand == unchanged.key_by_hand else "miss"


def by_answer(cases: Sequence[ClinicCase]) -> dict[tuple[Answer, Answer, int], set[str]]:
    """Gather the changes of which the caches said the same.

    Args:
        cases: one a change.

    Returns:
        What AOTAutograd's cache and the FX-graph cache said, and how many C++ files were
        compiled -> names of the changes.
    """
    found: dict[tuple[Answer, Answer, int], set[str]] = {}
    for case in cases:
        says = case.lookup
        answer = (says.autograd, says.graph, says.compiler_runs)
        found.setdefault(answer, set()).add(case.change)
    return found


def disagreements(cases: Sequence[ClinicCase]) -> set[str]:
    """Return the changes of which our own cache says something else than AOTAutograd's.

    Args:
        cases: the first is no change.
    """
    return {case.change for case in cases if answer_by_hand(case, cases[0]) != case.lookup.autograd}


def clinic_choice(cases: Sequence[ClinicCase]) -> Choice:
    """Show one change at a time, with the reason for what the caches say.

    Args:
        cases: the first is no change.
    """
    options = [(change_word(case.change), _one(case)) for case in cases]
    return choose("clinic-choice", word("What changed since the caches were filled"), options)


def _one(case: ClinicCase) -> Table:
    found = case.lookup
    rows: list[tuple[Text, Text, Text]] = [
        (
            word("AOTAutograd's cache"),
            answer_word(found.autograd),
            word("Dynamo's graph with its names, shapes, dtypes, options, threads, versions"),
        ),
        (
            word("FX-graph cache"),
            answer_word(found.graph),
            word("the ATen graph, shapes, dtypes, options, threads, versions"),
        ),
        (
            word("compiled C++"),
            word("hit") if not found.compiler_runs else word("miss"),
            word("the kernel's text, the compiler and its flags"),
        ),
    ]
    table = TableBuilder(f"clinic-{case.change}", _why(case.change))
    table.texts(word("Cache"), [row[0] for row in rows])
    table.texts(word("Says"), [row[1] for row in rows])
    table.texts(word("What its key is made of"), [row[2] for row in rows])
    return table.build(
        notes=[word("The first call took {time}.", time=duration(found.first_call_s))]
    )


def change_word(change: str) -> Text:
    """Name a change."""
    named: dict[str, Text] = {
        "nothing": word("nothing"),
        "weights": word("values of the weights"),
        "comment": word("a comment"),
        "variable": word("name of a variable"),
        "depth": word("two layers instead of one"),
        "option": word("an option of Inductor's"),
        "threads": word("two threads instead of one"),
        "operation": word("tanh instead of sigmoid"),
        "rows": word("15 rows instead of 10"),
        "dtype": plain("float64"),
    }
    return named[change]


def _why(change: str) -> Word:
    return {
        "nothing": word(
            "The same program in a new process. Dynamo traces it again; what comes behind is found."
        ),
        "weights": word(
            "Weights are inputs of the graph, and no key holds the values of inputs: you can train "
            "on and keep the compiled code."
        ),
        "comment": word(
            "Dynamo reads bytecode, which has no comments, and the line on which an operation "
            "stands is in no key."
        ),
        "variable": word(
            "Dynamo names the nodes of its graph after your variables, and AOTAutograd's key holds "
            "those names. The ATen graph behind it has names of its own."
        ),
        "depth": word(
            "The graph is another one, so all is written anew; the kernel comes out with the same "
            "text, and compiled C++ is found by its text."
        ),
        "option": word(
            "All options are in the keys, whether or not they matter for this graph. Here the "
            "kernel came out the same."
        ),
        "threads": word(
            "The number of threads is in the keys, since Inductor may write it into its loops. "
            "This kernel has too little work to share, and came out the same."
        ),
        "operation": word("Another graph and another kernel: nothing fits any more."),
        "rows": word(
            "Shapes are in the keys, and with static shapes they are in the C++ as numbers."
        ),
        "dtype": word("Dtypes are in the keys, and in the C++ as types."),
    }[change]
