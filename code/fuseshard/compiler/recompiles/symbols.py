"""Read from a graph which of its sizes are symbols, and what is known of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import torch

from fuseshard.compiler.recompiles.records import Graph, Symbol

_LARGEST = 2**62
"""bounds from here on mean "no limit"; torch spells infinity in several ways"""


def graph_record(index: int, graph: torch.fx.GraphModule) -> Graph:
    """Sum up a graph as a backend receives it from Dynamo.

    Args:
        index: its number.
        graph: with Dynamo's example values in the metadata of its placeholders.

    Source:
        torch/fx/experimental/symbolic_shapes.py (ShapeEnv). Checked on torch 2.13.
    """
    examples = [
        (node.name, node.meta.get("example_value"))
        for node in graph.graph.nodes
        if node.op == "placeholder"
    ]
    inputs = [(name, value) for name, value in examples if isinstance(value, torch.Tensor)]
    shape_env = next((_shape_env(value) for _, value in inputs), None)
    return Graph(
        index=index,
        inputs=tuple(_input(name, value) for name, value in inputs),
        symbols=tuple(_symbols(shape_env)) if shape_env is not None else (),
        conditions=tuple(str(guard.expr) for guard in shape_env.guards) if shape_env else (),
    )


def _shape_env(tensor: Any) -> Any:
    """Find the environment in which a fake tensor's symbols live; None without one."""
    return getattr(getattr(tensor, "fake_mode", None), "shape_env", None)


def _input(name: str, tensor: torch.Tensor) -> str:
    """Write an input as Python would: its own name, dtype and sizes."""
    own = re.sub(r"^l_(.+?)_$", r"\1", name, flags=re.IGNORECASE)
    sizes = ", ".join(map(str, tensor.shape))
    return f"{own}: {str(tensor.dtype).removeprefix('torch.')}[{sizes}]"


def _symbols(shape_env: Any) -> Iterator[Symbol]:
    hints = getattr(shape_env, "backed_var_to_val", None)
    hints = shape_env.var_to_val if hints is None else hints  # its older name
    for symbol, span in shape_env.var_to_range.items():
        sources = shape_env.var_to_sources.get(symbol, ())
        hint = hints.get(symbol)
        yield Symbol(
            name=str(symbol),
            stands_for=_source_name(sources[0]) if sources else None,
            hint=None if hint is None else int(hint),
            low=_bound(span.lower),
            high=_bound(span.upper),
        )


def _source_name(source: Any) -> str:
    name = source.name() if callable(source.name) else source.name
    return re.sub(r"L\['(\w+)'\]", r"\1", name)


def _bound(value: Any) -> int | None:
    """Read an end of a range; None where it has none."""
    finite = getattr(value, "is_Integer", False) and abs(int(value)) < _LARGEST
    return int(value) if finite else None
