"""Orders of the schedules that deal stages round: rank r holds stages r, r + p, r + 2p, ...

p = ranks, v = stages on each, m = micro-batches. Checked against torch 2.13's tables, see the
tests.
"""

from fuseshard.distributed.scheduling.records import Action, Kind


def looped_bfs(rank: int, num_ranks: int, num_micro_batches: int, num_chunks: int) -> list[Action]:
    """Run all micro-batches through one stage before the next: breadth first.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m.
        num_chunks: v.

    Source:
        Lamy-Poirier 2022, arXiv:2211.05953; micro-batches go back in reverse order, as in torch.
    """
    stages = range(rank, num_ranks * num_chunks, num_ranks)
    order = [Action("F", stage, i) for stage in stages for i in range(num_micro_batches)]
    return order + [
        Action("B", stage, i)
        for stage in reversed(stages)
        for i in reversed(range(num_micro_batches))
    ]


def interleaved_1f1b(
    rank: int, num_ranks: int, num_micro_batches: int, num_chunks: int
) -> list[Action]:
    """Alternate forward and backward over several stages a rank: depth first.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m.
        num_chunks: v.

    Source:
        Narayanan et al. 2021, section 2.2, arXiv:2104.04473.
    """
    sizes = {
        "num_ranks": num_ranks,
        "num_micro_batches": num_micro_batches,
        "num_chunks": num_chunks,
    }
    forwards = _in_rounds("F", rank, **sizes)
    backwards = _in_rounds("B", rank, **sizes)
    ahead = _num_ahead(rank, num_ranks, num_micro_batches, num_chunks, step=2)
    order = forwards[:ahead]
    for i, backward in enumerate(backwards):
        order += [*forwards[ahead + i : ahead + i + 1], backward]
    return order


def interleaved_zb(
    rank: int, num_ranks: int, num_micro_batches: int, num_chunks: int
) -> list[Action]:
    """Interleave stages as 1F1B does, with the backward pass cut in two and less run ahead.

    Rank r puts its weight halves off by r actions; with one stage a rank this is ZB-H1.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m.
        num_chunks: v.

    Source:
        Qi et al. 2023, arXiv:2401.10241, with stages dealt round as torch does.
    """
    sizes = {
        "num_ranks": num_ranks,
        "num_micro_batches": num_micro_batches,
        "num_chunks": num_chunks,
    }
    forwards = _in_rounds("F", rank, **sizes)
    halves = _in_rounds("I", rank, **sizes)
    weights = [Action("W", stage, i) for _, stage, i in halves]
    ahead = _num_ahead(rank, num_ranks, num_micro_batches, num_chunks, step=1)
    order = forwards[:ahead]
    for i, half in enumerate(halves):
        order += [*forwards[ahead + i : ahead + i + 1], half]
        if i >= rank:
            order.append(weights[i - rank])
    return order + weights[max(len(halves) - rank, 0) :]


def round_length(num_ranks: int, num_micro_batches: int) -> int | None:
    """Return how many micro-batches pass one stage before the rank turns to its next one.

    Args:
        num_ranks: p.
        num_micro_batches: m.

    Returns:
        p where p divides m; else m cut into floor(m/p) equal rounds; None where that is impossible.
    """
    num_rounds = max(1, num_micro_batches // num_ranks)
    return None if num_micro_batches % num_rounds else num_micro_batches // num_rounds


def _in_rounds(
    kind: Kind, rank: int, *, num_ranks: int, num_micro_batches: int, num_chunks: int
) -> list[Action]:
    """All of a rank's actions of one kind: round by round, in each stage by stage."""
    length = round_length(num_ranks, num_micro_batches)
    assert length is not None  # `catalog` has refused it
    stages = range(rank, num_ranks * num_chunks, num_ranks)
    return [
        Action(kind, stage, i)
        for first in range(0, num_micro_batches, length)
        for stage in (stages if kind == "F" else reversed(stages))
        for i in range(first, first + length)
    ]


def _num_ahead(
    rank: int, num_ranks: int, num_micro_batches: int, num_chunks: int, *, step: int
) -> int:
    """Forward passes before the first backward: rounds of all stages but one, and `step` a rank."""
    length = round_length(num_ranks, num_micro_batches) or 0
    ahead = (num_chunks - 1) * length + step * (num_ranks - 1 - rank)
    return min(ahead, num_chunks * num_micro_batches)
