"""Code for a GPU that isn't there: what Inductor and Triton write, and what it computes.

`build` has a program written for a GPU and shows every stage; `interpret` runs what was written
on this CPU, kernel by kernel. Both work in processes of their own, which are kept: the first call
takes some seconds, a small program after it less than one. What was made once is kept on disk.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict, Unpack

import torch

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.described.targets import target as find_target
from fuseshard.compiler.gpu_code.kernels import GpuKernel
from fuseshard.compiler.gpu_code.records import (
    Candidates,
    ExternCall,
    GpuGraph,
    KernelSource,
    Launch,
    MachineCode,
)
from fuseshard.compiler.gpu_code.store import key_of, shared_store
from fuseshard.compiler.gpu_code.worker.arguments import matched, tensor_names
from fuseshard.compiler.gpu_code.worker.parent import TIME_LIMIT_S
from fuseshard.compiler.gpu_code.worker.travel import Packed, pack
from fuseshard.compiler.gpu_code.worker.workers import interpreter, writer
from fuseshard.compiler.interpreted.records import Interpreted


class BuildOptions(TypedDict, total=False):
    """How `build` compiles, beyond what most pages need."""

    dynamic: bool
    """sizes are variables, as with torch.compile(dynamic=True)"""
    autocast: Literal["bfloat16", "float16"]
    """type that torch.autocast computes in"""
    mode: str
    """of torch.compile; a mode with "max-autotune" lists what would be timed in `candidates`"""
    choose: str
    """name of the candidate to write, out of the `candidates` of a build without it"""


@dataclass(frozen=True, kw_only=True)
class GpuBuild:
    """A program as Inductor wrote it for a GPU."""

    target: Target
    graphs: tuple[GpuGraph, ...] = field(repr=False)
    """forward before backward; more than one program's after a graph break"""
    kernels: tuple[GpuKernel, ...] = field(repr=False)
    """of all graphs, in the order of the text"""
    tensors: tuple[str, ...]
    """names of all tensors of the program: "0.weight" in a module, "model.0.weight" in one that
    the function calls, "inputs[0]" for an argument"""
    program: tuple[Callable[..., Any], tuple[Any, ...]] = field(repr=False)
    """the caller's own function and example inputs"""
    options: BuildOptions

    @property
    def graph(self) -> str:
        """The first graph as Inductor got it: ATen operators, as Python with shapes."""
        return self.graphs[0].aten

    @property
    def wrapper(self) -> str:
        """The first graph's module: its kernels, and the function that launches them."""
        return self.graphs[0].wrapper

    @property
    def launches(self) -> tuple[Launch, ...]:
        """Each start of a Triton kernel, in order."""
        return tuple(s for g in self.graphs for s in g.steps if isinstance(s, Launch))

    @property
    def extern_calls(self) -> tuple[ExternCall, ...]:
        """Each call of a library, such as cuBLAS for a matmul, in order."""
        return tuple(s for g in self.graphs for s in g.steps if isinstance(s, ExternCall))

    @property
    def candidates(self) -> tuple[Candidates, ...]:
        """What max-autotune would time, one entry a library call; empty in other modes."""
        return tuple(c for graph in self.graphs for c in graph.candidates)


@dataclass(frozen=True, kw_only=True)
class _Written:
    """What the store keeps of a build."""

    graphs: tuple[GpuGraph, ...]


def build(
    fn: Callable[..., Any],
    example_inputs: Sequence[Any],
    *,
    target: str = "h200",
    backward: bool = False,
    limit_s: float = TIME_LIMIT_S,
    **options: Unpack[BuildOptions],
) -> GpuBuild:
    """Have Inductor write a program for a GPU, without having one.

    No number of a tensor is used: the program runs on tensors with shapes alone, all of them on
    the GPU. With mode="max-autotune" the candidates are known and the library call is written;
    which candidate is fastest needs a card, so nothing here says it.

    Args:
        fn: function or module; neither run here nor modified.
        example_inputs: its arguments, whose shapes, strides and types count.
        target: a key of `fuseshard.compiler.described.targets.TARGETS`.
        backward: also have the backward pass written; `fn` needs parameters or inputs that
            require a gradient. Without it the program runs under torch.no_grad.
        limit_s: seconds after which it is given up.
        options: see `BuildOptions`.

    Returns:
        At least one graph; kernels are compiled further when they are asked for it.

    Raises:
        ValueError: an unknown target or option, or a program that can't be sent or written.
        MissingToolError: Triton isn't installed.
        TimeoutError: it took longer than `limit_s`.
        GpuBuildError: the process that writes failed.
    """
    _require_known(options)
    gpu = find_target(target)
    args = _checked("build", "example_inputs", example_inputs)
    packed = pack(fn, args)
    graphs = _written(packed, gpu, {"backward": backward, **options}, limit_s)
    return GpuBuild(
        target=gpu,
        graphs=graphs,
        kernels=tuple(_kernel(s, graph, gpu) for graph in graphs for s in graph.kernels),
        tensors=tensor_names(packed, fn, args),
        program=(fn, args),
        options=options,
    )


