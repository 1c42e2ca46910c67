"""One of Inductor's Triton kernels, run by Triton's interpreter on CPU tensors.

A program, one tile of a grid, costs the interpreter some milliseconds whatever its size, so a
kernel runs faster in few large tiles. Which tiles is free where every number of the result is
computed within one row: an x index (or y, or z) never meets another one, so any XBLOCK gives the
same operations in the same order. R0_BLOCK, the tile along the reduction, decides the order of a
sum, and stays as Inductor chose it.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from types import SimpleNamespace
from typing import Any

import triton.language as tl

# Private, checked on torch 2.11 and 2.13: what a wrapper calls with each kernel's source, and
# Inductor's rules for tiles and grids.
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime import hints, triton_heuristics

# Triton's own, checked on 3.6 and 3.9: its interpreter.
from triton.runtime import interpreter

from fuseshard.compiler.described.replace import attributes
from fuseshard.compiler.gpu_code.records import KernelSource
from fuseshard.compiler.gpu_code.sources import autotuner
from fuseshard.compiler.interpreted.records import InterpretedLaunch, NoAnswerError

TILE_ELEMENTS = 1 << 18
"""elements in a tile beyond which larger tiles weren't faster; float32 tiles of 1 MiB"""
FREE_KINDS = ("POINTWISE", "REDUCTION", "PERSISTENT_REDUCTION")
"""kinds of kernels in which x indices never meet"""


