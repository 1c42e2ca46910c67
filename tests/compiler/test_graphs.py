"""How graphs are counted. Oracle: functions whose graphs are known."""

import torch
from torch import fx, nn

from fuseshard.compiler.graphs import CountingBackend, graphs_captured, num_operations


def test_the_backend_counts_graphs_and_what_runs_of_them():
    backend = CountingBackend("eager")
    double = torch.compile(lambda x: x * 2 + 1, backend=backend)
    for _ in range(3):
        assert double(torch.ones(3)).tolist() == [3.0] * 3
    assert backend.num_graphs == 1
    assert backend.num_operations == 3 * 2


def test_operations_of_inner_graphs_count_too():
    inner = fx.symbolic_trace(nn.Sequential(nn.ReLU(), nn.Tanh()))
    outer = fx.symbolic_trace(nn.Sequential(nn.Tanh()))
    assert num_operations(outer) == 1
    outer.add_module("inner", inner)
    assert num_operations(outer) == 3


def test_a_backend_counts_the_parts_of_a_broken_graph():
    def broken(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    backend = CountingBackend("aot_eager")
    assert torch.compile(broken, backend=backend)(torch.ones(2)).tolist() == [3.0, 3.0]
    assert backend.num_graphs == 2


def test_a_second_call_captures_nothing():
    double = torch.compile(lambda x: x + x, backend="eager")
    assert graphs_captured(lambda: double(torch.ones(3))) == 1
    assert graphs_captured(lambda: double(torch.ones(3))) == 0
