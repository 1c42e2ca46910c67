"""Functionalisation by hand. Oracles: torch.func.functionalize, and the function itself."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.func import functionalize
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from fuseshard.compiler.joint.functional import Rewriter, pure

Fn = Callable[[torch.Tensor, torch.Tensor], Any]


def add_to_tail(buffer: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    buffer.mul_(0.9)
    tail = buffer[1:]
    tail.add_(rows[1:])
    return tail.sin()


def through_three_views(buffer: torch.Tensor, rows: torch.Tensor) -> Any:
    column = buffer.t()[0]
    column.mul_(2)
    diagonal = buffer.diagonal()
    diagonal.add_(1)
    buffer[1:][1].copy_(rows.amax(dim=0))
    return column + 1, diagonal * 2


def own_memory(buffer: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    scratch = rows * 2
    scratch.transpose(0, 1)[0].add_(buffer[:, 0])
    return scratch.relu_()


FUNCTIONS = [add_to_tail, through_three_views, own_memory]


def inputs() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(5, 3, generator=generator), torch.randn(5, 3, generator=generator)


def targets(graph: GraphModule) -> list[Any]:
    return [node.target for node in graph.graph.nodes if node.op == "call_function"]


def run(fn: Callable[..., Any]) -> list[torch.Tensor]:
    """Call a function on copies; return its results, and what became of its arguments."""
    args = [arg.clone() for arg in inputs()]
    results = fn(*args)
    return [*(results if isinstance(results, tuple) else [results]), *args]


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_the_operators_are_those_of_torchs_functionalize(fn: Fn) -> None:
    torchs = make_fx(functionalize(fn))(*(arg.clone() for arg in inputs()))
    torchs.graph.eliminate_dead_code()
    assert targets(pure(fn, *inputs())) == targets(torchs)


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_results_and_arguments_end_up_as_with_the_function_itself(fn: Fn) -> None:
    graph = pure(fn, *inputs())
    for got, expected in zip(run(graph), run(fn), strict=True):
        assert torch.equal(got, expected)


def test_only_the_last_lines_write() -> None:
    *before, last = targets(pure(add_to_tail, *inputs()))
    assert not any(target._schema.is_mutable for target in before)
    assert last is torch.ops.aten.copy_.default


class _Forgetful(Rewriter):
    """Never puts a part back into the whole."""

    def _write(self, node: Node, part: Node) -> None:
        memory, chain = self.recipes[node]
        if not chain:
            self.newest[memory] = part


def test_without_putting_back_the_results_are_wrong() -> None:
    """Must-fail twin: a write to a view that isn't put back is lost."""
    impure = make_fx(add_to_tail)(*(arg.clone() for arg in inputs()))
    forgetful = _Forgetful().rewrite(impure)
    pairs = zip(run(forgetful), run(add_to_tail), strict=True)
    assert not all(torch.equal(got, expected) for got, expected in pairs)


def test_the_arguments_are_not_modified_by_tracing() -> None:
    buffer, rows = inputs()
    pure(add_to_tail, buffer, rows)
    assert torch.equal(buffer, inputs()[0])
