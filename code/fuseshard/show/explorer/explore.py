"""A reader picks program, GPU and stage, and reads the code with its resources beside it.

The output of a cell holds every text once; a page of the book gets the program that is seen first,
and the others as files that are loaded when they are picked. Example:

    explore("explorer", word("Twelve programs on five GPUs"),
            [ProgramCode(key="softmax", label=plain("softmax"), views=(h200, a100, mi300x))])
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_code.records import Resources
from fuseshard.show.explorer.pairs import Pairing, pairings
from fuseshard.show.explorer.programs import (
    KernelCode,
    ProgramCode,
    Stage,
    check_programs,
    stages_of,
)
from fuseshard.show.explorer.words import (
    LIMITS,
    PHASES,
    RESOURCES,
    short_name,
    stages_json,
)
from fuseshard.show.numbers import TIMES_SIGN, number
from fuseshard.show.records import Record
from fuseshard.show.words import VERSION, Json, Word

EXPLORER_MIME = "application/vnd.fuseshard.explorer+json"


class Place(NamedTuple):
    """Where a reader is in an explorer."""

    program: str
    target: str
    stage: Stage


@dataclass(frozen=True)
class Explorer(Record):
    """Programs at every stage of their compilation for several GPUs, one text at a time."""

    mime = EXPLORER_MIME
    label: Word
    """what is explored"""
    programs: tuple[ProgramCode, ...]
    """all built for the same GPUs"""
    start: Place
    """what is seen first"""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_programs(self.name, self.programs)
        self._check_start()
        self._check_limits()

    @property
    def targets(self) -> list[Target]:
        """The GPUs, in the order in which they are offered."""
        return [view.target for view in self.programs[0].views]

    def _check_start(self) -> None:
        vendors = {target.key: target.vendor for target in self.targets}
        keys = [program.key for program in self.programs]
        if self.start.program not in keys or self.start.target not in vendors:
            raise ValueError(
                f"explorer {self.name!r}: starts with {tuple(self.start)}, must be one of the "
                f"programs {keys} on one of the GPUs {list(vendors)}; correct it"
            )
        stages = stages_of(vendors[self.start.target])
        if self.start.stage not in stages:
            raise ValueError(
                f"explorer {self.name!r}: starts at stage {self.start.stage!r}, must be one of "
                f"{list(stages)}, which code for {self.start.target!r} passes; correct it"
            )

    def _check_limits(self) -> None:
        limits = {
            kernel.resources.limited_by
            for program in self.programs
            for view in program.views
            for kernel in view.kernels
        }
        if not limits <= LIMITS.keys():
            raise ValueError(
                f"explorer {self.name!r}: occupancy is limited by {sorted(limits - LIMITS.keys())},"
                f" must be among {list(LIMITS)}, for which editions have words; add a word"
            )

    def to_json(self) -> Json:
        """Return the explorer with each text once, in a list that all else refers to."""
        texts: dict[str, int] = {}
        programs = [_program_json(program, texts) for program in self.programs]
        vendors = dict.fromkeys(target.vendor for target in self.targets)
        return {
            "version": VERSION,
            "name": self.name,
            "label": self.label.to_json(),
            "start": self.start._asdict(),
            "targets": [
                {"key": t.key, "name": t.name, "short": short_name(t), "vendor": t.vendor}
                for t in self.targets
            ],
            "stages": {vendor: stages_json(vendor) for vendor in vendors},
            "resources": [{"title": title.to_json(), "unit": unit} for title, unit in RESOURCES],
            "limits": {key: said.to_json() for key, said in LIMITS.items()},
            "phases": {key: said.to_json() for key, said in PHASES.items()},
            "programs": programs,
            "texts": list(texts),
        }


def explore(
    name: str,
    label: Word,
    programs: Sequence[ProgramCode],
    *,
    start: Place | None = None,
) -> Explorer:
    """Let a reader look into programs, stage by stage and GPU by GPU.

    Args:
        name: lower-case words joined by hyphens, unique on its page; stands in links to a view,
            as in `#explorer=softmax,h200,sass`.
        label: what is explored.
        programs: all built for the same GPUs.
        start: what is seen first; None for the first program's Triton code on its first GPU.

    Raises:
        ValueError: programs, GPUs or kernels can't be told apart, programs were built for
            different GPUs, or `start` isn't among them.
    """
    check_programs(name, tuple(programs))
    first = programs[0]
    place = start or Place(first.key, first.target_keys[0], "triton")
    return Explorer(name, label, tuple(programs), place)


def _program_json(program: ProgramCode, texts: dict[str, int]) -> Json:
    kernels = [_pairing_json(pairing, texts) for pairing in pairings(program)]
    return {"key": program.key, "label": program.label.to_json(), "kernels": kernels}


def _pairing_json(pairing: Pairing, texts: dict[str, int]) -> Json:
    views = {target: _kernel_json(kernel, texts) for target, kernel in pairing.kernels.items()}
    return {"phase": pairing.phase, "views": views}


def _kernel_json(kernel: KernelCode, texts: dict[str, int]) -> Json:
    """Return a kernel's JSON; `texts` gains those of its texts that it hasn't got."""
    return {
        "name": kernel.name,
        "settings": _settings(kernel),
        "cells": _cells(kernel),
        "limited_by": kernel.resources.limited_by,
        "texts": {
            stage: texts.setdefault(text, len(texts)) for stage, text in kernel.texts.items()
        },
    }


def _settings(kernel: KernelCode) -> str:
    """Write a configuration the way that Triton's own code does."""
    configuration = kernel.configuration
    sizes = [f"{name}={size}" for name, size in configuration.blocks.items()]
    rest = [f"num_warps={configuration.num_warps}", f"num_stages={configuration.num_stages}"]
    return ", ".join([*sizes, *rest])


def _cells(kernel: KernelCode) -> list[str]:
    """Return what stands beside `RESOURCES`, but for the last of them, which is a word."""
    resources = kernel.resources
    return [
        number(kernel.configuration.num_warps),
        number(resources.registers),
        number(resources.spills),
        number(resources.shared_bytes),
        _loads(resources),
        number(resources.stores),
        f"{100 * resources.occupancy:.1f}".removesuffix(".0"),
    ]


def _loads(resources: Resources) -> str:
    """Return the loads by width, widest first, a line each: "4×128", "1×32"."""
    widths = sorted(Counter(resources.load_bits).items(), reverse=True)
    known = [f"{count}{TIMES_SIGN}{bits}" for bits, count in widths]
    return "\n".join(known) or number(resources.loads)
