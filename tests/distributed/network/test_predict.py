"""Predictions. Oracle: every message of every algorithm, played with a clock a rank. No ranks."""

import dataclasses
import math

import pytest

from fuseshard.distributed.network import predict
from fuseshard.distributed.network.records import Estimate, Link

ALPHA, BETA, GAMMA = 3.0, 0.25, 0.0625  # s, s a byte: sums of few binary digits are exact
SIZES = (0, 4, 240, 4800)
WORLD_SIZES = (1, 2, 3, 4, 5, 6, 7, 8, 16, 17)


@pytest.fixture
def link():
    gamma = Estimate(value=GAMMA, low=GAMMA, high=GAMMA)
    return dataclasses.replace(Link.stated(ALPHA, 1 / BETA), gamma_s_per_byte=gamma)


class Clocks:
    """A clock a rank; a message begins when both ends are free and occupies both."""

    def __init__(self, size):
        self.at = [0.0] * size

    def together(self, messages, num_bytes, *, adds):
        """Messages (from, to) that leave at the same time; a rank may send and receive one."""
        starts = {m: max(self.at[m[0]], self.at[m[1]]) for m in messages}
        for (source, to), start in starts.items():
            end = start + ALPHA + BETA * num_bytes
            self.at[source] = max(self.at[source], end)
            self.at[to] = max(self.at[to], end)
        for _, to in messages if adds else ():
            self.at[to] += GAMMA * num_bytes


def ring(size, num_bytes, halves):
    clocks = Clocks(size)
    for adds in halves:
        for _ in range(size - 1):
            pairs = [(rank, (rank + 1) % size) for rank in range(size)]
            clocks.together(pairs, num_bytes / size, adds=adds)
    return max(clocks.at)


def tree(size, num_bytes):
    clocks, distances, distance = Clocks(size), [], 1
    while distance < size:
        distances.append(distance)
        distance *= 2
    for distance in distances:
        pairs = [(r + distance, r) for r in range(0, size - distance, 2 * distance)]
        clocks.together(pairs, num_bytes, adds=True)
    # What a rank above waits for is the slowest below it: the root's clock, in the worst case.
    for distance in reversed(distances):
        pairs = [(r, r + distance) for r in range(0, size - distance, 2 * distance)]
        clocks.together(pairs, num_bytes, adds=False)
    return max(clocks.at)


def doubling(size, num_bytes):
    clocks, power = Clocks(size), 1
    while 2 * power <= size:
        power *= 2
    clocks.together([(r, r - power) for r in range(power, size)], num_bytes, adds=True)
    distance = 1
    while distance < power:
        clocks.together([(r, r ^ distance) for r in range(power)], num_bytes, adds=True)
        distance *= 2
    clocks.together([(r - power, r) for r in range(power, size)], num_bytes, adds=False)
    return max(clocks.at)


@pytest.mark.parametrize("size", WORLD_SIZES)
@pytest.mark.parametrize("num_bytes", SIZES)
def test_predictions_are_what_the_messages_add_up_to(link, size, num_bytes):
    played = {
        predict.predict_ring_all_reduce: ring(size, num_bytes, (True, False)),
        predict.predict_ring_reduce_scatter: ring(size, num_bytes, (True,)),
        predict.predict_ring_all_gather: ring(size, num_bytes, (False,)),
        predict.predict_tree_all_reduce: tree(size, num_bytes),
        predict.predict_recursive_doubling_all_reduce: doubling(size, num_bytes),
    }
    for formula, seconds in played.items():
        assert formula(link, num_bytes, size).value == pytest.approx(seconds), formula.__name__
    assert predict.predict_send(link, num_bytes).value == ALPHA + BETA * num_bytes


def test_the_played_messages_would_show_a_wrong_number_of_rounds(link):
    """Twin: a formula of another number of ranks doesn't agree."""
    for formula, played in (
        (predict.predict_ring_all_reduce, ring(6, 240, (True, False))),
        (predict.predict_tree_all_reduce, tree(9, 240)),
        (predict.predict_recursive_doubling_all_reduce, doubling(5, 240)),
    ):
        wrong = 4 if formula is predict.predict_recursive_doubling_all_reduce else 8
        assert formula(link, 240, wrong).value != pytest.approx(played)


@pytest.mark.parametrize("size", WORLD_SIZES[3:])
def test_ring_and_tree_cross_where_it_is_said(link, size):
    cross = predict.ring_beats_tree_from_bytes(link, size)
    ring_time, tree_time = predict.predict_ring_all_reduce, predict.predict_tree_all_reduce
    assert ring_time(link, cross, size).value == pytest.approx(tree_time(link, cross, size).value)
    assert (
        ring_time(link, 1.1 * cross + 1, size).value < tree_time(link, 1.1 * cross + 1, size).value
    )
    assert ring_time(link, 0.9 * cross, size).value > tree_time(link, 0.9 * cross, size).value


@pytest.mark.parametrize("size", [2, 3])
def test_with_two_or_three_ranks_the_ring_never_loses(link, size):
    assert predict.ring_beats_tree_from_bytes(link, size) == 0


def test_an_interval_stays_above_zero_and_holds_its_number():
    wide = Link(
        alpha_s=Estimate(value=1.0, low=-1.0, high=2.0),
        beta_s_per_byte=Estimate(value=0.5, low=0.25, high=1.0),
    )
    predicted = predict.predict_tree_all_reduce(wide, 8, 2)
    assert (predicted.low, predicted.value, predicted.high) == (4.0, 10.0, 20.0)


@pytest.mark.parametrize(
    ("num_bytes", "size"), [(-1, 2), (4, 0), (math.nan, 2), (math.inf, 1), (4, 2.5)]
)
def test_what_counts_nothing_is_refused(link, num_bytes, size):
    for formula in (*predict.PREDICTED.values(), predict.predict_ring_all_gather):
        with pytest.raises(ValueError, match="at least 1 rank and 0 bytes"):
            formula(link, num_bytes, size)


def test_a_crossing_that_isnt_there_is_refused(link):
    for size in (1, 2.5):
        with pytest.raises(ValueError, match=f"world_size is {size}"):
            predict.ring_beats_tree_from_bytes(link, size)
    free = Estimate(value=0.0, low=0.0, high=0.0)
    with pytest.raises(ValueError, match=r"a byte costs 0\.0 s"):
        predict.ring_beats_tree_from_bytes(Link(alpha_s=link.alpha_s, beta_s_per_byte=free), 8)
