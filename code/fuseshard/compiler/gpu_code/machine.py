"""Triton kernels compiled for a GPU that needn't be there, down to what the card would execute."""

from __future__ import annotations

import io
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

# Private, checked on torch 2.11 and 2.13: Inductor's settings while it compiles a kernel.
import torch._inductor.config

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_code import disassembly, resources
from fuseshard.compiler.gpu_code.disassembly import MissingToolError
from fuseshard.compiler.gpu_code.occupancy import occupancy
from fuseshard.compiler.gpu_code.records import (
    Configuration,
    KernelSource,
    MachineCode,
    Resources,
)
from fuseshard.compiler.gpu_code.sources import autotuner

ALIGNED = ":16"
"""ending of a type in a signature: the argument is divisible by 16, as Triton finds at a launch"""
FUSION_NOTICE = "TRITON_DEFAULT_FP_FUSION is unset"
"""beginning of Triton 3.9's warning that 3.10 won't fuse a * b + c unless it is told to"""


def compile_triton(
    fn: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any],
    target: Target,
    *,
    num_warps: int = 4,
    num_stages: int = 3,
) -> MachineCode:
    """Compile a hand-written Triton function, through Triton's own `triton.compile`.

    No GPU has to be described. Nothing is left in Triton's cache, and nothing is taken from it.

    Args:
        fn: decorated with `triton.jit`, defined in a file.
        signature: type of each argument that isn't constant, in Triton's words: "*fp32" for a
            pointer, "i32". The ending ":16" says that it is divisible by 16, without which loads
            and stores stay narrow: "*fp32:16".
        constants: value of each `tl.constexpr` argument, and of any other that is fixed.
        target: the GPU.
        num_warps: warps of a block; waves on AMD.
        num_stages: loop iterations whose loads are under way at once.

    Returns:
        The kernel at every stage; `configuration.blocks` are the constants that are integers.

    Raises:
        MissingToolError: Triton or one of its programs isn't there.
        TypeError: the process runs Triton's interpreter, so that `fn` is no longer Triton's.
        ValueError: an argument of `fn` is in neither or both of `signature` and `constants`.
    """
    triton = _triton()
    if not isinstance(fn, triton.JITFunction):
        raise TypeError(
            f"compile_triton: fn is {type(fn).__name__}, must be a triton.JITFunction (only that "
            "can be compiled); decorate it with triton.jit, in a process without TRITON_INTERPRET."
        )
    source = triton.compiler.ASTSource(fn, *_typed(fn.arg_names, signature, constants))
    options = {"num_warps": num_warps, "num_stages": num_stages}
    named = _triton_target(target)
    blocks = {name: value for name, value in constants.items() if isinstance(value, int)}
    return _machine_code(
        lambda: triton.compile(source, target=named, options=options),
        target=target,
        configuration=Configuration(blocks=blocks, num_warps=num_warps, num_stages=num_stages),
    )


def compile_kernel(source: KernelSource, index: int, target: Target) -> MachineCode:
    """Compile Inductor's kernel under one of its candidate configurations, as Inductor does.

    Call it while `target` is described. Nothing is left in Triton's cache, and nothing is taken
    from it.

    Args:
        source: a kernel written for `target`.
        index: of the configuration in `source.configurations`.
        target: the GPU.

    Returns:
        The kernel at every stage.

    Raises:
        MissingToolError: Triton or one of its programs isn't there.
        ValueError: no configuration has that index, or the kernel was written for another GPU.
    """
    configurations = source.configurations
    if not 0 <= index < len(configurations):
        raise ValueError(
            f"compile_kernel: index is {index}, must be 0 to {len(configurations) - 1} "
            f"({source.name} has that many configurations); choose one of them."
        )
    _triton()
    tuner = autotuner(source)
    written_for = str(tuner.device_props.cc)
    if written_for != target.architecture:
        raise ValueError(
            f"compile_kernel: target is {target.key} (architecture {target.architecture}), must be "
            f"the one that {source.name} was written for ({written_for}: its candidates depend on "
            "it); write the program for this target."
        )
    # Inductor's own launcher keeps the binary alone and drops the stages before it.
    with torch._inductor.config.patch(use_static_cuda_launcher=False):
        return _machine_code(
            lambda: tuner._precompile_config(tuner.configs[index]).kernel,
            target=target,
            configuration=configurations[index],
        )


