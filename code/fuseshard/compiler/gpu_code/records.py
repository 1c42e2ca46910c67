"""What Inductor and Triton write for a GPU, as plain data. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["inference", "forward", "backward"]


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """One way to run a kernel that the autotuner may choose."""

    blocks: dict[str, int]
    """sizes of the tile by name, such as {"XBLOCK": 1, "R0_BLOCK": 1024}"""
    num_warps: int
    num_stages: int


@dataclass(frozen=True, kw_only=True)
class KernelSource:
    """A Triton kernel as Inductor wrote it, before any compiler saw it."""

    name: str
    phase: Phase
    kind: str
    """Inductor's word for the kind of loop: "pointwise", "reduction", "persistent_reduction",
    "foreach", "template", "user_autotune" for one written by hand, ..."""
    triton: str
    """the module that Inductor hands to its autotuner, decorators included"""
    size_hints: dict[str, int]
    """sizes of the loops, rounded up to powers of two"""
    configurations: tuple[Configuration, ...]
    """candidates, in Inductor's order; which of them is fastest only a card can tell"""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One start of a kernel, in the order of the wrapper."""

    kernel: str
    arguments: tuple[str, ...]
    """tensors as "float32[4096, 600]", numbers as they are"""
    grids: tuple[tuple[int, ...], ...]
    """blocks in each dim, one grid for each of the kernel's configurations"""


@dataclass(frozen=True, kw_only=True)
class ExternCall:
    """One call of a library, in the order of the wrapper."""

    op: str
    """such as "extern_kernels.addmm" or "aten._scaled_dot_product_cudnn_attention.default\""""
    arguments: tuple[str, ...]
    """tensors as "float32[4096, 600]", everything else as Python writes it"""


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """What max-autotune would time for one library call."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    """tile sizes and the like, one text a name; "" where there is nothing to say"""
    chosen: str
    """the one whose code was written"""


@dataclass(frozen=True, kw_only=True)
class Constant:
    """A tensor that stands in the program itself, such as torch.tensor([1.0, 2.0])."""

    name: str
    """variable of the wrapper's module, which the text leaves at None"""
    dtype: str
    """as torch names it: "float32" for torch.float32"""
    size: tuple[int, ...]
    stride: tuple[int, ...]
    """elements"""
    numbers: tuple[complex, ...]
    """in row-major order; whole numbers and truth values stay what they are"""


@dataclass(frozen=True, kw_only=True)
class GpuGraph:
    """One graph that Inductor compiled."""

    phase: Phase
    aten: str
    """the graph that Inductor got, as Python with shapes"""
    post_grad: str
    """the graph that it lowered"""
    wrapper: str
    """the module that Inductor wrote: kernels, and `call`, which launches them"""
    kernels: tuple[KernelSource, ...]
    steps: tuple[Launch | ExternCall, ...]
    inputs: tuple[str, ...]
    """names of the graph's inputs, in order"""
    outputs: tuple[str | None, ...]
    """names of what it returns; None for what isn't a tensor"""
    input_tensors: tuple[int | None, ...]
    """for each input the number of the caller's tensor in it, in the order in which the program
    travelled; None for sizes and for what another graph hands on"""
    candidates: tuple[Candidates, ...] = ()
    """one for each library call that max-autotune would time, in the order of lowering"""
    constants: tuple[Constant, ...] = ()
    """set them in the wrapper's module before its `call` runs on real tensors"""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """What one compiled kernel takes of a multiprocessor."""

    registers: int
    """32-bit registers a thread"""
    spills: int
    """registers a thread that had to be kept in memory"""
    stack_bytes: int
    """of each thread's own memory; spills are in it"""
    shared_bytes: int
    """a block"""
    loads: int
    """instructions in the machine code that read global memory"""
    stores: int
    """instructions in the machine code that write global memory"""
    load_bits: tuple[int, ...]
    """width of each of these loads, bits a thread: 128 is a vector load of four floats"""
    shuffles: int
    """instructions that hand a register to another thread of the warp"""
    barriers: int
    """instructions at which a block's threads wait for one another"""
    tensor_core_ops: int
    instructions: int
    occupancy: float
    """resident warps over the most that fit, between 0 and 1, as far as registers, shared memory,
    threads and blocks allow"""
    limited_by: str
    """"registers", "shared memory", "threads" or "blocks\""""


@dataclass(frozen=True, kw_only=True)
class MachineCode:
    """A kernel under one configuration, at every stage down to the machine."""

    target: str
    configuration: Configuration
    ttir: str
    ttgir: str
    llir: str
    assembly: str
    """PTX, or amdgcn on AMD"""
    sass: str | None
    """what the card executes; None on AMD, whose assembly is that already"""
    resources: Resources
    compile_s: float
    """seconds from Triton source to the binary"""
