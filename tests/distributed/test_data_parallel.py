"""Data parallelism by hand. Oracles: torch's DDP, and one process with the whole batch.

2 to 4 gloo ranks, one run a size. The batch of 10 samples doesn't divide by 3 or 4.
"""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from fuseshard.distributed import data_parallel
from fuseshard.distributed.data_parallel import (
    average_gradients,
    average_gradients_in_buckets,
    broadcast_parameters,
    gradient_buckets,
    split_batch,
)
from fuseshard.distributed.equivalence import gradients, largest_difference
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.meter import CommMeter

pytestmark = pytest.mark.ranks

NUM_SAMPLES = 10


def model(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))


def batch(num_samples):
    generator = torch.Generator().manual_seed(1)
    return torch.randn(num_samples, 3, generator=generator)


def backward(module, samples):
    (module(samples) ** 2).mean().backward()
    return module


def alone(num_samples):
    """One process with the whole batch."""
    return gradients(backward(model(), batch(num_samples)))


def by_hand(rank, size, num_samples, average):
    """Gradients after backward on this rank's shard and the given way to average."""
    shard = split_batch(batch(num_samples), rank, size)
    module = backward(model(), shard)
    average(module, len(shard))
    return gradients(module)


def forget_last(module, num_samples):
    """A twin that must fail: one parameter is left out."""
    last = list(module.parameters())[-1]
    last.requires_grad_(False)
    average_gradients(module)
    last.requires_grad_(True)


def add_up(module, num_samples):
    """A twin that must fail: the sum, not the average."""
    for param in module.parameters():
        dist.all_reduce(param.grad)


def compute(rank, size):
    even = NUM_SAMPLES * size  # every rank has 10 samples

    def one_by_one(module, num_samples):
        average_gradients(module)

    def weighted(module, num_samples):
        average_gradients(module, num_samples=num_samples)

    def buckets(module, num_samples):
        average_gradients_in_buckets(module, 40, num_samples=num_samples)

    ddp = DistributedDataParallel(model())
    backward(ddp, split_batch(batch(even), rank, size))
    found = {"ddp": gradients(ddp)}
    for name, num_samples, average in (
        ("even", even, one_by_one),
        ("even in buckets", even, lambda m, n: average_gradients_in_buckets(m, 40)),
        ("uneven", NUM_SAMPLES, weighted),
        ("uneven in buckets", NUM_SAMPLES, buckets),
        ("one sample", 1, weighted),
        ("uneven unweighted", NUM_SAMPLES + 1, one_by_one),
        ("sum", even, add_up),
        ("one forgotten", even, forget_last),
        ("none averaged", even, lambda m, n: None),
    ):
        found[name] = by_hand(rank, size, num_samples, average)
    return found


@pytest.fixture(scope="module", params=[2, 3, 4])
def computed(request):
    return request.param, run(compute, request.param)


def is_equal(found, expected):
    """Up to the order in which at most 40 samples' terms are added."""
    return all(largest_difference(one, expected).is_rounding(4 * NUM_SAMPLES) for one in found)


@pytest.mark.parametrize("name", ["ddp", "even", "even in buckets"])
def test_even_shards_give_the_gradients_of_one_process(computed, name):
    size, ranks = computed
    assert is_equal([found[name] for found in ranks], alone(NUM_SAMPLES * size))


@pytest.mark.parametrize("name", ["uneven", "uneven in buckets"])
def test_uneven_shards_give_the_gradients_of_one_process(computed, name):
    _, ranks = computed
    assert is_equal([found[name] for found in ranks], alone(NUM_SAMPLES))


def test_ranks_without_samples_dont_spoil_the_gradient(computed):
    _, ranks = computed
    assert is_equal([found["one sample"] for found in ranks], alone(1))


def test_by_hand_equals_ddp_bit_for_bit(computed):
    """Both scale by 1/N and then add in gloo's order; for 2 ranks any order is one order."""
    size, ranks = computed
    for found in ranks:
        difference = largest_difference(found["even"], found["ddp"])
        assert difference.absolute == 0 if size == 2 else difference.is_rounding(size)


def test_all_ranks_have_the_same_bits(computed):
    _, ranks = computed
    for name in ("even", "even in buckets", "uneven", "uneven in buckets"):
        for found in ranks:
            assert largest_difference(found[name], ranks[0][name]).absolute == 0, name


@pytest.mark.parametrize("name", ["sum", "one forgotten", "none averaged"])
def test_each_way_to_get_it_wrong_is_seen(computed, name):
    size, ranks = computed
    assert not is_equal([found[name] for found in ranks], alone(NUM_SAMPLES * size))


