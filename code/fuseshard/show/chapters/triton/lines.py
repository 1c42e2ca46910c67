"""A softmax by hand and by Inductor, line matched to line."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.gpu_study.records import Matching
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Note, Source, Table
from fuseshard.show.sources import annotated_source, lines
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word


def by_hand_source(matching: Matching) -> Source:
    """Show the hand-written kernel; its notes are numbered like those of Inductor's."""
    caption = word("A softmax in Triton by hand")
    return _source("softmax-by-hand", caption, matching.by_hand, _notes(matching, 0))


def by_inductor_source(matching: Matching) -> Source:
    """Show Inductor's kernel; its notes are numbered like those of the hand-written one."""
    caption = word("The same softmax, written by Inductor")
    return _source("softmax-by-inductor", caption, matching.by_inductor, _notes(matching, 1))


def kernel_chooser(matching: Matching) -> Choice:
    """Show one of the two kernels at a time."""
    options = [
        (word("by hand"), by_hand_source(matching)),
        (word("by Inductor"), by_inductor_source(matching)),
    ]
    return choose("two-softmaxes", word("Written"), options)


def match_table(matching: Matching) -> Table:
    """Show which lines of each kernel have each role."""
    said = role_words()
    caption = word("What each line is for, found in the syntax trees of both kernels.")
    table = TableBuilder("softmax-roles", caption)
    roles = matching.roles
    table.counts(word("Note"), list(range(1, len(roles) + 1)))
    table.texts(word("What it does"), [said[role.role] for role in roles])
    table.texts(word("Lines by hand"), [plain(_numbers(role.by_hand)) for role in roles])
    table.texts(word("Lines by Inductor"), [plain(_numbers(role.by_inductor)) for role in roles])
    return table.build(row_header=False)


def match_finding(matching: Matching) -> Word:
    """Say in a clause how many of Inductor's lines have a role, and what the others are."""
    total = sum(bool(line.strip()) for line in matching.by_inductor.splitlines())
    return word(
        "{matched} of Inductor's {total} lines have a counterpart by hand; the other {rest} give "
        "names, copies and constants, or fill in what lies outside the mask",
        matched=total - matching.unmatched,
        total=total,
        rest=matching.unmatched,
    )


def role_words() -> dict[str, Word]:
    """Say what a line of each role does, by `compiler.gpu_study.matching.ROLES`."""
    return {
        "rows": word("Which rows this program takes."),
        "columns": word("One number a column, up to the next power of two."),
        "mask": word("The mask: which of them lie inside the tensor."),
        "load": word("Loads the rows; outside the mask stands a value that changes nothing."),
        "maximum": word("The largest of each row, over all threads that share it."),
        "subtract": word("Subtracts it, so that no exponential is infinite."),
        "exp": word("The exponential."),
        "sum": word("The sum of each row, over all threads that share it."),
        "divide": word("Divides."),
        "store": word("Stores what lies inside the mask."),
    }


def _notes(matching: Matching, side: int) -> list[Note]:
    said = role_words()
    return [lines(r.places[side], r.places[side], said[r.role]) for r in matching.roles]


def _source(name: str, caption: Word, code: str, notes: Sequence[Note]) -> Source:
    return annotated_source(name, caption, code, language="python", notes=notes, folded=False)


def _numbers(found: Sequence[int]) -> str:
    return ", ".join(map(str, found))
