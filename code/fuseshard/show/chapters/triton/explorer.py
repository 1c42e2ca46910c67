"""The page on which readers explore code by program, GPU and stage."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_study.matching import kernel_text
from fuseshard.compiler.gpu_study.records import ProgramTexts
from fuseshard.show.chapters.triton.names import program_word
from fuseshard.show.explorer.explore import Explorer, Place, explore
from fuseshard.show.explorer.programs import ProgramCode, TargetCode, kernel_code
from fuseshard.show.words import Word, word


def program_explorer(built: Sequence[Sequence[ProgramTexts]]) -> Explorer:
    """Show programs at every stage for every GPU.

    Args:
        built: for each program one record a GPU, the same GPUs each time.
    """
    programs = [
        ProgramCode(
            key=texts[0].program,
            label=program_word(texts[0].program),
            views=tuple(_target_code(one) for one in texts),
        )
        for texts in built
    ]
    first = built[0][0]
    return explore(
        "gpu-code",
        word("What Inductor and Triton write, program by program and GPU by GPU"),
        programs,
        start=Place(first.program, first.target, "triton"),
    )


def equal_finding(built: Sequence[Sequence[ProgramTexts]]) -> Word:
    """Say in a clause how many programs are the same Triton kernels on all GPUs of a vendor.

    Args:
        built: as for `program_explorer`.
    """
    nvidia = [[one for one in texts if TARGETS[one.target].vendor == "nvidia"] for texts in built]
    return word(
        "of {n} programs, {same} are the same Triton kernels on all {cards} of NVIDIA's cards, and "
        "{everywhere} of them on AMD's, too",
        same=sum(len({kernels(one) for one in texts}) == 1 for texts in nvidia),
        n=len(built),
        cards=len(nvidia[0]),
        everywhere=sum(len({kernels(one) for one in texts}) == 1 for texts in built),
    )


def kernels(texts: ProgramTexts) -> tuple[str, ...]:
    """Return a program's kernels in Triton, without what stands before them about the card.

    Args:
        texts: of one program for one GPU.
    """
    return tuple(kernel_text(k.source.triton) for k in texts.kernels)


def registers_finding(texts: Sequence[ProgramTexts]) -> Word:
    """Say in a clause between which numbers of registers one program's first kernel lies.

    Args:
        texts: of one program, one record a GPU.
    """
    found = [one.kernels[0].machine.resources.registers for one in texts]
    return word("between {least} and {most} registers a thread", least=min(found), most=max(found))


def _target_code(texts: ProgramTexts) -> TargetCode:
    return TargetCode(
        target=TARGETS[texts.target],
        kernels=tuple(kernel_code(k.graph, k.source, k.machine) for k in texts.kernels),
    )
