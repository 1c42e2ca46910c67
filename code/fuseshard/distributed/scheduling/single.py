"""Orders of the schedules that give each rank one stage: rank r holds stage r.

p = ranks, m = micro-batches. Checked against torch 2.13's runs, see the tests.
"""

from fuseshard.distributed.scheduling.records import Action, Kind


def naive(rank: int, num_ranks: int, num_micro_batches: int) -> list[Action]:
    """Take one micro-batch through the whole model and back before the next one starts.

    Args:
        rank: r, whose order is made.
        num_ranks: p; here of no influence.
        num_micro_batches: m.
    """
    return [Action(kind, rank, i) for i in range(num_micro_batches) for kind in _FORWARD_BACKWARD]


def gpipe(rank: int, num_ranks: int, num_micro_batches: int) -> list[Action]:
    """Run all forward passes, then all backward passes.

    Args:
        rank: r, whose order is made.
        num_ranks: p; here of no influence.
        num_micro_batches: m.

    Source:
        Huang et al. 2018, arXiv:1811.06965.
    """
    return [Action(kind, rank, i) for kind in _FORWARD_BACKWARD for i in range(num_micro_batches)]


def one_f_one_b(rank: int, num_ranks: int, num_micro_batches: int) -> list[Action]:
    """Fill the pipeline, then alternate: one forward, one backward.

    Rank r runs p - 1 - r forward passes ahead, as many as there are ranks after it.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m.

    Source:
        Harlap et al. 2018 (PipeDream), arXiv:1806.03377; with a flush after each step, as in
        Narayanan et al. 2021, arXiv:2104.04473.
    """
    ahead = min(num_ranks - 1 - rank, num_micro_batches)
    order = [Action("F", rank, i) for i in range(ahead)]
    for i in range(num_micro_batches):
        if ahead + i < num_micro_batches:
            order.append(Action("F", rank, ahead + i))
        order.append(Action("B", rank, i))
    return order


def zb_h1(rank: int, num_ranks: int, num_micro_batches: int) -> list[Action]:
    """Run 1F1B with its backward cut in two; weight halves fill what were bubbles.

    Rank r puts its weight halves off by r micro-batches. So each rank holds at most p micro-
    batches, as rank 0 does under 1F1B, and the late ranks have work left for the end.

    Args:
        rank: r, whose order is made.
        num_ranks: p.
        num_micro_batches: m.

    Source:
        Qi et al. 2023, section 2.1, arXiv:2401.10241.
    """
    ahead = min(num_ranks - 1 - rank, num_micro_batches)
    order = [Action("F", rank, i) for i in range(ahead)]
    for i in range(num_micro_batches):
        if ahead + i < num_micro_batches:
            order.append(Action("F", rank, ahead + i))
        order.append(Action("I", rank, i))
        if i >= rank:
            order.append(Action("W", rank, i - rank))
    done = max(num_micro_batches - rank, 0)
    return order + [Action("W", rank, i) for i in range(done, num_micro_batches)]


_FORWARD_BACKWARD: tuple[Kind, Kind] = ("F", "B")