@dataclass
class InterpretedKernel:
    """Stands where the wrapper expects a compiled kernel."""

    source: KernelSource
    """at first its name and text alone"""
    block: int | None = None
    """least XBLOCK; None chooses, 1 keeps Inductor's"""
    log: list[InterpretedLaunch] = field(default_factory=list)

    @cached_property
    def tuner(self) -> Any:
        """Inductor's autotuner around Triton's function; it is asked for neither times nor code."""
        return autotuner(self.source)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run the kernel over its whole grid.

        Args:
            args: as the wrapper passes them: tensors, sizes, and what a grid needs besides.
            kwargs: such as the stream; of no use here.

        Raises:
            NoAnswerError: the kernel calls what a CPU hasn't got.
            RuntimeError: the interpreter stopped otherwise; names the kernel.
        """
        values = _named(self, args)
        blocks = raised(self, values)
        grid = triton_heuristics.GridExpr.from_meta(self.tuner.inductor_meta, blocks)
        numbers = {n: x for n, x in values.items() if not hasattr(x, "data_ptr")}
        extents = tuple(int(n) for n in grid.eval_slow({**numbers, **blocks}))
        function = self.tuner.fn
        given = [values[name] for name in function.arg_names if name in values]
        start = time.perf_counter()
        try:
            function[extents](*given, **blocks)
        except Exception as error:
            raise what_has_no_answer(error) or RuntimeError(
                f"run_graphs: Triton's interpreter stopped in {self.source.name} with blocks "
                f"{blocks}: {error}"
            ) from error
        record = InterpretedLaunch(
            kernel=self.source.name,
            blocks=blocks,
            programs=prod(extents),
            elapsed_s=time.perf_counter() - start,
        )
        self.log.append(record)


def interpreted_kernels() -> AbstractContextManager[None]:
    """Let a wrapper get kernels that the interpreter runs, where it asks for compiled ones."""

    def triton(self: Any, name: str, source: str, **kwargs: Any) -> InterpretedKernel:
        return InterpretedKernel(_source(name, source))

    return attributes(AsyncCompile, triton=triton)


def _source(name: str, text: str) -> KernelSource:
    """Describe a kernel by its text alone; the graph knows more of it."""
    return KernelSource(
        name=name, phase="inference", kind="", triton=text, size_hints={}, configurations=()
    )


def language_once() -> AbstractContextManager[None]:
    """Let the interpreter take over Triton's language once a launch.

    It replaces every function of `triton.language` by one of its own, and does so again whenever a
    kernel calls another function, such as `tl.sum`.
    """
    take_over = interpreter._patch_lang
    whole_language = SimpleNamespace(__globals__={"tl": tl, "core": tl.core})
    scopes: list[Any] = []

    def once(fn: Any) -> Any:
        if scopes:
            return SimpleNamespace(restore=lambda: None)
        scopes.append(take_over(whole_language))
        # Triton 3.6 makes numbers of one-element arrays by int(), which NumPy 2.4 refuses.
        scopes[0].set_attr(tl.core.tensor, "__index__", lambda number: number.handle.data.item())
        return SimpleNamespace(restore=lambda: scopes.pop().restore())

    return attributes(interpreter, _patch_lang=once)


def raised(kernel: InterpretedKernel, values: Mapping[str, Any]) -> dict[str, Any]:
    """Enlarge the tile of a kernel's first configuration along the dims that are free.

    Args:
        kernel: with the least XBLOCK that is wanted.
        values: the arguments of the launch by name, with "xnumel" and the like.

    Returns:
        A value for every name of the configuration that the kernel takes.
    """
    blocks = _first_configuration(kernel)
    if not _is_free(kernel, blocks):
        return blocks
    for prefix in "XYZ" if kernel.block is None else "X":
        name, numel = f"{prefix}BLOCK", values.get(f"{prefix.lower()}numel")
        if name in blocks and isinstance(numel, int):
            others = _tile_elements(kernel, blocks) // blocks[name]
            wanted = TILE_ELEMENTS // others if kernel.block is None else kernel.block
            largest = min(wanted, hints.TRITON_MAX_TENSOR_NUMEL // others)
            limit = largest if _has_mask(kernel, prefix) else hints.TRITON_MAX_BLOCK[prefix]
            blocks[name] = max(blocks[name], _fitting(largest, numel, limit))
    return blocks


def _first_configuration(kernel: InterpretedKernel) -> dict[str, Any]:
    """Take blocks as they were written for the target, and what else the autotuner would pass.

    A kernel that a user wrote has further constants: those of its arguments that are declared as
    such. (Inductor's own list of constants also has sizes that are 1; the wrapper passes these.)
    """
    written, tuner = kernel.source.configurations, kernel.tuner
    kinds = inspect.get_annotations(tuner.fn.fn)
    declared = {name for name, kind in kinds.items() if "constexpr" in str(kind)}
    found = {
        **{n: x for n, x in tuner.triton_meta.get("constants", {}).items() if n in declared},
        **tuner.configs[0].kwargs,
        **(written[0].blocks if written else {}),
    }
    return {name: value for name, value in found.items() if name in tuner.fn.arg_names}


def _is_free(kernel: InterpretedKernel, blocks: Mapping[str, Any]) -> bool:
    """Say whether a kernel's values are the same for every XBLOCK."""
    known = {"XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK", "R1_BLOCK"}
    tuner = kernel.tuner
    # Atomic additions of several dims would come in another order, and so round otherwise.
    ordered = tuner.inductor_meta.get("atomic_add_found") and set(blocks) != {"XBLOCK"}
    return tuner.heuristic_type.name in FREE_KINDS and set(blocks) <= known and not ordered


def _tile_elements(kernel: InterpretedKernel, blocks: Mapping[str, Any]) -> int:
    """Count a tile's elements; a persistent reduction has its whole row in it, unnamed."""
    hints_of_rows = {n: size for n, size in kernel.tuner.size_hints.items() if n[0] == "r"}
    rows = hints_of_rows.values() if "R0_BLOCK" not in blocks else ()
    return prod([*blocks.values(), *rows])


def _has_mask(kernel: InterpretedKernel, prefix: str) -> bool:
    """Say whether a kernel looks at each index before it reads or writes there."""
    dim = prefix.lower()
    return f"{dim}mask = {dim}index < {dim}numel" in kernel.source.triton


def _fitting(largest: int, numel: int, limit: int) -> int:
    """Find the largest power of two that needs no mask where Inductor wrote none.

    Inductor leaves a mask out where the largest block that it ever uses, `limit`, divides `numel`.
    So up to there every power of two is safe, and beyond it those that divide `numel` themselves.
    """
    size = 1
    while size * 2 <= largest and size < numel:
        size *= 2
    while size > limit and numel % size:
        size //= 2
    return size


def _named(kernel: InterpretedKernel, args: tuple[Any, ...]) -> dict[str, Any]:
    """Give a launch's arguments the names that the kernel has for them."""
    tuner = kernel.tuner
    blocks = _first_configuration(kernel)
    names = [name for name in tuner.fn.arg_names if name not in blocks]
    names += tuner.inductor_meta.get("extra_launcher_args", [])
    if len(names) != len(args):
        raise RuntimeError(
            f"run_graphs: the wrapper passes {len(args)} arguments to {kernel.source.name}, must "
            f"pass {len(names)}: {', '.join(names)} (all but the blocks of a configuration); the "
            "wrapper and this torch are of different releases, so write it anew."
        )
    return dict(zip(names, args, strict=True))


def what_has_no_answer(error: BaseException) -> NoAnswerError | None:
    """Find what we said ourselves among the errors that the interpreter wraps in one another."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, NoAnswerError):
        cause = cause.__cause__
    return cause
