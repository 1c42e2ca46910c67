"""Collectives by hand. Oracle: gloo's of the same inputs. 1 to 5 ranks, one run each."""

import inspect
from fractions import Fraction

import pytest
import torch
import torch.distributed as dist

from fuseshard.distributed import collectives, traffic
from fuseshard.distributed.collectives import (
    recursive_doubling_all_reduce,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    tree_all_reduce,
)
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.meter import CommMeter

pytestmark = pytest.mark.ranks

SHAPES = [(0,), (), (1,), (3,), (7,), (12,), (5, 4), (2, 0, 3), (1001,)]
ALL_REDUCES = [ring_all_reduce, tree_all_reduce, recursive_doubling_all_reduce]
FORMULAS = {
    "ring_all_reduce": traffic.all_reduce_bytes,
    "tree_all_reduce": traffic.tree_all_reduce_bytes,
    "recursive_doubling_all_reduce": traffic.recursive_doubling_all_reduce_bytes,
    "ring_reduce_scatter": traffic.reduce_scatter_bytes,
    "ring_all_gather": traffic.all_gather_bytes,
}
NUM_COUNTED = 1003  # float32; no multiple of 2 to 5


def numbers(rank, shape, dtype=torch.float32, base=4):
    """Integers that differ by rank and place: their float sums are exact in any order."""
    values = torch.arange(max(1, torch.Size(shape).numel()), dtype=dtype)
    return ((values + 1) * base**rank)[: torch.Size(shape).numel()].reshape(shape)


def both(ours, tensor, group=None):
    """The tensor after gloo's all-reduce and after ours; and whether ours kept its strides."""
    theirs = tensor.clone()
    dist.all_reduce(theirs, group=group)
    strides = tensor.stride()
    ours(tensor, group)
    return theirs, tensor, tensor.stride() == strides


def inputs(rank):
    yield from ((str(shape), numbers(rank, shape)) for shape in SHAPES)
    yield "bfloat16", numbers(rank, (5,), torch.bfloat16, base=2)  # 8 bits hold 5 * 31
    yield "int64", numbers(rank, (9,), torch.int64)
    yield "transposed", numbers(rank, (5, 4)).t()
    yield "strided", numbers(rank, (5, 4))[:, 1:3]
    yield "every third", numbers(rank, (20,))[::3]  # reshape(-1) makes it a view
    yield "column", numbers(rank, (5, 4))[:, 1:2]
    yield "random", torch.randn(1003, generator=torch.Generator().manual_seed(rank))


def parts(rank, size, group=None):
    """Gloo's and our reduce-scatter and all-gather, of shapes that differ in their dimensions."""
    found = {}
    for shape in [(0,), (1,), (3,), (2, 3)]:
        part, whole = numbers(rank, shape), numbers(rank, (size, *shape))
        theirs, ours = torch.empty_like(part), torch.empty_like(part)
        dist.reduce_scatter(theirs, list(whole.clone()), group=group)
        ring_reduce_scatter(ours, whole, group)
        kept = torch.equal(whole, numbers(rank, (size, *shape)))
        found[f"reduce-scatter {shape}"] = theirs, ours, kept
        gathered = [torch.empty_like(part) for _ in range(size)]
        dist.all_gather(gathered, part, group=group)
        ours = torch.empty_like(whole)
        ring_all_gather(ours, part, group)
        found[f"all-gather {shape}"] = torch.stack(gathered), ours, True
    turned = numbers(rank, (3, size)).t()  # its rows are the parts, its memory holds columns
    ours = torch.empty(3)
    ring_reduce_scatter(ours, turned, group)
    theirs = torch.empty(3)
    dist.reduce_scatter(theirs, [row.contiguous() for row in turned], group=group)
    found["reduce-scatter turned"] = theirs, ours, True
    return found


def counted(rank, size):
    """Bytes that this rank's sends added up to."""
    whole = torch.ones(NUM_COUNTED * size)
    calls = {
        ours.__name__: (lambda ours=ours: ours(torch.ones(NUM_COUNTED))) for ours in ALL_REDUCES
    }
    calls["ring_reduce_scatter"] = lambda: ring_reduce_scatter(torch.ones(NUM_COUNTED), whole)
    calls["ring_all_gather"] = lambda: ring_all_gather(whole, torch.ones(NUM_COUNTED))
    sent = {}
    for name, call in calls.items():
        with CommMeter() as meter:
            call()
        sent[name] = int(meter.sent_bytes_per_rank)
    return sent


def compare_everything(rank, size):
    found = {}
    group = dist.new_group(list(range(size - 1, 0, -1)) or [0])
    for ours in ALL_REDUCES:
        for name, tensor in inputs(rank):
            found[ours.__name__, name] = both(ours, tensor)
        if rank > 0 or size == 1:
            found[ours.__name__, "subgroup"] = both(ours, numbers(rank, (7,)), group)
        leaf = torch.nn.Parameter(numbers(rank, (5,)))
        ours(leaf)
        total = numbers(0, (5,)) * sum(4**r for r in range(size))
        found[ours.__name__, "leaf"] = total, leaf.detach(), True
    found |= {("parts", name): row for name, row in parts(rank, size).items()}
    return found, counted(rank, size)


@pytest.fixture(scope="module", params=[1, 2, 3, 4, 5])
def compared(request):
    return request.param, run(compare_everything, request.param)


