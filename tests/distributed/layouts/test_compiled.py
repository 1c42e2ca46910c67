"""Layer 2: 2 gloo ranks. Oracles: one process that compiles nothing, and graphs made by hand."""

import pytest
import torch
from torch import nn

from fuseshard.compiler.graphs import CountingBackend
from fuseshard.distributed.layouts.compiled import (
    runs_whole,
    try_order,
    try_orders,
)
from fuseshard.distributed.layouts.orders import ORDERS, Order, Recomputed, each_block
from fuseshard.distributed.layouts.workload import Workload
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

SMALL = Workload(
    config=MiniGPTConfig(vocabulary=14, width=12, num_layers=1, num_heads=2, context=6),
    num_sequences=4,
    num_tokens=5,
)


@pytest.fixture(scope="module")
def trials():
    names = ["fsdp_outside", "fsdp_inside", "tp_inside"]
    return {trial.name: trial for trial in try_orders(names, CountingBackend, workload=SMALL)}


def test_blocks_compiled_first_and_sharded_then_are_whole_graphs(trials):
    trial = trials["fsdp_inside"]
    assert trial.is_equal
    assert trial.is_fullgraph
    assert (trial.num_graphs, trial.later_graphs) == (1, 0)


def test_sharded_first_and_compiled_then_is_equal_but_broken_up(trials):
    trial = trials["fsdp_outside"]
    assert trial.is_equal
    assert not trial.is_fullgraph


def test_a_compiled_model_no_longer_fits_its_plan(trials):
    assert trials["tp_inside"].refused.startswith("ValueError: check_plan: the plan names")


def test_recomputing_changes_no_number():
    model, again = MiniGPT(SMALL.config), each_block(MiniGPT(SMALL.config), Recomputed)
    tokens, _ = SMALL.batch()
    assert torch.equal(model(tokens), again(tokens))


def test_an_order_that_breaks_the_model_is_noticed(monkeypatch):
    def halved(model, wrap):
        model.head.weight.data /= 2
        return wrap(model)

    monkeypatch.setitem(ORDERS, "halved", Order(code="", make=halved))
    found = {name: _one_rank(name) for name in ("alone", "halved")}
    assert found["alone"].is_equal
    assert not found["halved"].is_equal


def test_a_break_is_found_by_tracing_alone():
    class Breaks(nn.Module):
        def __init__(self, inner):
            super().__init__()
            self.inner = inner

        def forward(self, x):
            torch._dynamo.graph_break()
            return self.inner(x)

    broken = Order(code="", make=lambda model, wrap: wrap(Breaks(model)))
    assert _on_one_rank(lambda: runs_whole(ORDERS["alone"], CountingBackend, SMALL))
    assert not _on_one_rank(lambda: runs_whole(broken, CountingBackend, SMALL))


def test_an_unknown_order_is_refused():
    with pytest.raises(ValueError, match=r"names has \['sideways'\], required are some of"):
        try_orders(["alone", "sideways"], CountingBackend)


def _one_rank(name):
    expected = SMALL.reference(torch.float64)
    return _on_one_rank(lambda: try_order(name, CountingBackend, SMALL, expected))


def _on_one_rank(call):
    """Call something as the only rank of a group in this process."""
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        return call()
    finally:
        torch.distributed.destroy_process_group()
