"""The ring by hand. Oracle: gloo's all_reduce of the same inputs. 1 to 4 ranks, one run each."""

import inspect

import pytest
import torch
import torch.distributed as dist

from fuseshard.distributed import collectives
from fuseshard.distributed.collectives import ring_all_reduce
from fuseshard.distributed.launcher import DistributedError, run

pytestmark = pytest.mark.ranks

SHAPES = [(0,), (), (1,), (3,), (7,), (12,), (5, 4), (2, 0, 3), (1001,)]


def numbers(rank, shape, dtype=torch.float32):
    """Integers that differ by rank and place: their float sums are exact in any order."""
    values = torch.arange(max(1, torch.Size(shape).numel()), dtype=dtype)
    return ((values + 1) * 4**rank)[: torch.Size(shape).numel()].reshape(shape)


def both(tensor, group=None):
    """The tensor after gloo's all-reduce and after ours; and whether ours kept its strides."""
    theirs, ours = tensor.clone(), tensor
    dist.all_reduce(theirs, group=group)
    strides = ours.stride()
    ring_all_reduce(ours, group)
    return theirs, ours, ours.stride() == strides


def compare_everything(rank, size):
    found = {str(shape): both(numbers(rank, shape)) for shape in SHAPES}
    found["bfloat16"] = both(numbers(rank, (5,), torch.bfloat16))
    found["int64"] = both(numbers(rank, (9,), torch.int64))
    found["transposed"] = both(numbers(rank, (5, 4)).t())
    found["strided"] = both(numbers(rank, (5, 4))[:, 1:3])
    found["every third"] = both(numbers(rank, (20,))[::3])  # reshape(-1) makes it a view
    found["column"] = both(numbers(rank, (5, 4))[:, 1:2])
    generator = torch.Generator().manual_seed(rank)
    found["random"] = both(torch.randn(1003, generator=generator))
    group = dist.new_group(list(range(size - 1, 0, -1)) or [0])
    if rank > 0 or size == 1:
        found["subgroup"] = both(numbers(rank, (7,)), group)
    leaf = torch.nn.Parameter(numbers(rank, (5,)))
    ring_all_reduce(leaf)
    found["leaf"] = numbers(0, (5,)) * sum(4**r for r in range(size)), leaf.detach(), True
    return found


@pytest.fixture(scope="module", params=[1, 2, 3, 4])
def compared(request):
    return request.param, run(compare_everything, request.param)


def test_the_ring_equals_gloo_bit_for_bit_where_sums_are_exact(compared):
    size, ranks = compared
    num_members = 0
    for found in ranks:
        for name, (theirs, ours, keeps_strides) in found.items():
            if name != "random":
                assert torch.equal(theirs, ours), name
                assert theirs.dtype == ours.dtype and keeps_strides, name
        num_members += "subgroup" in found
    assert num_members == max(1, size - 1)


def test_the_ring_equals_gloo_up_to_the_order_of_sums(compared):
    """n - 1 additions a side, each off by half an epsilon of a sum below n * max |x|."""
    size, ranks = compared
    for found in ranks:
        theirs, ours, _ = found["random"]
        bound = (size - 1) * torch.finfo(torch.float32).eps * size * 5.0
        assert float((theirs - ours).abs().max()) <= bound


def test_all_ranks_get_the_same_bits(compared):
    _, ranks = compared
    first = ranks[0]["random"][1]
    assert all(torch.equal(found["random"][1], first) for found in ranks)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("chunks[(rank - step - 1) % size].add_(received)", "pass"),
        ("chunks[(rank - step + 1) % size], chunks", "chunks[(rank - step) % size], chunks"),
        (
            "for step in range(size - 1):\n        _pass",
            "for step in range(size - 2):\n        _pass",
        ),
        ("if not tensor.is_contiguous():", "if False:"),
    ],
    ids=["no sum", "wrong chunk", "a round too few", "no copy back"],
)
def test_a_broken_ring_doesnt_equal_gloo(right, wrong):
    source = inspect.getsource(ring_all_reduce)
    assert source.count(right) == 1
    broken = source.replace(right, wrong)

    def work(rank, size):
        names = vars(collectives).copy()
        exec(broken, names)
        tensor = numbers(rank, (4, 3)).t()
        theirs = tensor.clone()
        dist.all_reduce(theirs)
        names["ring_all_reduce"](tensor)
        return torch.equal(theirs, tensor)

    assert not all(run(work, 3))


def test_a_rank_outside_the_group_is_refused():
    def work(rank, size):
        group = dist.new_group([0])
        ring_all_reduce(torch.ones(2), group if rank == 0 else dist.GroupMember.NON_GROUP_MEMBER)

    with pytest.raises(DistributedError, match=r"rank 1 .* this rank is not in the group"):
        run(work)