def interpret(
    build: GpuBuild,
    inputs: Sequence[Any],
    *,
    tangents: Sequence[torch.Tensor] | None = None,
    block: int | None = None,
    limit_s: float = TIME_LIMIT_S,
) -> Interpreted:
    """Run what was written for a GPU on this CPU: Triton's interpreter reads each kernel.

    Args:
        build: of a program without graph breaks; the parameters of its function are taken as
            they are now.
        inputs: like the example inputs, with other numbers; sizes may differ where the build is
            dynamic. Not modified.
        tangents: gradients of the differentiable outputs; None means ones.
        block: least XBLOCK, a power of two: more rows in one tile are faster and give the same
            values. None chooses; 1 keeps Inductor's own.
        limit_s: seconds after which it is given up.

    Returns:
        Outputs in the graph's order, and with a backward graph a gradient for each of
        `build.tensors`.

    Raises:
        ValueError: inputs that don't match, or a program of several parts.
        MissingToolError: Triton isn't installed.
        TimeoutError: it took longer than `limit_s`.
        GpuBuildError: the process that interprets failed.
    """
    fn, example_inputs = build.program
    given = _checked("interpret", "inputs", inputs)
    args = matched(given, example_inputs, any_size=build.options.get("dynamic", False))
    packed = pack(fn, args)
    if len(packed.tensors) != len(build.tensors):
        raise ValueError(
            f"interpret: the program has {len(packed.tensors)} tensors, must have "
            f"{len(build.tensors)} as when it was built (numbers are put in their places by their "
            "order); pass different tensors where the example inputs were different, and build "
            "again after changing the function."
        )
    worker = interpreter()
    found: Interpreted = worker.ask(
        "run_graphs", build.graphs, _numbers(packed), tangents, block, limit_s=limit_s
    )
    return found


def compile_triton(
    fn: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    *,
    target: str = "h200",
    num_warps: int = 4,
    num_stages: int = 3,
) -> MachineCode:
    """Compile a hand-written Triton kernel for a GPU, without having one.

    Args:
        fn: decorated with `triton.jit`.
        signature: type of each argument, in Triton's words: "*fp32" for a pointer, "i32"; the
            ending ":16" says that it is divisible by 16.
        constants: value of each `tl.constexpr` argument.
        target: a key of `fuseshard.compiler.described.targets.TARGETS`.
        num_warps: warps of a block; waves on AMD.
        num_stages: loop iterations whose loads are under way at once.

    Returns:
        The kernel at every stage.

    Raises:
        ValueError: an unknown target, or an argument in neither or both of the mappings.
        MissingToolError: Triton isn't installed.
        GpuBuildError: the compiler failed.
    """
    gpu = find_target(target)
    packed = pack(fn, (dict(signature), dict(constants)))
    warps = {"num_warps": num_warps, "num_stages": num_stages}
    key = key_of("triton", packed.digest, gpu, warps)
    found = shared_store().get(key, MachineCode)
    if found is None:
        made: MachineCode = writer(gpu).ask("compile_triton", packed.content, gpu.key, warps)
        found = shared_store().put(key, made)
    return found


def interpret_triton(fn: Callable[..., Any], *args: Any, limit_s: float = TIME_LIMIT_S) -> Any:
    """Call a function that launches hand-written Triton kernels, on CPU tensors.

    Args:
        fn: launches kernels of its own notebook or module; it runs in another process.
        args: what it takes; it works on copies.
        limit_s: seconds after which it is given up.

    Returns:
        What it returns.

    Raises:
        ValueError: something can't be sent.
        MissingToolError: Triton isn't installed.
        TimeoutError: it took longer than `limit_s`.
        GpuBuildError: it failed.
    """
    packed = pack(fn, args)
    return interpreter().ask("call", packed.content, _numbers(packed), limit_s=limit_s)


def _require_known(options: Mapping[str, Any]) -> None:
    known = list(BuildOptions.__annotations__)
    unknown = [name for name in options if name not in known]
    if unknown:
        raise ValueError(
            f"build: got the options {unknown}, must be among {known}, target, backward and "
            "limit_s; check the spelling."
        )


def _checked(call: str, name: str, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """Take a tuple or list; a tensor would be taken for the list of its rows."""
    if not isinstance(inputs, tuple | list):
        raise ValueError(
            f"{call}: {name} is a {type(inputs).__name__}, must be a tuple or list with one entry "
            f"an argument; pass ({name},) for one argument."
        )
    return tuple(inputs)


def _written(
    packed: Packed, gpu: Target, options: dict[str, Any], limit_s: float
) -> tuple[GpuGraph, ...]:
    """Find what was written before, or have it written."""
    key = key_of("build", packed.digest, gpu, sorted(options.items()))
    found = shared_store().get(key, _Written)
    if found is None:
        worker = writer(gpu)
        graphs = worker.ask("write", packed.content, gpu.key, options, limit_s=limit_s)
        found = shared_store().put(key, _Written(graphs=graphs))
    return found.graphs


def _kernel(source: KernelSource, graph: GpuGraph, gpu: Target) -> GpuKernel:
    starts = (step for step in graph.steps if isinstance(step, Launch))
    launches = tuple(launch for launch in starts if launch.kernel == source.name)
    return GpuKernel(source=source, launches=launches, target=gpu)


def _numbers(packed: Packed) -> list[torch.Tensor]:
    """Take the tensors as they are now, on the CPU and without their graphs."""
    for tensor in packed.tensors:
        if tensor.is_meta:
            raise ValueError(
                "interpret: a tensor on the meta device has no numbers, must have some to be "
                "computed with; make it on the CPU."
            )
    return [tensor.detach().cpu() for tensor in packed.tensors]
