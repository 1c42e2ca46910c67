"""Operators and layers of tensor parallelism. Oracle: one process with the whole tensors.

2 to 4 gloo ranks, one run a size. Values are small whole numbers, so that sums are exact in any
order and equality is bitwise; one test uses other values, and says how far they may be apart.
"""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from fuseshard.distributed.equivalence import largest_difference
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.tensor.placements import even_ranges
from fuseshard.distributed.tensor.sequence import scatter_sequence
from fuseshard.distributed.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    copy_to_group,
    gather_from_group,
    reduce_from_group,
    scatter_to_group,
)
from fuseshard.distributed.traffic import all_gather_bytes, all_reduce_bytes

pytestmark = pytest.mark.ranks

INPUTS, HIDDEN, OUTPUTS = 7, 10, 5  # 2, 3 and 4 divide none but 10, and that by 2 only


def whole_numbers(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).double()


def layers(make):
    up, down = nn.Linear(INPUTS, HIDDEN).double(), nn.Linear(HIDDEN, OUTPUTS).double()
    for index, param in enumerate([*up.parameters(), *down.parameters()]):
        param.data = make(*param.shape, seed=index)
    return up, down


def real_numbers(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).double()


def two_layers(make, up, down):
    """Output and gradients of down(up(x)), which has no nonlinearity to hide an error."""
    x = make(6, INPUTS, seed=9).requires_grad_()
    y = down(up(x))
    (y * make(6, OUTPUTS, seed=8)).sum().backward()
    found = {"y": y.detach(), "x": x.grad}
    for name, layer in (("up", up), ("down", down)):
        found |= {f"{name}.{key}": param.grad for key, param in layer.named_parameters()}
    return found


def forgotten(x, group):
    """A twin that must fail: nothing is communicated."""
    return x


def split_layers(rank, size):
    found = {}
    skewed = [((0, 4),), *(((4, HIDDEN),),) * (size - 1)]  # all but rank 0 hold the same
    for name, make, enter, leave, ranges in (
        ("exact", whole_numbers, copy_to_group, reduce_from_group, None),
        ("rounded", real_numbers, copy_to_group, reduce_from_group, None),
        ("no f", whole_numbers, forgotten, reduce_from_group, None),
        ("no g", whole_numbers, copy_to_group, forgotten, None),
        ("skewed", whole_numbers, copy_to_group, reduce_from_group, skewed),
    ):
        up, down = layers(make)
        first = ColumnParallelLinear(up, ranges=ranges, enter=enter)
        second = RowParallelLinear(down, ranges=ranges, leave=leave)
        with CommMeter() as meter:
            found[name] = two_layers(make, first, second)
        found[name + " sent"] = meter.sent_bytes_per_rank
    return found


