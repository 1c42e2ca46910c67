"""What the experiments on GPU code find, as plain data. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuseshard.compiler.gpu_code.records import (
    Configuration,
    GpuGraph,
    KernelSource,
    MachineCode,
    Resources,
)

Dtype = Literal["float32", "float16", "bfloat16"]

ROUNDOFFS: dict[Dtype, float] = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
"""u: largest relative error of rounding to the type; half the distance from 1 to the next number"""

SLACK = 4
"""times as far from the exact result as eager mode that rounding may take us: a sum in another
order, or another exp, moves the error by a small factor; a wrong formula by orders of magnitude"""


@dataclass(frozen=True, kw_only=True)
class ValueCheck:
    """A program's GPU code, run on the CPU and held against the exact result."""

    program: str
    dtype: Dtype
    edit: str | None
    """what was broken in the code on purpose, in a few words; None: it is as Inductor wrote it"""
    numbers: int
    """that were compared: of the output and of all gradients"""
    launches: int
    """of Triton kernels"""
    error: float
    """largest difference from the result in float64, over the largest number of its tensor; nan
    or inf where the code yields that"""
    eager_error: float
    """the same for eager mode on the CPU, in the same type"""

    @property
    def bound(self) -> float:
        """The largest error that rounding explains; an exact result has to be rounded as well."""
        return SLACK * max(self.eager_error, ROUNDOFFS[self.dtype])

    @property
    def is_rounding(self) -> bool:
        """Whether the error is within the bound."""
        return self.error <= self.bound


@dataclass(frozen=True, kw_only=True)
class Distances:
    """How far results in one type are from the exact ones rounded to that type."""

    way: str
    """who computed: "torch", "our interpreter" or "plain interpreter\""""
    dtype: Dtype
    numbers: int
    off: int
    """numbers that aren't the exact result, correctly rounded"""
    largest: int
    """the largest distance, in representable numbers"""
    mean: float
    """the mean distance with its sign, in representable numbers: below 0 where results are too
    small, 0 where errors fall to both sides alike"""


@dataclass(frozen=True, kw_only=True)
class TilePoint:
    """A hand-written kernel, compiled for one size of its tile and one number of warps."""

    target: str
    varied: int
    """value of the constant that is varied"""
    tile: int
    """elements of the tile"""
    num_warps: int
    elements_per_thread: int
    resources: Resources
    compile_s: float


@dataclass(frozen=True, kw_only=True)
class WidthCase:
    """A hand-written kernel, compiled under one assumption on where its rows begin."""

    target: str
    columns: int
    """elements of a row, known to the compiler"""
    is_aligned: bool
    """whether the compiler may take the first row's address to be divisible by 16"""
    dtype: Dtype
    resources: Resources

    @property
    def load_bits(self) -> int:
        """Bits that the widest load fetches for a thread."""
        return max(self.resources.load_bits)


Stage = Literal["Triton", "TTIR", "TTGIR", "LLVM IR", "PTX", "SASS", "amdgcn"]


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One stage on the way from a kernel's source to machine code."""

    stage: Stage
    text: str
    num_lines: int
    """of code, without empty ones and comments; in Triton statements of the kernel's body"""
    places: dict[str, tuple[int, ...]]
    """deed, one of `gpu_study.ladder.DEEDS` -> the lines that do it, 1-based"""

    def count(self, deed: str) -> int:
        """Count the lines that do something."""
        return len(self.places[deed])


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """All stages of one kernel under one configuration."""

    target: str
    rungs: tuple[Rung, ...]
    resources: Resources


@dataclass(frozen=True, kw_only=True)
class RoleMatch:
    """Where two kernels for the same function do the same thing."""

    role: str
    """see `gpu_study.matching.ROLES`"""
    by_hand: tuple[int, ...]
    """lines of the hand-written kernel, 1-based"""
    by_inductor: tuple[int, ...]
    places: tuple[int, int]
    """the line of each that a note stands at"""


@dataclass(frozen=True, kw_only=True)
class Matching:
    """A hand-written kernel and Inductor's, line by line."""

    by_hand: str
    by_inductor: str
    roles: tuple[RoleMatch, ...]
    """in the order of the lines, which is the same in both"""

    @property
    def unmatched(self) -> int:
        """Lines of Inductor's kernel that have no role: names, copies and checks."""
        matched = {line for role in self.roles for line in role.by_inductor}
        lines = self.by_inductor.splitlines()
        return sum(bool(line.strip()) for line in lines) - len(matched)


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """What a compiled program moves between memory and multiprocessors, read from its launches."""

    read_bytes: int
    """each tensor that a kernel or a library call takes, once a launch"""
    written_bytes: int
    again_bytes: int
    """of tensors that a kernel's text loads a second time, which a cache may answer; not in
    `read_bytes`"""
    launches: int
    library_calls: int

    @property
    def moved_bytes(self) -> int:
        """Reads and writes together."""
        return self.read_bytes + self.written_bytes


@dataclass(frozen=True, kw_only=True)
class WorkPoint:
    """A program on the roofline."""

    program: str
    dtype: Dtype
    """in which it computes, which says how fast a GPU can"""
    flop: int
    """from a formula"""
    least_bytes: int
    """from a formula: every input read once, every output written once"""
    traffic: Traffic
    """of the compiled program"""

    @property
    def intensity(self) -> float:
        """Operations for each byte that the compiled program moves."""
        return self.flop / self.traffic.moved_bytes

    @property
    def best_intensity(self) -> float:
        """Operations for each byte that has to be moved."""
        return self.flop / self.least_bytes


@dataclass(frozen=True, kw_only=True)
class DeviceKernel:
    """One kernel of a program, as written and compiled for one GPU."""

    name: str
    kind: str
    """Inductor's word for its kind of loop"""
    text: str
    """from the decorator `triton.jit` on: without what is said about the device"""
    configurations: tuple[Configuration, ...]
    """candidates of the autotuner"""
    resources: Resources
    """under the first of them"""


@dataclass(frozen=True, kw_only=True)
class DeviceReport:
    """A program as written and compiled for one GPU."""

    target: str
    program: str
    kernels: tuple[DeviceKernel, ...]
    library_calls: tuple[str, ...]
    """operators, in order"""
    changed: tuple[str, ...]
    """lines of the kernels that differ from the first GPU's: "- " before its own, "+ " before
    this one's"""


@dataclass(frozen=True, kw_only=True)
class CompiledKernel:
    """One kernel with all that was written on its way."""

    graph: GpuGraph
    """that it is part of"""
    source: KernelSource
    machine: MachineCode
    """under the first of its configurations"""


@dataclass(frozen=True, kw_only=True)
class ProgramTexts:
    """A program as it was built for one GPU, down to machine code."""

    program: str
    target: str
    kernels: tuple[CompiledKernel, ...]
    """in the order of the wrappers"""
