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
