"""What an explorer is made of: programs, the GPUs they were built for, the code at each stage."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from fuseshard.compiler.described.targets import Target, Vendor
from fuseshard.compiler.gpu_code.records import (
    Configuration,
    GpuGraph,
    KernelSource,
    MachineCode,
    Phase,
    Resources,
)
from fuseshard.show.words import Text

Stage = Literal["aten", "wrapper", "triton", "ttir", "ttgir", "llir", "assembly", "sass"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""from the captured graph down to what the card executes"""

_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


def stages_of(vendor: Vendor) -> tuple[Stage, ...]:
    """Name the stages that code passes on its way to a vendor's cards.

    Args:
        vendor: AMD's assembly is what its cards execute, so nothing comes after it.
    """
    return STAGES if vendor == "nvidia" else STAGES[:-1]


@dataclass(frozen=True, kw_only=True)
class KernelCode:
    """One kernel for one GPU: its code at every stage, and what it takes of the card."""

    name: str
    phase: Phase
    texts: Mapping[Stage, str] = field(hash=False)
    """stage -> code; "aten" and "wrapper" are those of the graph that the kernel is part of"""
    configuration: Configuration
    """the one that the texts from TTIR on were compiled under"""
    resources: Resources


def kernel_code(graph: GpuGraph, source: KernelSource, machine: MachineCode) -> KernelCode:
    """Put together what the compiler's parts say of one kernel.

    Args:
        graph: the graph that the kernel is part of.
        source: the kernel as Inductor wrote it.
        machine: the same kernel, compiled.
    """
    texts: dict[Stage, str] = {
        "aten": graph.aten,
        "wrapper": graph.wrapper,
        "triton": source.triton,
        "ttir": machine.ttir,
        "ttgir": machine.ttgir,
        "llir": machine.llir,
        "assembly": machine.assembly,
    }
    if machine.sass is not None:
        texts["sass"] = machine.sass
    return KernelCode(
        name=source.name,
        phase=source.phase,
        texts=texts,
        configuration=machine.configuration,
        resources=machine.resources,
    )


@dataclass(frozen=True, kw_only=True)
class TargetCode:
    """A program as it was built for one GPU."""

    target: Target
    kernels: tuple[KernelCode, ...]
    """in the order of the wrapper"""

    def __post_init__(self) -> None:
        where = f"target {self.target.key!r}"
        if not self.kernels:
            raise ValueError(
                f"{where}: got no kernel, must have at least one (the code below the wrapper is a "
                "kernel's); leave out programs that only call libraries"
            )
        _refuse_twice(where, "kernels", [(k.phase, k.name) for k in self.kernels])
        for kernel in self.kernels:
            _check_texts(f"{where}, kernel {kernel.name!r}", kernel.texts, self.target.vendor)


@dataclass(frozen=True, kw_only=True)
class ProgramCode:
    """A program with all that was built from it."""

    key: str
    """lower-case letters and digits, joined by hyphens; names the program in links and files"""
    label: Text
    views: tuple[TargetCode, ...]
    """one a GPU"""

    def __post_init__(self) -> None:
        if not _KEY.fullmatch(self.key):
            raise ValueError(
                f"program {self.key!r}: the key must be lower-case letters and digits joined by "
                "hyphens, like 'layer-norm', because it becomes part of a link; rename it"
            )
        if not self.views:
            raise ValueError(
                f"program {self.key!r}: got no views, must have one a GPU; build it for one"
            )
        _refuse_twice(f"program {self.key!r}", "targets", self.target_keys)

    @property
    def target_keys(self) -> list[str]:
        """The GPUs that the program was built for, in order."""
        return [view.target.key for view in self.views]


def check_programs(name: str, programs: tuple[ProgramCode, ...]) -> None:
    """Refuse programs that one explorer can't show together.

    Args:
        name: the explorer's, for the message.
        programs: in the order in which they are offered.

    Raises:
        ValueError: there is none, two can't be told apart, or they were built for other GPUs.
    """
    if not programs:
        raise ValueError(f"explorer {name!r}: got no programs, must have one; build one")
    _refuse_twice(f"explorer {name!r}", "program keys", [p.key for p in programs])
    _refuse_twice(f"explorer {name!r}", "program labels", [str(p.label) for p in programs])
    first = programs[0]
    for program in programs:
        if program.target_keys != first.target_keys:
            raise ValueError(
                f"explorer {name!r}: program {program.key!r} was built for {program.target_keys}, "
                f"must be for {first.target_keys} as {first.key!r} is (readers keep the GPU when "
                "they change the program); build all programs for the same GPUs, in one order"
            )


def _check_texts(where: str, texts: Mapping[Stage, str], vendor: Vendor) -> None:
    wanted = stages_of(vendor)
    if set(texts) != set(wanted):
        missing, unknown = sorted(set(wanted) - set(texts)), sorted(set(texts) - set(wanted))
        raise ValueError(
            f"{where}: lacks the stages {missing} and has {unknown} beyond them, must have "
            f"{list(wanted)} (what code for {vendor} passes); add or leave out what differs"
        )
    empty = [stage for stage in wanted if not texts[stage].strip()]
    if empty:
        raise ValueError(
            f"{where}: the stages {empty} are empty, must hold code, or a reader would be shown "
            "an empty box; find out why the compiler wrote nothing"
        )


def _refuse_twice(where: str, what: str, things: Iterable[object]) -> None:
    twice = sorted(str(thing) for thing, count in Counter(things).items() if count > 1)
    if twice:
        raise ValueError(
            f"{where}: the {what} {twice} stand more than once, must differ, since readers and "
            "links tell them apart by these; rename or leave out the second"
        )
