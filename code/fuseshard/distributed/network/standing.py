"""Who is fastest in a race of all-reduces, and how far the model is off. No torch here."""

from collections.abc import Mapping, Sequence

from fuseshard.distributed.network.predict import PREDICTED
from fuseshard.distributed.network.records import AllReduceTimes, Link
from fuseshard.measure.statistics import paired_ratio


def leaders(times: Sequence[AllReduceTimes], payload_bytes: int) -> tuple[str, ...]:
    """Return the algorithms than which nothing was measured to be faster at a size.

    Args:
        times: of one run, so that the rounds are paired; one world size.
        payload_bytes: one of its sizes.

    Returns:
        Names as in `records.ALGORITHMS`, the smallest median first.

    Raises:
        ValueError: nothing was timed at that size.
    """
    there = sorted(
        (found for found in times if found.payload_bytes == payload_bytes),
        key=lambda found: found.median_s,
    )
    if not there:
        raise ValueError(
            f"leaders: payload_bytes is {payload_bytes}, required is one of "
            f"{sorted({found.payload_bytes for found in times})} (nothing else was timed); pass one"
        )
    best, *others = there
    level = [
        other for other in others if paired_ratio(best.rounds_s, other.rounds_s).verdict != "slower"
    ]
    return tuple(found.algorithm for found in (best, *level))


def over_predicted(
    times: Sequence[AllReduceTimes], links: Mapping[str, Link]
) -> dict[tuple[str, int], float]:
    """Divide each measured time by the predicted one.

    Args:
        times: of one world size; algorithms without a prediction are left out.
        links: algorithm -> the link by which it is predicted.

    Returns:
        (algorithm, bytes) -> measured / predicted; 1 where the model is right.
    """
    return {
        (found.algorithm, found.payload_bytes): found.median_s
        / PREDICTED[found.algorithm](
            links[found.algorithm], found.payload_bytes, found.world_size
        ).value
        for found in times
        if found.algorithm in PREDICTED
    }