def _typed(
    names: list[str], signature: Mapping[str, str], constants: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, Any], dict[tuple[int], list[list[Any]]]]:
    """Say types, constants and what is known of arguments in the words of Triton's ASTSource.

    Of an argument that is missing Triton itself would complain deep inside.
    """
    given = sorted([*signature, *constants])
    if given != sorted(names):
        raise ValueError(
            f"compile_triton: signature and constants name {given}, must name each of "
            f"{sorted(names)} once (the kernel's arguments); complete signature or constants."
        )
    types = {name: kind.removesuffix(ALIGNED) for name, kind in signature.items()}
    aligned = [names.index(name) for name, kind in signature.items() if kind.endswith(ALIGNED)]
    return (
        types | dict.fromkeys(constants, "constexpr"),
        dict(constants),
        {(index,): [["tt.divisibility", 16]] for index in aligned},
    )


def _triton() -> Any:
    """Import Triton, which has no wheel for every system."""
    try:
        import triton  # noqa: PLC0415 - not on every system
    except ImportError as error:
        raise MissingToolError(
            f"compile: Triton can't be imported ({error}), must be there to compile for a GPU; "
            "run pip install triton on Linux, or read the recorded results."
        ) from error
    return triton


def _triton_target(target: Target) -> Any:
    """Name the GPU as Triton does, without asking any driver."""
    gpu_target = _triton().backends.compiler.GPUTarget
    if target.vendor == "amd":
        return gpu_target("hip", target.architecture, target.warp_size)
    return gpu_target("cuda", int(target.architecture), target.warp_size)


@contextmanager
def _fresh_compiles() -> Iterator[io.StringIO]:
    """Have Triton compile anew, and listen to what the assembler says of what it used.

    Triton always runs ptxas with -v and throws the report away, unless told to print it. That
    report is of the very run that made the machine code. A kernel found in a cache would have
    none, so the cache is an empty folder, gone afterwards. Standard output is redirected for the
    whole process meanwhile.
    """
    knobs = _triton().knobs
    log = io.StringIO()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="fuseshard-"))
        stack.enter_context(knobs.cache.scope())
        stack.enter_context(knobs.nvidia.scope())
        knobs.cache.dir = folder
        knobs.nvidia.dump_ptxas_log = True
        stack.enter_context(redirect_stdout(log))
        # What Triton does unless it is told otherwise is what is asked for here.
        stack.enter_context(warnings.catch_warnings())
        warnings.filterwarnings("ignore", FUSION_NOTICE, UserWarning)
        yield log


def _machine_code(
    compiled: Callable[[], Any], *, target: Target, configuration: Configuration
) -> MachineCode:
    """Compile, take the result apart and count.

    Args:
        compiled: returns Triton's CompiledKernel; only its texts, cubin and metadata are read.
        target: the GPU.
        configuration: that it is compiled under.
    """
    with _fresh_compiles() as log:
        start = time.perf_counter()
        kernel = _with_tools(compiled)
        compile_s = time.perf_counter() - start
    texts = kernel.asm
    is_amd = target.vendor == "amd"
    assembly = disassembly.clean_assembly(texts["amdgcn" if is_amd else "ptx"])
    sass = None if is_amd else disassembly.sass(texts["cubin"], program=_nvdisasm())
    if sass is None:
        reserved, counts = resources.reserved_amd(assembly), resources.counts_amdgcn(assembly)
    else:
        reserved = resources.reserved_nvidia(log.getvalue())
        counts = resources.counts_sass(sass)
    return MachineCode(
        target=target.key,
        configuration=configuration,
        ttir=disassembly.clean_mlir(texts["ttir"]),
        ttgir=disassembly.clean_mlir(texts["ttgir"]),
        llir=disassembly.clean_llvm(texts["llir"]),
        assembly=assembly,
        sass=sass,
        resources=_resources(target, kernel.metadata, reserved, counts),
        compile_s=compile_s,
    )


def _with_tools(compiled: Callable[[], Any]) -> Any:
    """Say in one way that a program of Triton's is missing."""
    try:
        return compiled()
    except RuntimeError as error:
        if not str(error).startswith("Cannot find "):
            raise
        raise MissingToolError(
            f"compile: Triton says {str(error)!r}, must find the program to make machine code; "
            "install triton again, its wheel holds it."
        ) from error


def _nvdisasm() -> Path:
    return Path(_with_tools(lambda: _triton().knobs.nvidia.nvdisasm.path))


def _resources(
    target: Target, metadata: Any, reserved: resources.Reserved, counts: resources.Counts
) -> Resources:
    # Of the compiled kernel: a kernel that splits its warps by task has more than were asked for.
    fraction, limited_by = occupancy(
        target,
        registers=reserved.registers,
        shared_bytes=metadata.shared,
        num_warps=metadata.num_warps,
    )
    return Resources(
        **vars(reserved),
        **vars(counts),
        shared_bytes=metadata.shared,
        occupancy=fraction,
        limited_by=limited_by,
    )
