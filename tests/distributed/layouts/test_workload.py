"""Layer 1. Oracles: the whole batch, torch's own gradients, and arithmetic of the sizes."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from fuseshard.distributed.layouts.records import Layout
from fuseshard.distributed.layouts.workload import Workload
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

ODD = Workload(
    config=MiniGPTConfig(vocabulary=9, width=18, num_layers=3, num_heads=3, context=5),
    num_sequences=6,
    num_tokens=5,
    num_micro_batches=3,
)


def test_the_parts_are_the_batch():
    parts = [ODD.share(index, 3) for index in range(3)]
    for side, whole in zip(zip(*parts, strict=True), ODD.batch(), strict=True):
        assert torch.equal(torch.cat(side), whole)
        assert not torch.equal(side[0], side[1])


def test_targets_are_the_next_tokens():
    tokens, targets = ODD.batch()
    assert torch.equal(tokens[:, 1:], targets[:, :-1])


def test_the_reference_is_one_ordinary_step():
    model = MiniGPT(ODD.config).double()
    tokens, targets = ODD.batch()
    loss = cross_entropy(model(tokens).transpose(1, 2), targets)
    (expected,) = torch.autograd.grad(loss, [model.head.weight])
    found = ODD.reference(torch.float64)
    torch.testing.assert_close(found["head.weight"], expected, rtol=1e-12, atol=1e-15)
    assert len(found) == 1 + len(list(model.parameters()))


@pytest.mark.parametrize("layout", [Layout(tp=3), Layout(pp=3), Layout(fsdp=3), Layout(dp=6)])
def test_degrees_that_divide_pass(layout):
    ODD.check(layout, layout.world_size)


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout(tp=2), r"tp = 2, required is a divisor of 3, the number of heads.*\[1, 3\]"),
        (Layout(pp=2), r"pp = 2, required is a divisor of 3, the number of layers"),
        (Layout(pp=4), "pp = 4, required is at most 3, the number of micro-batches"),
        (Layout(dp=4), r"= 4, required is a divisor of 6, the number of sequences"),
        (Layout(pp=3, dp=3), r"= 9, required is a divisor of 6, the number of sequences"),
        (Layout(fsdp=6, tp=3), r"fsdp × tp = 18, required is a divisor of 9.*vocabulary"),
    ],
)
def test_degrees_that_do_not_divide_are_refused(layout, message):
    with pytest.raises(ValueError, match=message):
        ODD.check(layout, layout.world_size)


def test_another_number_of_processes_is_refused():
    with pytest.raises(ValueError, match=r"tp 3 has 3 ranks, required are 4"):
        ODD.check(Layout(tp=3), 4)