def test_ours_equal_gloo_bit_for_bit_where_sums_are_exact(compared):
    size, ranks = compared
    num_members = 0
    for found, _ in ranks:
        for name, (theirs, ours, is_kept) in found.items():
            if name[1] != "random":
                assert torch.equal(theirs, ours), name
                assert theirs.dtype == ours.dtype and is_kept, name
        num_members += ("tree_all_reduce", "subgroup") in found
    assert num_members == max(1, size - 1)


def test_ours_equal_gloo_up_to_the_order_of_sums(compared):
    """n - 1 additions a side, each off by half an epsilon of a sum below n * max |x|."""
    size, ranks = compared
    bound = (size - 1) * torch.finfo(torch.float32).eps * size * 5.0
    for ours in ALL_REDUCES:
        for found, _ in ranks:
            theirs, summed, _ = found[ours.__name__, "random"]
            assert float((theirs - summed).abs().max()) <= bound


def test_all_ranks_get_the_same_bits(compared):
    _, ranks = compared
    for ours in ALL_REDUCES:
        first = ranks[0][0][ours.__name__, "random"][1]
        assert all(torch.equal(found[ours.__name__, "random"][1], first) for found, _ in ranks)


def test_the_bytes_counted_are_those_of_the_formulas(compared):
    size, ranks = compared
    for name, formula in FORMULAS.items():
        payload = (
            4 * NUM_COUNTED * (size if name in ("ring_reduce_scatter", "ring_all_gather") else 1)
        )
        total = sum(sent[name] for _, sent in ranks)
        assert formula(payload, size) == float(Fraction(total, size)), name


BROKEN = [
    (ring_all_reduce, "chunks[(rank - step - 1) % size].add_(received)", "pass"),
    (ring_all_reduce, "chunks[(rank - step + 1) % size], c", "chunks[(rank - step) % size], c"),
    (ring_all_reduce, "range(size - 1):\n        _pass", "range(size - 2):\n        _pass"),
    (ring_all_reduce, "_put_back(flat, tensor)", "pass"),
    (tree_all_reduce, "flat.add_(received)", "pass"),
    (tree_all_reduce, "reversed(distances)", "()"),
    (tree_all_reduce, "_put_back(flat, tensor)", "pass"),
    (
        recursive_doubling_all_reduce,
        "    flat.add_(received)\n        for",
        "    pass\n        for",
    ),
    (recursive_doubling_all_reduce, "rank ^ distance", "rank ^ 1"),
    (recursive_doubling_all_reduce, "_powers_of_two(power)", "()"),
    (recursive_doubling_all_reduce, "_put_back(flat, tensor)", "pass"),
]


@pytest.mark.parametrize(
    ("ours", "right", "wrong"), BROKEN, ids=[f"{b[0].__name__}: {b[1][:30]}" for b in BROKEN]
)
def test_a_broken_all_reduce_doesnt_equal_gloo(ours, right, wrong):
    source = inspect.getsource(ours)
    assert source.count(right) == 1
    broken = source.replace(right, wrong)

    def work(rank, size):
        names = vars(collectives).copy()
        exec(broken, names)
        tensor = numbers(rank, (4, 3)).t()
        theirs = tensor.clone()
        dist.all_reduce(theirs)
        names[ours.__name__](tensor)
        return torch.equal(theirs, tensor)

    try:
        assert not all(run(work, 5 if "rank ^" in right else 3, timeout=10))
    except DistributedError as error:
        pytest.fail(f"the twin has to go wrong, not to hang: {error.reason}")


@pytest.mark.parametrize("ours", ALL_REDUCES)
def test_a_rank_outside_the_group_is_refused(ours):
    def work(rank, size):
        group = dist.new_group([0])
        ours(torch.ones(2), group if rank == 0 else dist.GroupMember.NON_GROUP_MEMBER)

    with pytest.raises(DistributedError, match=r"rank 1 .* this rank is not in the group"):
        run(work)


def expanded(rank, size):
    said = []
    for ours in ALL_REDUCES:
        row = torch.ones(1, 3)
        ours(row.expand(1, 3))  # the control: each element has a place of its own
        assert row.tolist() == [[2.0] * 3]
        try:
            ours(torch.ones(1, 3).expand(4, 3))
        except ValueError as error:
            said.append(str(error))
    return said


def test_elements_that_share_their_place_are_refused_before_anything_is_sent():
    for said in run(expanded):
        assert len(said) == len(ALL_REDUCES)
        assert all("has strides (0, 1), required is a place" in message for message in said)


def refusals(rank, size):
    said = []
    for call in (
        lambda: ring_reduce_scatter(torch.empty(2), torch.ones(5)),
        lambda: ring_all_gather(torch.empty(4), torch.ones(3)),
        lambda: ring_all_gather(torch.empty(4), torch.ones(2, dtype=torch.int64)),
        lambda: ring_all_gather(torch.empty(2, 2).t(), torch.ones(2)),
        lambda: ring_all_gather(torch.empty(2, 2), torch.ones(2)),  # the control
    ):
        try:
            call()
        except ValueError as error:
            said.append(str(error))
    return said


def test_parts_that_dont_fit_are_refused_before_anything_is_sent():
    for said in run(refusals):
        sizes, more, dtypes, strides = said
        assert "has 5 elements of torch.float32 and the part 2" in sizes
        assert "required are 2 equal parts" in more
        assert "torch.int64" in dtypes
        assert "output has strides (1, 2), required is a contiguous tensor" in strides
