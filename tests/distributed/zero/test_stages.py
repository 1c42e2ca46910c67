"""ZeRO-1 and ZeRO-2 by hand. Oracles: one process with the whole batch, the paper's account.

2 to 4 gloo ranks, one launch a size. Sizes that N doesn't divide; twins that must fail.
"""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss

from fuseshard.distributed.equivalence import largest_difference
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.traffic import all_gather_bytes, reduce_scatter_bytes
from fuseshard.distributed.zero.stages import update_by_hand
from fuseshard.distributed.zero.training import prepare

pytestmark = pytest.mark.ranks

NUM_SAMPLES, NUM_STEPS, LEARNING_RATE = 12, 3, 1e-2
TWINS = ("no reduction", "no gather")


def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(7, 13), nn.Tanh(), nn.Linear(13, 5)).double()


def batch():
    generator = torch.Generator().manual_seed(1)
    samples = torch.randn(NUM_SAMPLES, 12, generator=generator, dtype=torch.float64)
    return samples[:, :7], samples[:, 7:]


def alone():
    """One process with the whole batch."""
    module = model()
    optimizer = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE)
    for _ in range(NUM_STEPS):
        optimizer.zero_grad()
        mse_loss(module(batch()[0]), batch()[1]).backward()
        optimizer.step()
    return {name: param.detach().clone() for name, param in module.named_parameters()}


def trained(rank, size, variant, twin=None):
    """All parameters after some steps, and what the last one sent."""
    module = model()
    groups = [dist.new_group([member]) for member in range(size)]
    group = groups[rank] if twin == "no reduction" else None
    training = prepare(variant, module, [module[0]], group, learning_rate=LEARNING_RATE)
    inputs, targets = (part.chunk(size)[rank] for part in batch())
    for _ in range(NUM_STEPS):
        with CommMeter() as meter:
            loss = mse_loss(module(inputs), targets)
            if twin == "no gather":
                loss.backward()
                training.reduce()
                training.optimizer.step()
                training.optimizer.zero_grad()
            else:
                training.step(loss)
    return training.read(), meter.sent_bytes_per_rank


def all_trained(rank, size):
    found = {variant: trained(rank, size, variant) for variant in ("zero1", "zero2")}
    return found | {twin: trained(rank, size, "zero1", twin) for twin in TWINS}


@pytest.fixture(scope="module", params=[2, 3, 4], ids="N={}".format)
def outcome(request):
    return run(all_trained, request.param)


@pytest.mark.parametrize("variant", ["zero1", "zero2"])
def test_several_steps_end_where_one_process_does(outcome, variant) -> None:
    for rank in outcome:
        difference = largest_difference(rank[variant][0], alone())
        assert difference.is_rounding(num_terms=NUM_SAMPLES), difference


@pytest.mark.parametrize("twin", TWINS)
def test_a_bug_is_no_rounding(outcome, twin) -> None:
    assert largest_difference(outcome[0][twin][0], alone()).in_epsilons > 1e6


@pytest.mark.parametrize("variant", ["zero1", "zero2"])
def test_a_step_sends_a_reduce_scatter_and_an_all_gather(outcome, variant) -> None:
    size = len(outcome)
    padded = [8 * size * -(-numel // size) for numel in (104, 70)]
    expected = sum(all_gather_bytes(p, size) + reduce_scatter_bytes(p, size) for p in padded)
    assert [rank[variant][1] for rank in outcome] == [expected] * size


def kept(rank, size, is_eager):
    """Elements of whole gradients right after backward, and of the shards' gradients."""
    module = model()
    units = update_by_hand(module, [module[0]], is_eager=is_eager)
    mse_loss(module(batch()[0]), batch()[1]).backward()
    whole = sum(param.grad.numel() for param in module.parameters() if param.grad is not None)
    shards = [unit.shard.grad for unit in units]
    shares_memory = all(
        unit.shard.untyped_storage().data_ptr() == unit.flat.full.untyped_storage().data_ptr()
        for unit in units
    )
    return whole, [None if shard is None else shard.numel() for shard in shards], shares_memory


def test_stage_1_keeps_whole_gradients_and_stage_2_a_shard() -> None:
    assert run(kept, 3, args=(False,)) == [(174, [None, None], True)] * 3
    assert run(kept, 3, args=(True,)) == [(0, [35, 24], True)] * 3


def overlapping(rank, size):
    module = model()
    update_by_hand(module, [module[0], module[0]], is_eager=True)


def elsewhere(rank, size):
    update_by_hand(model(), [nn.Linear(2, 3)], is_eager=True)


def empty(rank, size):
    update_by_hand(nn.Tanh(), [], is_eager=False)


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        (overlapping, "ValueError: cut_in_units: .* in another unit"),
        (elsewhere, "ValueError: cut_in_units: .* not in the model"),
        (empty, "ValueError: FlatParameters: got no parameters"),
    ],
)
def test_what_cannot_work_is_refused(worker, reason) -> None:
    with pytest.raises(DistributedError, match=reason):
        run(worker, 2)
