"""Lifetimes read from a module, torch's own decisions, and a plan put into a module's text."""

import ast
import re
from collections.abc import Mapping

from fuseshard.compiler.inductor import wrapper
from fuseshard.compiler.planning.records import Buffer
from fuseshard.compiler.planning.timeline import allocation_bytes, timeline

_REUSE = re.compile(
    r"^\s*(\w+) = (?:reinterpret_tensor\()?(\w+)\b.*?; del \2  # reuse", re.MULTILINE
)
_ALLOCATION = re.compile(r"^(\s*)(\w+) = empty_strided_\w+\((\(.*?\), \(.*?\)), [\w.]+\)$")
_POOL = re.compile(r"pool\d+")


def lifetimes(source: str) -> tuple[Buffer, ...]:
    """Say how long each buffer of a call is needed.

    Args:
        source: a module that reuses no memory.

    Returns:
        Buffers in the order of their allocation; inputs belong to the caller and don't count.

    Raises:
        ValueError: the module hands memory on already.
    """
    if torch_take_overs(source):
        raise ValueError(
            "lifetimes: got a module that reuses memory, must reuse none (a name's life and its "
            "memory's would differ); have it written with allow_buffer_reuse=False and "
            "inplace_buffers=False."
        )
    events = timeline(source).moments
    calls = sum(moment.deed == "call" for moment in events)
    sizes = _buffer_sizes(source)
    outputs = _returned(source)
    first, last, step = {}, {}, 0
    for moment in events:
        if moment.deed == "call":
            step += 1
        elif moment.deed == "allocate":
            first[moment.names[0]] = step
        else:
            last[moment.names[0]] = step - 1
    found = []
    for name, begin in first.items():
        is_output = name in outputs
        end = calls if is_output else last[name]
        size = sizes[name]
        found.append(Buffer(name=name, num_bytes=size, first=begin, last=end, is_output=is_output))
    return tuple(found)


def torch_take_overs(source: str) -> dict[str, str]:
    """Read off which buffers take over whose memory: new -> old."""
    return dict(_REUSE.findall(wrapper(source)))


def pool_bytes(source: str) -> dict[str, int]:
    """Read off the blocks that memory_planning makes: name -> bytes."""
    return {name: size for name, size in _buffer_sizes(source).items() if _POOL.fullmatch(name)}


def planned(source: str, taken: Mapping[str, str]) -> str:
    """Put a plan into the text of a module that reuses nothing.

    An allocation becomes a view of older memory; where the older name was dropped before, it is
    dropped there instead. Whether the plan is right isn't checked here: running it tells.

    Args:
        source: as `lifetimes` takes it.
        taken: new buffer -> buffer whose memory it takes over.
    """
    lines = source.splitlines()
    dropped: set[str] = set()
    kept = []
    for line in lines:
        found = re.fullmatch(r"\s*del (\w+)", line)
        if found and found[1] in taken.values():
            dropped.add(found[1])
            continue
        allocation = _ALLOCATION.match(line)
        if allocation and allocation[2] in taken:
            indent, new, layout = allocation.groups()
            old = taken[new]
            end = f"; del {old}  # reuse" if old in dropped else "  # reuse"
            kept.append(f"{indent}{new} = reinterpret_tensor({old}, {layout}, 0){end}")
        else:
            kept.append(line)
    return "\n".join(kept)


def _buffer_sizes(source: str) -> dict[str, int]:
    """Bytes of each allocation."""
    sizes = {}
    for node in ast.walk(ast.parse(wrapper(source))):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id=called), args=[shape, strides, dtype]),
            ) if called.startswith("empty_strided"):
                sizes[name] = allocation_bytes(shape, strides, dtype)
    return sizes


def _returned(source: str) -> set[str]:
    """Names that the module gives back."""
    (result,) = re.findall(r"^\s*return \((.*)\)", wrapper(source), re.MULTILINE)
    return set(re.findall(r"\w+", result))
