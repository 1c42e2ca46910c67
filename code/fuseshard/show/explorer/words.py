"""The words of an explorer: what the stages are called and are, and what its table lists."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from fuseshard.compiler.described.targets import Target, Vendor
from fuseshard.compiler.gpu_code.records import Phase
from fuseshard.show.explorer.programs import Stage, stages_of
from fuseshard.show.words import Json, Text, Word, plain, word


@dataclass(frozen=True)
class StageWords:
    """How a stage is presented."""

    label: Text
    about: Word
    """one sentence: what the reader is looking at"""
    language: str
    """name of a Pygments lexer"""


_SHARED: Mapping[Stage, StageWords] = {
    "aten": StageWords(
        word("ATen graph"),
        word("What the compiler was given: one operator a line, with the shape of its result."),
        "python",
    ),
    "wrapper": StageWords(
        word("Wrapper"),
        word("What runs on the host: Python that allocates memory and launches the kernels."),
        "python",
    ),
    "triton": StageWords(
        plain("Triton"),
        word("The kernel as Inductor wrote it: Python in which each name is a block of numbers."),
        "python",
    ),
    "ttir": StageWords(
        plain("TTIR"),
        word("The same in Triton's own terms: blocks still, and nothing yet about a GPU."),
        "text",
    ),
    "ttgir": StageWords(
        plain("TTGIR"),
        word("The blocks dealt out: layouts like `#blocked` say which thread holds which numbers."),
        "text",
    ),
    "llir": StageWords(
        plain("LLVM IR"),
        word("One thread's work: numbers instead of blocks, in the instructions that LLVM knows."),
        "llvm",
    ),
}
_NVIDIA: Mapping[Stage, StageWords] = {
    "assembly": StageWords(
        plain("PTX"),
        word("Assembly for any NVIDIA card: as many registers as the code cares to name."),
        "ptx",
    ),
    "sass": StageWords(
        plain("SASS"),
        word("What the card executes: the binary taken apart, with its real registers."),
        "text",
    ),
}
_AMD: Mapping[Stage, StageWords] = {
    "assembly": StageWords(
        plain("amdgcn"),
        word("What the card executes: AMD's assembly with its real registers, `v` and `s`."),
        "gas",  # Pygments' own lexer for AMD colours single letters inside names
    ),
}

PHASES: Mapping[Phase, Word] = {
    "inference": word("inference"),
    "forward": word("forward"),
    "backward": word("backward"),
}
LIMITS: Mapping[str, Word] = {
    "registers": word("registers"),
    "shared memory": word("shared memory"),
    "threads": word("threads"),
    "blocks": word("blocks"),
}
"""what `Resources.limited_by` can say"""

RESOURCES: tuple[tuple[Word, str | None], ...] = (
    (word("Warps"), None),
    (word("Registers"), None),
    (word("Spills"), None),
    (word("Shared memory"), "B"),
    (word("Loads × bits"), None),
    (word("Stores"), None),
    (word("Occupancy"), "%"),
    (word("Limited by"), None),
)
"""rows of the table, each with its unit"""

_NO_NAME = re.compile(r"NVIDIA|GeForce|AMD|Instinct|Radeon|\d+GB|HBM\d")
"""maker, brand and memory"""


def short_name(target: Target) -> str:
    """Return what people call a GPU: "A100" where torch says "NVIDIA A100-SXM4-80GB"."""
    parts = (part for part in target.name.split() if not _NO_NAME.match(part))
    return " ".join(part.partition("-")[0] for part in parts)


def stages_json(vendor: Vendor) -> list[Json]:
    """Return a vendor's stages in order, each as {"key", "label", "about", "language"}."""
    known = {**_SHARED, **(_NVIDIA if vendor == "nvidia" else _AMD)}
    return [
        {
            "key": stage,
            "label": known[stage].label.to_json(),
            "about": known[stage].about.to_json(),
            "language": known[stage].language,
        }
        for stage in stages_of(vendor)
    ]
