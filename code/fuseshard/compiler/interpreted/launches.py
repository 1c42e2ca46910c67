"""One of Inductor's Triton kernels, run by Triton's interpreter on CPU tensors.

A program, one tile of a grid, costs the interpreter some milliseconds whatever its size, so a
kernel runs faster in few large tiles. Which tiles is free where every number of the result is
computed within one row: an x index (or y, or z) never meets another one, so any XBLOCK gives the
same operations in the same order. R0_BLOCK, the tile along the reduction, decides the order of a
sum, and stays as Inductor chose it.
"""

from __future__ import annotations

import linecache
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from math import prod
from types import ModuleType, SimpleNamespace
from typing import Any

import triton.language as tl

# Private, checked on torch 2.11 and 2.13: what a wrapper calls with each kernel's source, and
# Inductor's rules for tiles and grids.
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.runtime import hints, triton_heuristics

# Triton's own, checked on 3.6 and 3.9: its interpreter.
from triton.runtime import interpreter

from fuseshard.compiler.interpreted.patches import Patch
from fuseshard.compiler.interpreted.records import InterpretedLaunch

TILE_ELEMENTS = 1 << 18
"""elements in a tile beyond which larger tiles weren't faster; float32 tiles of 1 MiB"""
FREE_KINDS = ("POINTWISE", "REDUCTION", "PERSISTENT_REDUCTION")
"""kinds of kernels in which x indices never meet"""


@dataclass
class InterpretedKernel:
    """Stands where the wrapper expects a compiled kernel."""

    name: str
    source: str
    """the module that Inductor hands to its autotuner"""
    block: int | None = None
    """least XBLOCK; None chooses, 1 keeps Inductor's"""
    log: list[InterpretedLaunch] = field(default_factory=list)

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Run the kernel over its whole grid.

        Args:
            args: as the wrapper passes them: tensors, sizes, and what a grid needs besides.
            kwargs: such as the stream; of no use here.

        Raises:
            RuntimeError: the interpreter stopped; names the kernel.
        """
        tuner = autotuner(self.name, self.source)
        config = tuner.configs[0]
        values = _named(tuner, config.kwargs, args)
        blocks = raised(tuner, values, self.block)
        grid = triton_heuristics.GridExpr.from_meta(tuner.inductor_meta, blocks)
        numbers = {n: x for n, x in values.items() if not hasattr(x, "data_ptr")}
        extents = tuple(int(n) for n in grid.eval_slow({**numbers, **blocks}))
        given = [values[name] for name in tuner.fn.arg_names if name in values]
        start = time.perf_counter()
        try:
            tuner.fn[extents](*given, **blocks)
        except Exception as error:
            raise RuntimeError(
                f"run_graphs: Triton's interpreter stopped in {self.name} with blocks {blocks}: "
                f"{error}"
            ) from error
        elapsed_s = time.perf_counter() - start
        self.log.append(
            InterpretedLaunch(
                kernel=self.name, blocks=blocks, programs=prod(extents), elapsed_s=elapsed_s
            )
        )


def patches() -> list[Patch]:
    """Let a wrapper get kernels that the interpreter runs, where it asks for compiled ones."""

    def triton(self: Any, name: str, source: str, **kwargs: Any) -> InterpretedKernel:
        return InterpretedKernel(name, source)

    return [Patch(AsyncCompile, "triton", triton), Patch(AsyncCompile, "wait", lambda *_: None)]


def language_patches() -> list[Patch]:
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
        return SimpleNamespace(restore=lambda: scopes.pop().restore())

    return [Patch(interpreter, "_patch_lang", once)]


@lru_cache(maxsize=512)
def autotuner(name: str, source: str) -> Any:
    """Execute a kernel's module and return what its decorators made of the function.

    Triton reads a function's text through `inspect`, so the module is given a file name under
    which the text can be found, without a file.
    """
    path = f"/interpreted/{sha256(source.encode()).hexdigest()[:16]}.py"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module = ModuleType(name)
    module.__file__ = path
    exec(compile(source, path, "exec"), vars(module))
    return vars(module)[name]


def raised(tuner: Any, values: Mapping[str, Any], block: int | None) -> dict[str, int]:
    """Enlarge the tile of a kernel's first configuration along the dims that are free.

    Args:
        tuner: as `autotuner` returns it.
        values: the arguments of the launch by name, with "xnumel" and the like.
        block: as in InterpretedKernel.

    Returns:
        A block size for every name of the configuration.
    """
    blocks = dict(tuner.configs[0].kwargs)
    if not _is_free(tuner, blocks):
        return blocks
    for prefix in "XYZ" if block is None else "X":
        name, numel = f"{prefix}BLOCK", values.get(f"{prefix.lower()}numel")
        if name in blocks and isinstance(numel, int):
            others = _tile_elements(tuner, blocks) // blocks[name]
            wanted = TILE_ELEMENTS // others if block is None else block
            largest = min(wanted, hints.TRITON_MAX_TENSOR_NUMEL // others)
            fitting = _fitting(largest, numel, hints.TRITON_MAX_BLOCK[prefix])
            blocks[name] = max(blocks[name], fitting)
    return blocks


def _is_free(tuner: Any, blocks: Mapping[str, int]) -> bool:
    """Say whether a kernel's values are the same for every XBLOCK."""
    known = {"XBLOCK", "YBLOCK", "ZBLOCK", "R0_BLOCK", "R1_BLOCK"}
    # Atomic additions of several dims would come in another order, and so round otherwise.
    ordered = tuner.inductor_meta.get("atomic_add_found") and set(blocks) != {"XBLOCK"}
    return tuner.heuristic_type.name in FREE_KINDS and set(blocks) <= known and not ordered


def _tile_elements(tuner: Any, blocks: Mapping[str, int]) -> int:
    """Count a tile's elements; a persistent reduction has its whole row in it, unnamed."""
    rows = [n for hint, n in tuner.size_hints.items() if hint[0] == "r" and "R0_BLOCK" not in blocks]
    return prod([*(n for name, n in blocks.items() if name.endswith("BLOCK")), *rows])


def _fitting(largest: int, numel: int, mask_limit: int) -> int:
    """Find the largest power of two that needs no mask where Inductor wrote none.

    Inductor leaves a mask out where the largest block that it ever uses divides `numel`. So up to
    that limit every power of two is safe, and beyond it those that divide `numel` themselves.
    """
    size = 1
    while size * 2 <= largest and size < numel:
        size *= 2
    while size > mask_limit and numel % size:
        size //= 2
    return size


def _named(tuner: Any, blocks: Mapping[str, int], args: tuple[Any, ...]) -> dict[str, Any]:
    """Give a launch's arguments the names that the kernel has for them."""
    names = [name for name in tuner.fn.arg_names if name not in blocks]
    names += tuner.inductor_meta.get("extra_launcher_args", [])
    if len(names) != len(args):
        raise RuntimeError(
            f"run_graphs: the wrapper passes {len(args)} arguments to {tuner.fn.__name__}, must "
            f"pass {len(names)}: {', '.join(names)} (all but the blocks of a configuration); the "
            "wrapper and this torch are of different releases, so write it anew."
        )
    return dict(zip(names, args))
