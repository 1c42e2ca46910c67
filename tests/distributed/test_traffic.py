"""The byte formulas. Oracle: each algorithm's messages, added up one by one. No ranks."""

import pytest

from fuseshard.distributed import traffic
from fuseshard.distributed.traffic import CollectiveCall


def chunk_sizes(num_elements, num_ranks):
    return [num_elements // num_ranks + (r < num_elements % num_ranks) for r in range(num_ranks)]


def ring_messages(num_elements, num_ranks, num_rounds):
    """Elements that each rank sends while chunks go round the ring that many times."""
    chunks = chunk_sizes(num_elements, num_ranks)
    return [
        sum(
            chunks[(rank - step) % num_ranks]
            for _ in range(num_rounds)
            for step in range(num_ranks - 1)
        )
        for rank in range(num_ranks)
    ]


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("num_elements", [0, 1, 7, 12, 100])
def test_ring_formulas_are_the_mean_of_the_messages(num_ranks, num_elements):
    for formula, num_rounds in (
        (traffic.all_reduce_bytes, 2),
        (traffic.all_gather_bytes, 1),
        (traffic.reduce_scatter_bytes, 1),
    ):
        messages = ring_messages(num_elements, num_ranks, num_rounds)
        assert formula(4 * num_elements, num_ranks) == 4 * sum(messages) / num_ranks


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4, 7])
def test_formulas_with_a_root_are_the_mean_of_the_messages(num_ranks):
    copies = num_ranks - 1
    assert traffic.broadcast_bytes(12, num_ranks) == 12 * copies / num_ranks
    assert traffic.reduce_bytes(12, num_ranks) == 12 * copies / num_ranks
    call = CollectiveCall(
        op="gather",
        payload_bytes=12 * num_ranks,
        num_elements=3,
        dtype="float32",
        group_size=num_ranks,
    )
    assert call.sent_bytes == 12 * copies / num_ranks


def test_an_uneven_all_to_all_sends_all_but_what_it_keeps():
    call = CollectiveCall(
        op="all_to_all",
        payload_bytes=100,
        num_elements=25,
        dtype="float32",
        group_size=3,
        kept_bytes=60,
    )
    assert call.sent_bytes == 40
    assert traffic.all_to_all_bytes(90, 3) == 60


@pytest.mark.parametrize("arguments", [(10, 0), (-1, 2)])
def test_what_counts_nothing_is_refused(arguments):
    with pytest.raises(ValueError, match="required are at least 1 rank and 0 bytes"):
        traffic.all_reduce_bytes(*arguments)


def tree_messages(num_ranks):
    """Whole tensors sent by all ranks together, up a binomial tree and down again."""
    up = sum(
        1 for power in range(10) for rank in range(num_ranks) if rank % 2 ** (power + 1) == 2**power
    )
    return 2 * up


def doubling_messages(num_ranks):
    """Whole tensors sent by all ranks together: folds, swaps, unfolds."""
    power = max(2**k for k in range(10) if 2**k <= num_ranks)
    folds = 2 * len(range(power, num_ranks))
    swaps = sum(1 for rank in range(power) for k in range(10) if 2**k < power and rank ^ 2**k >= 0)
    return folds + swaps


@pytest.mark.parametrize("num_ranks", [1, 2, 3, 4, 5, 7, 8])
def test_formulas_of_other_all_reduces_are_the_mean_of_the_messages(num_ranks):
    payload = 12 * num_ranks  # so that the means are whole
    tree, doubling = (
        messages(num_ranks) * payload / num_ranks for messages in (tree_messages, doubling_messages)
    )
    assert traffic.tree_all_reduce_bytes(payload, num_ranks) == tree
    assert traffic.recursive_doubling_all_reduce_bytes(payload, num_ranks) == doubling
    if num_ranks > 1:  # the twin: with twice the ranks, each differs
        more = 2 * num_ranks
        assert traffic.tree_all_reduce_bytes(payload, more) != tree
        assert traffic.recursive_doubling_all_reduce_bytes(payload, more) != doubling
