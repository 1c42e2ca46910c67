"""One kernel from Triton to machine code: where its load, its exchanges and its store end up."""

from __future__ import annotations

import re
from collections.abc import Callable

from fuseshard.compiler.gpu_study.records import Ladder, Rung
from fuseshard.show.chapters.triton.names import target_name
from fuseshard.show.chapters.triton.widths import load_counts
from fuseshard.show.choices import Choice, choose
from fuseshard.show.numbers import number
from fuseshard.show.records import Note, Source, Table
from fuseshard.show.sources import annotated_source, lines
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

LEXERS = {"Triton": "python", "LLVM IR": "llvm"}
"""stage -> name of a Pygments lexer; the others have none that fits"""

NOTED = ("load", "exchange", "exp", "divide", "store")
"""deeds that get a note at their first line, in the order in which a softmax does them"""


def stage_table(ladder: Ladder) -> Table:
    """Count what each stage has of each deed.

    Args:
        ladder: of one kernel.
    """
    rungs = ladder.rungs
    caption = word(
        "One kernel on its way to the {gpu}: lines of each stage, and how many of them do what.",
        gpu=target_name(ladder.target),
    )
    table = TableBuilder(f"stages-{ladder.target}", caption)
    table.texts(word("Stage"), [plain(rung.stage) for rung in rungs])
    table.counts(word("Lines"), [rung.num_lines for rung in rungs])
    table.counts(word("Loads"), [rung.count("load") for rung in rungs])
    table.counts(word("Exchanges between threads"), [rung.count("exchange") for rung in rungs])
    table.counts(word("Barriers"), [rung.count("wait") for rung in rungs])
    table.counts(word("Exponentials"), [rung.count("exp") for rung in rungs])
    table.counts(word("Divisions"), [rung.count("divide") for rung in rungs])
    table.counts(word("Stores"), [rung.count("store") for rung in rungs])
    return table.build()


def stage_chooser(ladder: Ladder, *, start: str = "Triton") -> Choice:
    """Show each stage's text, with the same notes at the same deeds.

    Args:
        ladder: of a softmax.
        start: the stage that is seen first.

    Raises:
        ValueError: a stage in which one of the deeds has no line.
    """
    stages = [rung.stage for rung in ladder.rungs]
    options = [(plain(rung.stage), _source(ladder, rung)) for rung in ladder.rungs]
    index = [str(stage) for stage in stages].index(start)
    return choose(f"stages-of-softmax-{ladder.target}", word("Stage"), options, start=index)


def load_finding(ladder: Ladder) -> Word:
    """Say in a clause what becomes of one tl.load.

    Args:
        ladder: of a kernel with one load.
    """
    return word(
        "{loads} tl.load ends up as {counts} for each thread",
        loads=ladder.rungs[0].count("load"),
        counts=load_counts(ladder.resources),
    )


def dropped_finding(ladder: Ladder) -> Word:
    """Say in a clause whether the assembler drops loads of which no thread needs anything.

    Args:
        ladder: of a kernel for NVIDIA.
    """
    counts = {rung.stage: rung for rung in ladder.rungs}
    ptx, sass = counts["PTX"].count("load"), counts["SASS"].count("load")
    if ptx == sass:
        return word("PTX and SASS have {n} loads each", n=ptx)
    return word(
        "PTX has {ptx} loads and SASS {sass}: of the others the assembler proves that their "
        "masks never hold",
        ptx=ptx,
        sass=sass,
    )


def growth_finding(ladder: Ladder) -> Word:
    """Say in a clause how many instructions one line of Triton becomes.

    Args:
        ladder: of one kernel.
    """
    first, instructions = ladder.rungs[0].num_lines, ladder.resources.instructions
    return word(
        "{first} lines of Triton become {last} instructions, {ratio} a line",
        first=first,
        last=instructions,
        ratio=number(instructions / first, 2),
    )


def _source(ladder: Ladder, rung: Rung) -> Source:
    caption = word(
        "{stage} of the kernel for the {gpu}", stage=rung.stage, gpu=target_name(ladder.target)
    )
    if rung.stage == "TTGIR":
        caption = word(
            "TTGIR of the kernel for the {gpu}: {layout}",
            gpu=target_name(ladder.target),
            layout=_layout(rung.text),
        )
    return annotated_source(
        f"stage-{ladder.target}-{re.sub('[^a-z]+', '-', rung.stage.lower())}",
        caption,
        rung.text,
        language=LEXERS.get(rung.stage, "text"),
        notes=[_note(rung, deed) for deed in NOTED],
        folded=False,
    )


def _note(rung: Rung, deed: str) -> Note:
    places = rung.places[deed]
    if not places:
        raise ValueError(
            f"stage_chooser: {rung.stage} has no line for {deed!r}, must have one (its notes are "
            "numbered like the other stages'); pass the ladder of a softmax."
        )
    said = _said()[deed](len(places))
    return lines(places[0], places[0], said)


def _said() -> dict[str, Callable[[int], Word]]:
    """Say of each deed what stands at its first line, and how many lines there are like it."""
    return {
        "load": lambda n: word("Loads from global memory; lines like it: {n}.", n=n),
        "exchange": lambda n: word(
            "The reduction: threads hand values to one another; lines like it: {n}.", n=n
        ),
        "exp": lambda n: word("The exponential; lines like it: {n}.", n=n),
        "divide": lambda n: word("The division; lines like it: {n}.", n=n),
        "store": lambda n: word("Stores to global memory; lines like it: {n}.", n=n),
    }


def _layout(ttgir: str) -> Word:
    """Say which elements of a row one thread holds."""
    found = re.search(r"sizePerThread = \[([\d, ]+)\], threadsPerWarp = \[([\d, ]+)\]", ttgir)
    if found is None:
        return word("the layout isn't a blocked one")
    return word(
        "a thread holds {size} neighbours, a warp is {threads} threads wide",
        size=found[1].split(", ")[-1],
        threads=found[2].split(", ")[-1],
    )
