"""Whether code written without a GPU is the code that is written with one. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass

from fuseshard.compiler.gpu_code.records import Configuration
from fuseshard.measure.records import Origin


@dataclass(frozen=True, kw_only=True)
class CardKernel:
    """A kernel as the card runs it, beside what is made without the card."""

    name: str
    chosen: Configuration
    """what the autotuner settled on"""
    index: int | None
    """of it among the candidates that are known without the card; None: it isn't among them"""
    card_registers: int | None
    """of a thread, as the driver tells"""
    card_spills: int | None
    registers: int | None
    """as read from the machine code that is made without the card; None: not compiled"""
    spills: int | None
    is_same_machine_code: bool | None
    """whether both give the same instructions; None: not compared"""
    difference: tuple[str, ...] = ()
    """first lines that only one of the two machine codes has, marked as in `SameText`; empty where
    they are the same or weren't compared, and in recordings from before it was kept"""


@dataclass(frozen=True, kw_only=True)
class SameText:
    """One program, written with the card and without it."""

    program: str
    graphs: int
    """that the card's Inductor wrote; forward and backward count apart"""
    num_kernels: int
    """Triton kernels in them"""
    is_identical: bool
    """after blanking what `blanked.BLANKS` lists"""
    difference: tuple[str, ...]
    """first lines that only one of the two has: "- " before the card's, "+ " before the other's"""
    num_different: int
    """lines that only one of the two has"""
    kernels: tuple[CardKernel, ...]
    """those that were looked at on the card"""
    failure: str | None = None
    """why there was nothing to compare, where one of the two couldn't be written"""


@dataclass(frozen=True, kw_only=True)
class SameTextReport:
    """The comparison for every program."""

    target: str
    """what was described in place of the card"""
    programs: tuple[SameText, ...]
    origin: Origin | None = None

    @property
    def num_identical(self) -> int:
        """Programs whose texts are identical."""
        return sum(program.is_identical for program in self.programs)
