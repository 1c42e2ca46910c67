"""What the answers of the chapter on pipeline parallelism are tested with."""

from fuseshard.checks.common import (
    check_function,
    check_number,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.distributed.schedules import Costs, ScheduleError, Timeline, read_schedule
from fuseshard.distributed.scheduling.single import one_f_one_b
from fuseshard.show.numbers import number
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

BUBBLE = "pipeline-bubble"
MEMORY = "pipeline-memory"
ORDER = "pipeline-order"
OWN = "pipeline-compose-own"

# Of the exercises' texts.
_BUBBLE_RANKS, _BUBBLE_SHARE = 8, 0.1
_MEMORY_RANKS, _MEMORY_MICRO_BATCHES, _MEMORY_RANK, _MICRO_BATCH_GB = 16, 64, 4, 0.5
_OWN_RANKS, _OWN_MICRO_BATCHES, _OWN_TIME, _OWN_HELD = 2, 3, 10.0, 2
_OWN_COSTS = Costs(forward=1.0, backward=(1.0, 1.0))


def check_bubble(answer: object) -> Check:
    """Check the least number of micro-batches with which 8 ranks wait for 10 % of the step.

    Args:
        answer: a whole number, or `...`.
    """
    hops = _BUBBLE_RANKS - 1
    over_ideal = hops / _BUBBLE_SHARE
    slips: dict[float, Word] = {
        over_ideal: word("That is 10 % of the ideal time, not of the whole step."),
        over_ideal + 1: word("More than needed, and by the other base."),
        _BUBBLE_RANKS / _BUBBLE_SHARE: word("How many other ranks does a rank wait for?"),
        _BUBBLE_RANKS * (1 / _BUBBLE_SHARE - 1): word("How many other ranks does a rank wait for?"),
        over_ideal - hops - 1: word("One fewer than that leaves a little more than 10 %."),
    }
    return check_number(
        BUBBLE,
        answer,
        round(over_ideal - hops),
        what=word("Number of micro-batches"),
        relative_tolerance=0,
        slips=slips,
    )


def check_memory(answer: object) -> Check:
    """Check the GB that rank 4 of 16 holds less under 1F1B than under GPipe.

    Args:
        answer: a number in GB, or `...`.
    """
    held = _MEMORY_RANKS - _MEMORY_RANK
    saved = (_MEMORY_MICRO_BATCHES - held) * _MICRO_BATCH_GB
    all_of_them = _MEMORY_MICRO_BATCHES * _MICRO_BATCH_GB
    slips: dict[float, Word] = {
        all_of_them: word("That is what GPipe holds."),
        held * _MICRO_BATCH_GB: word("That is what 1F1B holds."),
        all_of_them - _MEMORY_RANKS * _MICRO_BATCH_GB: word("That is the difference on rank 0."),
        all_of_them - (held + 1) * _MICRO_BATCH_GB: word("Ranks count from 0."),
        all_of_them - (held - 1) * _MICRO_BATCH_GB: word(
            "A rank also holds the micro-batch that it works on."
        ),
        _MEMORY_MICRO_BATCHES - held: word("That is a number of micro-batches; convert it to GB."),
    }
    what = word("Saved on rank 4, in GB")
    return check_number(MEMORY, answer, saved, what=what, slips=slips)


def order_of(rank: int, num_ranks: int, num_micro_batches: int) -> list[str]:
    """Return a rank's order under 1F1B, without its stage.

    Args:
        rank: whose order.
        num_ranks: ranks in the pipeline.
        num_micro_batches: micro-batches in a step.
    """
    order = one_f_one_b(rank, num_ranks, num_micro_batches)
    return [f"{action.kind}{action.micro_batch}" for action in order]


def check_order(answer: object) -> Check:
    """Check a function like `order_of`.

    Args:
        answer: function of (rank, num_ranks, num_micro_batches), or `...`.
    """
    cases = [(0, 1, 2), (1, 2, 3), (0, 2, 3), (0, 4, 6), (2, 4, 6), (0, 4, 2), (1, 5, 3)]
    return check_function(ORDER, answer, cases, order_of)


def check_own(answer: object) -> Check:
    """Check a table of a reader's own: complete, possible, short, and lean.

    Args:
        answer: a table for `read_schedule`, or `...`.
    """
    if is_open(answer):
        return open_question(OWN)
    if not isinstance(answer, str):
        kind = type(answer).__name__
        return wrong(OWN, word("This needs a table as text, got a {kind}.", kind=kind))
    try:
        timeline = read_schedule(answer, costs=_OWN_COSTS)
    except ScheduleError as error:
        return wrong(OWN, word("The simulator says: {problem}", problem=str(error)))
    hint = _own_hint(timeline)
    if hint is not None:
        return wrong(OWN, hint)
    message = word("Right: {time} units of time.", time=number(timeline.total_time))
    return right(OWN, message)


def _own_hint(timeline: Timeline) -> Word | None:
    """What is off with a schedule that runs; None if nothing is."""
    stages = {action.stage for order in timeline.orders for action in order}
    found = timeline.stages, len(stages), timeline.micro_batches
    if found != (_OWN_RANKS, _OWN_RANKS, _OWN_MICRO_BATCHES):
        return word(
            "It has {ranks} ranks, {stages} stages and {micro_batches} micro-batches: not the "
            "task.",
            ranks=found[0],
            stages=found[1],
            micro_batches=found[2],
        )
    if timeline.total_time > _OWN_TIME + 1e-9:
        time = number(timeline.total_time)
        return word("It runs, and takes {time} units: still too long.", time=time)
    if max(timeline.peak_activations) > _OWN_HELD:
        held = number(max(timeline.peak_activations))
        return word("Short enough, but a rank holds {held} micro-batches.", held=held)
    return None