def operators(rank, size):
    """Values and gradients of each operator; the ranks' losses add up to the loss."""
    equal = whole_numbers(2, 12, seed=1).requires_grad_()
    own = whole_numbers(2, 3, seed=20 + rank).requires_grad_()
    found = {}
    for name, operate, x, weights in (
        ("copy", copy_to_group, equal, whole_numbers(2, 12, seed=40 + rank)),
        ("reduce", reduce_from_group, own, whole_numbers(2, 3, seed=50)),
        ("gather", gather_from_group, own, whole_numbers(2, 3 * size, seed=60)),
        ("scatter", scatter_to_group, equal, whole_numbers(2, 12 // size, seed=70 + rank)),
        ("no copy", lambda x: forgotten(x, None), equal, whole_numbers(2, 12, seed=40 + rank)),
    ):
        with CommMeter() as forward:
            y = operate(x)
        with CommMeter() as backward:
            (gradient,) = torch.autograd.grad((y * weights).sum(), x)
        sent = (forward.sent_bytes_per_rank, backward.sent_bytes_per_rank)
        found[name] = y.detach(), gradient, sent
    return found


def work(rank, size):
    return operators(rank, size), split_layers(rank, size)


@pytest.fixture(scope="module", params=[2, 3, 4])
def computed(request):
    found = run(work, request.param)
    return request.param, [operated for operated, _ in found], [layered for _, layered in found]


def test_copying_forward_is_adding_backward(computed):
    size, ranks, _ = computed
    total = sum(whole_numbers(2, 12, seed=40 + rank) for rank in range(size))
    for found in ranks:
        value, gradient, sent = found["copy"]
        assert torch.equal(value, whole_numbers(2, 12, seed=1))
        assert torch.equal(gradient, total)
        assert sent == (0, all_reduce_bytes(24 * 8, size))


def test_a_copy_without_its_backward_has_another_gradient_on_each_rank(computed):
    _, ranks, _ = computed
    assert not torch.equal(ranks[0]["no copy"][1], ranks[0]["copy"][1])
    assert not torch.equal(ranks[0]["no copy"][1], ranks[1]["no copy"][1])


def test_adding_forward_is_copying_backward(computed):
    size, ranks, _ = computed
    total = sum(whole_numbers(2, 3, seed=20 + rank) for rank in range(size))
    for found in ranks:
        value, gradient, sent = found["reduce"]
        assert torch.equal(value, total)
        assert torch.equal(gradient, whole_numbers(2, 3, seed=50))
        assert sent == (all_reduce_bytes(6 * 8, size), 0)


def test_gathering_forward_is_slicing_backward(computed):
    size, ranks, _ = computed
    whole = torch.cat([whole_numbers(2, 3, seed=20 + rank) for rank in range(size)], -1)
    weights = whole_numbers(2, 3 * size, seed=60)
    for rank, found in enumerate(ranks):
        value, gradient, sent = found["gather"]
        assert torch.equal(value, whole)
        assert torch.equal(gradient, weights[:, 3 * rank : 3 * rank + 3])
        assert sent == (all_gather_bytes(6 * 8 * size, size), 0)


def test_slicing_forward_is_gathering_backward(computed):
    size, ranks, _ = computed
    width = 12 // size
    whole = torch.cat([whole_numbers(2, width, seed=70 + rank) for rank in range(size)], -1)
    for rank, found in enumerate(ranks):
        value, gradient, sent = found["scatter"]
        mine = slice(rank * width, rank * width + width)
        assert torch.equal(value, whole_numbers(2, 12, seed=1)[:, mine])
        assert torch.equal(gradient, whole)
        assert sent == (0, all_gather_bytes(24 * 8, size))


def assembled(found, name, size):
    """Whole tensors out of the ranks': up in rows, down in columns, the rest from rank 0."""
    parts = [one[name] for one in found]
    whole = dict(parts[0])
    for key, dim in (("up.weight", 0), ("up.bias", 0), ("down.weight", 1)):
        whole[key] = torch.cat([part[key] for part in parts], dim)
    return whole


def test_a_column_and_a_row_layer_are_two_whole_layers_bit_for_bit(computed):
    """With whole numbers no order of additions rounds; the sizes are uneven for 3 and 4 ranks."""
    size, _, ranks = computed
    expected = two_layers(whole_numbers, *layers(whole_numbers))
    assert largest_difference(assembled(ranks, "exact", size), expected).absolute == 0
    for found in ranks:
        for key in ("y", "x", "down.bias"):
            assert torch.equal(found["exact"][key], expected[key]), key


def test_with_other_values_they_differ_by_rounding(computed):
    """y sums 10 hidden features of 7 terms each, a gradient as many or 6 samples' terms."""
    size, _, ranks = computed
    expected = two_layers(real_numbers, *layers(real_numbers))
    difference = largest_difference(assembled(ranks, "rounded", size), expected)
    assert difference.is_rounding(INPUTS * HIDDEN)


def test_without_f_only_the_gradient_in_front_of_it_is_wrong(computed):
    size, _, ranks = computed
    expected = two_layers(whole_numbers, *layers(whole_numbers))
    found = assembled(ranks, "no f", size)
    wrong = {key for key in expected if not torch.equal(found[key], expected[key])}
    assert wrong == {"x"}


def test_without_g_the_result_is_wrong(computed):
    size, _, ranks = computed
    expected = two_layers(whole_numbers, *layers(whole_numbers))
    assert not torch.equal(assembled(ranks, "no g", size)["y"], expected["y"])


def test_a_skewed_shard_is_seen(computed):
    size, _, ranks = computed
    expected = two_layers(whole_numbers, *layers(whole_numbers))
    is_right = torch.equal(ranks[0]["skewed"]["y"], expected["y"])
    assert is_right == (size == 2)  # with two ranks, 4 and 6 of 10 are a fair cut


def test_two_layers_send_two_activations_and_no_weight(computed):
    size, _, ranks = computed
    sent = all_reduce_bytes(6 * OUTPUTS * 8, size) + all_reduce_bytes(6 * INPUTS * 8, size)
    assert [found["exact sent"] for found in ranks] == [sent] * size


def in_order(x, weight):
    """A linear layer that adds its terms one after the other, whatever the shapes."""
    y = torch.zeros(x.shape[0], weight.shape[0], dtype=x.dtype)
    for feature in range(x.shape[1]):
        y = y + x[:, feature, None] * weight[:, feature]
    return y


@pytest.mark.parametrize("num_parts", [2, 3, 4])
def test_cutting_columns_keeps_the_order_of_additions_and_cutting_rows_doesnt(num_parts):
    """Columns: bitwise. Rows: up to n terms in another order, so n epsilons of the scale."""
    x, weight = real_numbers(6, 64, seed=1), real_numbers(10, 64, seed=2)
    whole = in_order(x, weight)
    by_column = [in_order(x, part) for part in weight.tensor_split(num_parts)]
    assert torch.equal(torch.cat(by_column, -1), whole)
    pairs = zip(x.tensor_split(num_parts, 1), weight.tensor_split(num_parts, 1), strict=True)
    by_row = sum(in_order(*pair) for pair in pairs)
    assert not torch.equal(by_row, whole)
    assert largest_difference({"y": by_row}, {"y": whole}).is_rounding(64)


def test_a_layer_without_bias_and_one_rank_alone_work():
    def alone(rank, size):
        torch.manual_seed(0)
        whole = nn.Linear(4, 6, bias=False)
        x = torch.ones(2, 4)
        column = ColumnParallelLinear(whole, ranges=even_ranges(6, 1))
        return torch.equal(column(x), functional.linear(x, whole.weight)), column.bias

    assert run(alone, 1) == [(True, None)]


def test_a_frozen_layer_stays_frozen():
    def frozen(rank, size):
        whole = nn.Linear(5, 7)
        whole.weight.requires_grad_(False)
        split = ColumnParallelLinear(whole), RowParallelLinear(whole)
        return [[param.requires_grad for param in layer.parameters()] for layer in split]

    assert run(frozen, 3) == [[[False, True], [False, True]]] * 3


def uneven(rank, size):
    scatter_to_group(torch.ones(2, 10))


def uneven_tokens(rank, size):
    scatter_sequence(torch.ones(2, 10, 3))


def outsider(rank, size):
    ColumnParallelLinear(nn.Linear(8, 8), dist.new_group([0]))


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        (uneven, "dim -1 of x has 10 elements, must be a multiple of the 4 ranks"),
        (uneven_tokens, "dim 1 of x has 10 elements, must be a multiple of the 4 ranks"),
        (outsider, "this rank is not in the group"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_sent(worker, reason):
    with pytest.raises(DistributedError, match=reason):
        run(worker, 4)
