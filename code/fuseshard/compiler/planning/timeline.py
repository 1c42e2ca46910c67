"""Memory along one call of a module that Inductor wrote, worked out from its text.

The text is read the way Python runs it: an allocation makes memory, a further name for it keeps
it alive, `del` drops a name, and memory ends with its last name.
"""

import ast
import math
import re
from collections.abc import Iterator

import torch

from fuseshard.compiler.inductor import wrapper
from fuseshard.compiler.planning.records import Deed, MemoryUse, Moment, Timeline

_ALLOCATORS = re.compile(r"empty_strided_\w+")
_SHARING = {"reinterpret_tensor", "alloc_from_pool"}
_SILENT = {"assert_size_stride", "assert_alignment", "args.clear"}


class _Memory:
    """Who holds which memory, and what has happened so far."""

    def __init__(self) -> None:
        self.holder: dict[str, str] = {}
        """name -> name under which its memory was allocated"""
        self.sizes: dict[str, int] = {}
        self.live_bytes = 0
        self.moments: list[Moment] = []

    def note(self, deed: Deed, *names: str) -> None:
        self.moments.append(Moment(deed=deed, names=names, live_bytes=self.live_bytes))

    def allocate(self, name: str, num_bytes: int) -> None:
        self.holder[name], self.sizes[name] = name, num_bytes
        self.live_bytes += num_bytes
        self.note("allocate", name)

    def drop(self, name: str) -> None:
        memory = self.holder.pop(name, None)  # None: an input, which the caller owns
        if memory is not None and memory not in self.holder.values():
            self.live_bytes -= self.sizes[memory]
            self.note("free", memory)


def timeline(source: str) -> Timeline:
    """Follow a module's memory from line to line.

    Args:
        source: from `planning.written.module_text` or `Stages.source`, with static shapes; it
            allocates with `empty_strided_*` only, so that the text tells all sizes.

    Returns:
        Every allocation, release and call.

    Raises:
        ValueError: a line takes its memory from somewhere else, e.g. from a library's function.

    Source:
        torch/_inductor/codegen/wrapper.py. Checked on torch 2.13.
    """
    memory = _Memory()
    (function,) = ast.parse(wrapper(source)).body
    assert isinstance(function, ast.FunctionDef)
    for statement in function.body:
        _run(statement, memory)
    sizes = memory.sizes.values()
    peak = max((moment.live_bytes for moment in memory.moments), default=0)
    use = MemoryUse(allocations=len(sizes), allocated_bytes=sum(sizes), peak_bytes=peak)
    return Timeline(moments=tuple(memory.moments), use=use)


def _run(statement: ast.stmt, memory: _Memory) -> None:
    """Do to the memory what one line does."""
    match statement:
        case ast.Assign(targets=[ast.Tuple()]):
            return  # the inputs are unpacked
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            _assign(name, value, memory)
        case ast.Delete(targets=targets):
            for name in _names(targets):
                memory.drop(name)
        case ast.Expr(value=ast.Call(func=called)) if ast.unparse(called) not in _SILENT:
            memory.note("call", ast.unparse(called))
        case ast.Return(value=ast.Tuple(elts=results)):
            kept = set(_names(results))
            for name in [name for name in memory.holder if name not in kept]:
                memory.drop(name)


def _assign(name: str, value: ast.expr, memory: _Memory) -> None:
    match value:
        case ast.Name(id=old):
            memory.holder[name] = memory.holder[old]
        case ast.Call(func=ast.Name(id=called), args=[ast.Name(id=old), *_]) if called in _SHARING:
            memory.holder[name] = memory.holder[old]
        case ast.Call(func=ast.Name(id=called), args=[shape, strides, dtype]) if (
            _ALLOCATORS.fullmatch(called)
        ):
            memory.allocate(name, allocation_bytes(shape, strides, dtype))
        case _:
            raise ValueError(
                f"timeline: got `{name} = {ast.unparse(value)}`, must be an empty_strided_* or "
                "another name for older memory (of anything else the text doesn't tell the "
                "size); pass a module that calls libraries only with out=."
            )


def allocation_bytes(shape: ast.expr, strides: ast.expr, dtype: ast.expr) -> int:
    """Read off how many bytes an allocation asks for.

    Args:
        shape: a tuple of integers, as a syntax tree.
        strides: the same, in elements.
        dtype: e.g. torch.float32.
    """
    sizes, steps = ast.literal_eval(shape), ast.literal_eval(strides)
    if math.prod(sizes) == 0:
        return 0
    elements = 1 + sum((size - 1) * step for size, step in zip(sizes, steps, strict=True))
    kind: torch.dtype = getattr(torch, ast.unparse(dtype).removeprefix("torch."))
    return int(elements * kind.itemsize)


def _names(nodes: list[ast.expr]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name):
                yield part.id
