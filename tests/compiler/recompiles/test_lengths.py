"""Padded lengths and their waste. Oracle: enumeration of all choices; closed formulas. No torch."""

from itertools import combinations

import pytest

from fuseshard.compiler.recompiles.lengths import attention_flop, best_lengths, next_length, plan

SEQUENCES = [1, 2, 2, 3, 7, 7, 12, 30, 31, 64]


def all_choices(count: int) -> list[tuple[int, ...]]:
    *shorter, longest = sorted(set(SEQUENCES))
    return [(*some, longest) for n in range(count) for some in combinations(shorter, n)]


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_no_choice_wastes_less_than_the_best(count: int) -> None:
    best = best_lengths(SEQUENCES, count)
    assert len(best) == count
    least = min(plan(choice, SEQUENCES).done_flop for choice in all_choices(count))
    assert plan(best, SEQUENCES).done_flop == least


def test_more_lengths_than_occur_are_not_given() -> None:
    assert best_lengths([7, 7, 3], 5) == (3, 7)
    assert plan((3, 7), [7, 7, 3]).wasted_share == 0


def test_a_plan_counts_sequences_and_work() -> None:
    found = plan((4, 8), [1, 4, 5])
    assert found.sequences == (2, 1)
    assert found.useful_flop == attention_flop(1) + attention_flop(4) + attention_flop(5)
    assert found.done_flop == 2 * attention_flop(4) + attention_flop(8)
    assert found.wasted_share == pytest.approx(1 - 42 / 96)


@pytest.mark.parametrize(("length", "index"), [(0, 0), (1, 0), (4, 0), (5, 1), (8, 1)])
def test_a_sequence_goes_to_the_shortest_length_that_holds_it(length: int, index: int) -> None:
    assert next_length((4, 8), length) == index


def test_a_sequence_that_nothing_holds_is_refused() -> None:
    with pytest.raises(ValueError, match="got a sequence of 9, must be at most 8"):
        next_length((4, 8), 9)
