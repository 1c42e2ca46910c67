"""Who leads, and by how much the model is off. Oracle: rounds made to order. No ranks."""

import pytest

from fuseshard.distributed.network.records import AllReduceTimes, Link
from fuseshard.distributed.network.standing import leaders, over_predicted


def timed(algorithm, factor, *, size=400, world_size=2, jitter=0.0):
    rounds = tuple(factor * (1 + jitter * (-1) ** index * (index + 1)) for index in range(9))
    return AllReduceTimes(
        algorithm=algorithm, world_size=world_size, payload_bytes=size, rounds_s=rounds
    )


def test_one_that_is_faster_in_every_round_leads_alone():
    times = [timed("ring", 2.0), timed("tree", 1.0), timed("gloo", 3.0)]
    assert leaders(times, 400) == ("tree",)


def test_what_cant_be_told_apart_leads_together():
    times = [timed("ring", 1.0, jitter=0.05), timed("tree", 1.001), timed("gloo", 3.0)]
    assert set(leaders(times, 400)) == {"ring", "tree"}


def test_other_sizes_dont_count():
    times = [timed("ring", 2.0), timed("tree", 1.0, size=4)]
    assert leaders(times, 400) == ("ring",)
    with pytest.raises(ValueError, match=r"payload_bytes is 5, required is one of \[4, 400\]"):
        leaders(times, 5)


def test_the_factor_is_measured_over_predicted():
    link = Link.stated(1.0, 100.0)  # 1 s a message, 0.01 s a byte
    links = dict.fromkeys(("ring", "tree"), link)
    times = [timed("ring", 12.0), timed("tree", 5.0), timed("gloo", 1.0)]
    # ring: 2 messages of 200 bytes, 3 s each; tree: 2 of 400 bytes, 5 s each; gloo: no prediction
    assert over_predicted(times, links) == {("ring", 400): 2.0, ("tree", 400): 0.5}
