"""What of a program's code depends on the GPU that it is written for."""

import difflib
from collections.abc import Iterable, Sequence

from fuseshard.compiler.gpu import GpuBuild
from fuseshard.compiler.gpu_code.kernels import GpuKernel
from fuseshard.compiler.gpu_study.matching import kernel_text
from fuseshard.compiler.gpu_study.programs import Program
from fuseshard.compiler.gpu_study.records import DeviceKernel, DeviceReport

TARGETS = ("h200", "a100", "mi300x")


def device_reports(
    programs: Iterable[Program], targets: Sequence[str] = TARGETS
) -> tuple[DeviceReport, ...]:
    """Write and compile programs for several GPUs.

    Args:
        programs: of the gallery, or like it.
        targets: keys of `fuseshard.compiler.described.targets.TARGETS`; the others are compared
            with the first.

    Returns:
        In the order of programs, then targets.
    """
    return tuple(report for program in programs for report in _reports(program, targets))


def _reports(program: Program, targets: Sequence[str]) -> list[DeviceReport]:
    builds = [program.build(target) for target in targets]
    first = _lines(builds[0])
    return [_report(program, build, first) for build in builds]


def _report(program: Program, build: GpuBuild, first: Sequence[str]) -> DeviceReport:
    return DeviceReport(
        target=build.target.key,
        program=program.key,
        kernels=tuple(_kernel(kernel) for kernel in build.kernels),
        library_calls=tuple(call.op for call in build.extern_calls),
        changed=changed_lines(first, _lines(build)),
    )


def _kernel(kernel: GpuKernel) -> DeviceKernel:
    return DeviceKernel(
        name=kernel.name,
        kind=kernel.kind,
        text=kernel_text(kernel.triton),
        configurations=kernel.configurations,
        resources=kernel.resources,
    )


def _lines(build: GpuBuild) -> list[str]:
    return [line for kernel in build.kernels for line in kernel_text(kernel.triton).splitlines()]


def changed_lines(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """List the lines by which two texts differ.

    Args:
        before: lines of the one.
        after: lines of the other.

    Returns:
        "- " and a line that only the first has, "+ " and one that only the second has.
    """
    differences = difflib.ndiff(before, after)
    return tuple(line for line in differences if line.startswith(("- ", "+ ")))
