"""Every text of every program of the explorer, for several GPUs."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from fuseshard.compiler.described.targets import target as find_target
from fuseshard.compiler.gpu import GpuBuild
from fuseshard.compiler.gpu_study.programs import Program, gallery
from fuseshard.compiler.gpu_study.records import CompiledKernel, ProgramTexts

TARGETS = ("h200", "a100", "rtx4090", "b200", "mi300x")
UNEXPLORED = ("attention", "minigpt-block")
"""programs of the gallery without a kernel of Inductor's, and with more than can be told apart"""


def explored_programs() -> tuple[Program, ...]:
    """Return the programs of the gallery that have kernels, and few enough to choose from."""
    return tuple(program for program in gallery() if program.key not in UNEXPLORED)


def program_texts(program: Program, targets: Sequence[str] = TARGETS) -> tuple[ProgramTexts, ...]:
    """Build a program for several GPUs, and compile each of its kernels.

    Args:
        program: of the gallery, or like it.
        targets: keys of `fuseshard.compiler.described.targets.TARGETS`.

    Returns:
        One record a GPU, in their order.
    """
    return build_all([program], targets)[0]


def build_all(
    programs: Sequence[Program], targets: Sequence[str] = TARGETS
) -> tuple[tuple[ProgramTexts, ...], ...]:
    """Build programs for several GPUs; each vendor's are built in a process of their own.

    Args:
        programs: of the gallery, or like it.
        targets: keys of `fuseshard.compiler.described.targets.TARGETS`.

    Returns:
        For each program one record a GPU.
    """
    pairs = [(program, target) for program in programs for target in targets]
    vendors = {find_target(target).vendor for target in targets}
    groups = [[pair for pair in pairs if find_target(pair[1]).vendor == v] for v in vendors]
    with ThreadPoolExecutor(len(groups)) as pool:
        made = [texts for done in pool.map(_group, groups) for texts in done]
    found = {(texts.program, texts.target): texts for texts in made}
    return tuple(tuple(found[program.key, t] for t in targets) for program in programs)


def _group(pairs: Sequence[tuple[Program, str]]) -> list[ProgramTexts]:
    """Build for one vendor, whose worker does one thing after the other."""
    return [_texts(program.key, program.build(target)) for program, target in pairs]


def _texts(key: str, build: GpuBuild) -> ProgramTexts:
    machines = {(kernel.phase, kernel.name): kernel.machine() for kernel in build.kernels}
    return ProgramTexts(
        program=key,
        target=build.target.key,
        kernels=tuple(
            CompiledKernel(graph=graph, source=source, machine=machines[source.phase, source.name])
            for graph in build.graphs
            for source in graph.kernels
        ),
    )
