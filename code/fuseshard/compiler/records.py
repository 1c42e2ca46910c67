"""What the compiler's observers return, as plain data that drawing code can read without torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Origin, Sweep

Role = Literal["composite", "view", "kernel"]


@dataclass(frozen=True, kw_only=True)
class DispatchCall:
    """One call through PyTorch's dispatcher."""

    op: str
    """operator with its overload, e.g. aten::max.dim"""
    depth: int
    """0 = called from Python; 1 = called by a call of depth 0; and so on"""
    role: Role
    """composite = only calls other operators; view = new tensor on old memory; kernel = the rest"""
    layers: tuple[str, ...]
    """dispatch keys at which the operator has code of its own for such a call, in order; read from
    the dispatcher's tables, not observed"""
    input_shapes: tuple[tuple[int, ...], ...]
    """shapes of the tensor arguments"""
    output_shapes: tuple[tuple[int, ...], ...]
    """shapes of the tensor results"""
    allocated_bytes: int
    """bytes of results that share no memory with an argument; the innermost call owns them"""


@dataclass(frozen=True, kw_only=True)
class DispatchTrace:
    """Every dispatcher call that one call of a function made, in order."""

    calls: tuple[DispatchCall, ...]
    """in the order in which they began; a call's children follow it, one deeper"""
    compiled_regions: int
    """times that control entered code made by torch.compile"""

    @property
    def kernels(self) -> tuple[DispatchCall, ...]:
        """The calls that compute and that no other kernel made on its own behalf."""
        return tuple(self._outermost_kernels())

    @property
    def allocated_bytes(self) -> int:
        """Bytes of all results together, whether or not they were freed in between."""
        return sum(call.allocated_bytes for call in self.calls)

    def _outermost_kernels(self) -> Iterator[DispatchCall]:
        kernel_depth: int | None = None
        for call in self.calls:
            if kernel_depth is not None and call.depth > kernel_depth:
                continue
            kernel_depth = call.depth if call.role == "kernel" else None
            if call.role == "kernel":
                yield call


@dataclass(frozen=True, kw_only=True)
class Stages:
    """What each stage of torch.compile made of one function; one text a graph unless noted."""

    graph_count: int
    """graphs that Dynamo captured; at least 1"""
    break_reasons: tuple[str, ...]
    """why Dynamo cut the function, one text a break; empty when it is one graph"""
    bytecode: tuple[str, ...]
    """Dynamo's rewritten bytecode, one text a frame (a break adds a resume frame)"""
    guards: tuple[str, ...]
    """what must still hold for the compiled code to be used, one text a frame"""
    fx: tuple[str, ...]
    """Dynamo's graphs: torch functions, as Python"""
    joint: tuple[str, ...]
    """AOTAutograd's forward and backward in one graph; empty without backward"""
    aten: tuple[str, ...]
    """the forward graphs handed to Inductor: ATen operators, decomposed"""
    backward: tuple[str, ...]
    """the backward graphs handed to Inductor; empty without backward"""
    loops: tuple[str, ...]
    """Inductor's loop bodies after fusion, one text a generated module"""
    source: tuple[str, ...]
    """the modules that Inductor wrote: kernels and the function that calls them"""

    @property
    def forward(self) -> tuple[str, ...]:
        """The forward half that the partitioner made; the same graphs as `aten`."""
        return self.aten


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """One kernel in a module that Inductor wrote."""

    name: str
    """as the module calls it, e.g. cpp_fused__softmax_0"""
    language: Literal["cpp", "triton"]
    """what it is written in"""
    code: str
    """its text without the Python string around it"""


@dataclass(frozen=True, kw_only=True)
class HeadSweep:
    """MiniGPT's head, eager against compiled, over batch sizes; softmax written in two ways."""

    device: str
    """what ran it: cpu or cuda"""
    width: int
    """features of a row"""
    vocabulary: int
    """results of a row"""
    by_hand: Sweep
    """softmax written as five operators"""
    library: Sweep
    """softmax as PyTorch's one operator"""
    origin: Origin | None = None
    """where all of it comes from"""
