"""Whether orders are complete and whether each rank can follow its own.

That ranks don't wait for each other in a circle is found when they are timed, see `timing`.
"""

from collections.abc import Iterator

from fuseshard.distributed.scheduling.records import Action, Orders, ScheduleError


def check_orders(orders: Orders) -> tuple[int, int]:
    """Refuse orders that leave something out, do it twice, or do it before it is possible.

    Args:
        orders: each rank's actions in order.

    Returns:
        number of stages, number of micro-batches.

    Raises:
        ScheduleError: names rank, action, what is wrong and what to change.
    """
    everything = [action for order in orders for action in order]
    if not everything or not all(orders):
        raise ScheduleError(
            f"schedule: got {len(orders)} ranks with {[len(order) for order in orders]} actions, "
            "required is at least one action on each (a rank without work is no part of the "
            "pipeline); leave the rank out or give it a stage"
        )
    for rank, order in enumerate(orders):
        for action in order:
            _check_action(rank, action)
    num_stages = _count("stage", {action.stage for action in everything})
    num_micro_batches = _count("micro-batch", {action.micro_batch for action in everything})
    _check_placement(orders)
    for rank, order in enumerate(orders):
        _check_order(rank, order)
    _check_complete(orders, num_micro_batches)
    return num_stages, num_micro_batches


def _check_action(rank: int, action: object) -> None:
    """Refuse what only looks like an action."""
    if isinstance(action, Action):
        indices = action.stage, action.micro_batch
        if action.kind in ("F", "B", "I", "W") and all(type(index) is int for index in indices):
            return
    raise ScheduleError(
        f"schedule: rank {rank} has {action!r}, required is an Action of kind F, B, I or W with "
        "whole numbers (they count stages and micro-batches); make it by Action('F', 0, 2), or "
        "write a table for read_schedule"
    )


def _count(what: str, found: set[int]) -> int:
    if found != set(range(len(found))):
        raise ScheduleError(
            f"schedule: the {what} indices are {sorted(found)}, required are 0 to "
            f"{len(found) - 1} (they count from 0 without a gap); renumber them"
        )
    return len(found)


def _check_placement(orders: Orders) -> None:
    rank_of: dict[int, int] = {}
    for rank, order in enumerate(orders):
        for action in order:
            if rank_of.setdefault(action.stage, rank) != rank:
                raise ScheduleError(
                    f"schedule: {action} stands on rank {rank}, but stage {action.stage} is on "
                    f"rank {rank_of[action.stage]}, required is one rank a stage (it holds the "
                    "stage's weights); move the action"
                )


def _check_order(rank: int, order: tuple[Action, ...]) -> None:
    """Each action once; forward, then backward; of a cut backward, first I, then W."""
    seen: set[Action] = set()
    for position, action in enumerate(order):
        for problem in _problems(action, seen):
            raise ScheduleError(
                f"schedule: rank {rank}, action {position + 1}, {action}: {problem}"
            )
        seen.add(action)


def _problems(action: Action, seen: set[Action]) -> Iterator[str]:
    forward, whole, half = (action._replace(kind=kind) for kind in ("F", "B", "I"))
    if action in seen:
        yield "it stands here a second time, required is once; remove one"
    if action.kind in "BI" and forward not in seen:
        yield f"required is {forward} before it (it needs what that leaves); swap them"
    if action.kind == "W" and half not in seen:
        yield f"required is {half} before it (W is the rest of a backward pass begun by I)"
    if (action.kind == "B" and half in seen) or (action.kind in "IW" and whole in seen):
        yield "required is either B or I and W (B does the work of both); keep one way"


def _check_complete(orders: Orders, num_micro_batches: int) -> None:
    done = {action for order in orders for action in order}
    for stage in sorted({action.stage for action in done}):
        for i in range(num_micro_batches):
            if Action("F", stage, i) not in done:
                missing = f"{Action('F', stage, i)}"
            elif Action("B", stage, i) in done or Action("W", stage, i) in done:
                continue
            else:
                missing = f"{Action('B', stage, i)}, or its halves I and W,"
            raise ScheduleError(
                f"schedule: {missing} is missing, required is every stage for every micro-batch, "
                "forward and backward (else a gradient lacks a part); add it"
            )
