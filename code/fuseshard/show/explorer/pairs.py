"""Which kernel of one GPU answers to which kernel of another, so that a reader's place is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from fuseshard.compiler.gpu_code.records import Phase
from fuseshard.show.explorer.programs import KernelCode, ProgramCode


@dataclass(frozen=True)
class Pairing:
    """One kernel of a program, as each GPU has it."""

    phase: Phase
    kernels: Mapping[str, KernelCode]
    """target key -> its kernel; GPUs for which the program was cut in another way have none"""


def pairings(program: ProgramCode) -> list[Pairing]:
    """Pair the kernels that a program has on its GPUs.

    Where all GPUs have as many kernels in a phase, the n-th of one answers to the n-th of another,
    whatever their names. Where they don't, only kernels of the same name answer to each other.

    Args:
        program: kernels in the order of each wrapper.

    Returns:
        Phase by phase, in the order in which kernels first appear.
    """
    phases = dict.fromkeys(kernel.phase for view in program.views for kernel in view.kernels)
    return [pairing for phase in phases for pairing in _of_phase(program, phase)]


def _of_phase(program: ProgramCode, phase: Phase) -> Iterator[Pairing]:
    by_target = {
        view.target.key: [kernel for kernel in view.kernels if kernel.phase == phase]
        for view in program.views
    }
    if len({len(kernels) for kernels in by_target.values()}) == 1:
        for row in zip(*by_target.values(), strict=True):
            yield Pairing(phase, dict(zip(by_target, row, strict=True)))
        return
    names = dict.fromkeys(kernel.name for kernels in by_target.values() for kernel in kernels)
    for name in names:
        same = {
            target: kernel
            for target, kernels in by_target.items()
            for kernel in kernels
            if kernel.name == name
        }
        yield Pairing(phase, same)