def test_uneven_shards_without_weights_are_wrong(computed):
    size, ranks = computed
    if (NUM_SAMPLES + 1) % size:  # 11 samples: uneven for 2, 3 and 4 ranks
        found = [one["uneven unweighted"] for one in ranks]
        assert not is_equal(found, alone(NUM_SAMPLES + 1))


def test_all_ranks_start_from_the_first_ranks_parameters_and_buffers():
    def work(rank, size):
        module = nn.Sequential(model(seed=rank), nn.BatchNorm1d(1))
        module[1].running_mean.fill_(rank + 1.0)
        before = module.state_dict() | {}
        before = {name: tensor.clone() for name, tensor in before.items()}
        broadcast_parameters(module)
        return before, module.state_dict()

    (first, _), *_ = results = run(work, 3)
    for rank, (before, after) in enumerate(results):
        assert all(torch.equal(after[name], first[name]) for name in first)
        assert rank == 0 or not torch.equal(before["0.0.weight"], after["0.0.weight"])


def test_a_subgroup_averages_among_itself():
    def work(rank, size):
        group = dist.new_group([1, 2])
        module = nn.Linear(1, 1, bias=False)
        module.weight.grad = torch.full((1, 1), float(4**rank))
        if rank:
            average_gradients(module, group)
            average_gradients_in_buckets(module, 1, group, num_samples=rank)
            broadcast_parameters(module, group)
        return module.weight.grad.item()

    assert run(work, 3) == [1.0, 10.0, 10.0]


def test_buckets_send_the_same_bytes_in_fewer_messages():
    def work(rank, size):
        counts = []
        for average in (
            average_gradients,
            lambda module: average_gradients_in_buckets(module, 1),
            lambda module: average_gradients_in_buckets(module, 40),
            lambda module: average_gradients_in_buckets(module, 10**6),
        ):
            module = backward(model(), batch(4))
            with CommMeter() as meter:
                average(module)
            counts.append((len(meter.calls), meter.payload_bytes))
        return counts

    total = sum(param.nbytes for param in model().parameters())
    assert run(work) == [[(4, total), (4, total), (2, total), (1, total)]] * 2


def test_buckets_hold_each_parameter_once_last_first_and_one_dtype():
    module = model()
    module[0].bias.data = module[0].bias.data.double()
    module[2].bias.requires_grad_(False)
    buckets = gradient_buckets(module, 10**6)
    assert [[tuple(param.shape) for param in bucket] for bucket in buckets] == [
        [(1, 5)],
        [(5,)],
        [(5, 3)],
    ]
    assert [len(bucket) for bucket in gradient_buckets(model(), 21)] == [2, 2]
    assert gradient_buckets(nn.Tanh(), 1) == []


def test_a_bucket_of_no_bytes_is_refused():
    with pytest.raises(ValueError, match="bucket_bytes is 0, required is at least 1"):
        gradient_buckets(model(), 0)


@pytest.mark.parametrize("counts", [(0, 0), (3, -1)])
def test_sample_counts_that_are_no_weights_are_refused_on_all_ranks(counts):
    def work(rank, size):
        average_gradients(model(), num_samples=counts[rank])

    with pytest.raises(DistributedError) as caught:
        run(work)
    assert len(caught.value.failures) == 2
    assert all("num_samples is" in failure.reason for failure in caught.value.failures)


def test_sparse_gradients_are_refused_though_only_one_rank_has_them():
    def work(rank, size):
        module = nn.Embedding(5, 2, sparse=True)
        if rank == 1:
            module(torch.tensor([3])).sum().backward()
        average_gradients(module)

    with pytest.raises(DistributedError, match=r"rank 1 .* a gradient of shape \(5, 2\) is sparse"):
        run(work)


@pytest.mark.parametrize("world_size", [1, 2, 3, 4, 12])
def test_shares_are_the_batch_in_order_and_as_equal_as_they_come(world_size):
    shares = [split_batch(batch(10), rank, world_size) for rank in range(world_size)]
    assert torch.equal(torch.cat(shares), batch(10))
    lengths = [len(share) for share in shares]
    assert max(lengths) - min(lengths) <= 1
    assert lengths == sorted(lengths, reverse=True)


@pytest.mark.parametrize("rank", [-1, 2])
def test_a_rank_without_a_share_is_refused(rank):
    with pytest.raises(ValueError, match=f"rank is {rank}, required is 0 to 1"):
        data_parallel.split_batch(batch(4), rank, 2)
