"""The experiment: programs written on a machine with a card, and once more with the card hidden.

The hidden side is `fuseshard.compiler.gpu.build`, in a process that sees no card; the other side
is plain torch.compile in this one.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from fuseshard.compiler.described.targets import TARGETS, Target
from fuseshard.compiler.gpu import GpuBuild
from fuseshard.compiler.gpu_code import disassembly
from fuseshard.compiler.gpu_code.kernels import GpuKernel
from fuseshard.compiler.gpu_code.records import MachineCode
from fuseshard.compiler.gpu_study.programs import Program
from fuseshard.compiler.gpu_study.same_text.blanked import compared, first_lines
from fuseshard.compiler.gpu_study.same_text.card import Launcher, on_card
from fuseshard.compiler.gpu_study.same_text.programs import compared_programs
from fuseshard.compiler.gpu_study.same_text.records import CardKernel, SameText, SameTextReport
from fuseshard.compiler.text import clean
from fuseshard.measure.experiments import experiment

MOST_KERNELS = 4
"""of a program whose machine code is compared as well; a model's would take minutes"""


@experiment("gpu.same-text", needs="cuda")
def same_text() -> SameTextReport:
    """Write programs with this machine's card and without it, and compare the texts."""
    return same_text_report(compared_programs(), target_here())


def same_text_report(programs: Sequence[Program], target: Target) -> SameTextReport:
    """Compare programs one by one; the hidden side works ahead in its process.

    Args:
        programs: any.
        target: that describes this machine's card.
    """
    with ThreadPoolExecutor(1) as pool:
        builds = [pool.submit(program.build, target.key) for program in programs]
        found = []
        for program, build in zip(programs, builds, strict=True):
            torch.compiler.reset()
            try:
                card = on_card(program)
                found.append(compare(program, card.texts, build.result(), card.launchers()))
            except Exception as error:  # the record says it; the other programs go on
                found.append(_failed(program, error))
    return SameTextReport(target=target.key, programs=tuple(found))


def compare(
    program: Program,
    texts: Sequence[str],
    build: GpuBuild,
    launchers: Sequence[Launcher] = (),
) -> SameText:
    """Compare what was written with a card with what was written without.

    Args:
        program: what was compiled.
        texts: modules that were written with the card.
        build: written without it.
        launchers: kernels that ran on the card.
    """
    kernels = {kernel.name: kernel for kernel in build.kernels}
    looked_at = [launcher for launcher in launchers if launcher.name in kernels]
    is_small = len(kernels) <= MOST_KERNELS
    return compared(
        program.key,
        texts,
        [graph.wrapper for graph in build.graphs],
        [_beside(one, kernels[one.name], is_compiled=is_small) for one in looked_at],
    )


def _failed(program: Program, error: Exception) -> SameText:
    first_line = next(iter(clean(str(error)).splitlines()), "")
    return SameText(
        program=program.key,
        graphs=0,
        num_kernels=0,
        is_identical=False,
        difference=(),
        num_different=0,
        kernels=(),
        failure=f"{type(error).__name__}: {first_line}",
    )


def target_here() -> Target:
    """Find the description of this machine's card.

    Raises:
        ValueError: no target has its name.
    """
    name = torch.cuda.get_device_name()
    for target in TARGETS.values():
        if target.name == name:
            return target
    known = [target.name for target in TARGETS.values()]
    raise ValueError(
        f"target_here: the card is {name!r}, must be one of {known} (its description is compared "
        "with it); add a target for it."
    )


def _beside(launcher: Launcher, kernel: GpuKernel, *, is_compiled: bool) -> CardKernel:
    """Put what the card says of a kernel beside what is known without it."""
    candidates = kernel.configurations
    index = candidates.index(launcher.chosen) if launcher.chosen in candidates else None
    code = kernel.machine(index) if is_compiled and index is not None else None
    difference = _difference(launcher, code)
    return CardKernel(
        name=launcher.name,
        chosen=launcher.chosen,
        index=index,
        card_registers=launcher.registers,
        card_spills=launcher.spills,
        registers=code.resources.registers if code else None,
        spills=code.resources.spills if code else None,
        is_same_machine_code=None if difference is None else not difference,
        difference=difference or (),
    )


def _difference(launcher: Launcher, code: MachineCode | None) -> tuple[str, ...] | None:
    """List the first instructions that only one side has; None where there is none to compare."""
    if code is None or code.sass is None or launcher.cubin is None:
        return None
    import triton  # noqa: PLC0415 - there is no wheel for every system

    program = Path(triton.knobs.nvidia.nvdisasm.path)
    return first_lines(disassembly.sass(launcher.cubin, program=program), code.sass)
