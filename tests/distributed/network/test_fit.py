"""The fit. Oracle: times made from a known line, with and without noise. No ranks."""

import math
import random

import pytest

from fuseshard.distributed.network.fit import fit_link
from fuseshard.distributed.network.records import Estimate, Link, LinkTimes

SIZES = (4, 1000, 60_000, 1_000_000)
ALPHA, BETA, GAMMA = 40e-6, 0.25e-9, 0.02e-9


def times(noise, num_rounds=12, sizes=SIZES):
    """Rounds of times; `noise(round, size, seconds)` changes each."""
    return LinkTimes(
        pattern="one way",
        sizes_bytes=sizes,
        rounds_s=tuple(
            tuple(noise(index, n, ALPHA + BETA * n) for n in sizes) for index in range(num_rounds)
        ),
        adding_rounds_s=tuple(tuple(1e-6 + GAMMA * n for n in sizes) for _ in range(num_rounds)),
        repeats=3,
    )


def test_an_exact_line_is_found_exactly():
    link = fit_link(times(lambda index, n, t: t))
    for estimate, true in (
        (link.alpha_s, ALPHA),
        (link.beta_s_per_byte, BETA),
        (link.gamma_s_per_byte, GAMMA),
    ):
        assert estimate.low == pytest.approx(true) == estimate.high
    assert link.verdict == "measured" and link.worst_misfit < 1e-9
    assert link.balance_bytes == pytest.approx(ALPHA / BETA)
    assert link.confidence > 0.99


def test_the_interval_holds_the_truth_under_noise():
    draw = random.Random(3)
    link = fit_link(times(lambda index, n, t: t * draw.uniform(0.9, 1.1)))
    assert link.alpha_s.low < ALPHA < link.alpha_s.high
    assert link.beta_s_per_byte.low < BETA < link.beta_s_per_byte.high
    assert link.verdict == "measured"


def test_one_spoilt_round_moves_no_number():
    link = fit_link(times(lambda index, n, t: 50 * t if index == 5 and n < 2000 else t))
    assert link.alpha_s.value == pytest.approx(ALPHA) == link.alpha_s.high
    assert link.beta_s_per_byte.value == pytest.approx(BETA)


def test_times_that_dont_depend_on_the_size_give_no_bandwidth():
    draw = random.Random(1)
    link = fit_link(times(lambda index, n, t: 1e-3 * draw.uniform(0.5, 1.5)))
    assert link.verdict == "no bandwidth measured"
    assert link.beta_s_per_byte.low <= 0 < link.alpha_s.low


def test_times_proportional_to_the_size_give_no_latency():
    draw = random.Random(1)
    sizes = (100_000, 300_000, 1_000_000)
    link = fit_link(times(lambda index, n, t: n * BETA * draw.uniform(0.8, 1.2), sizes=sizes))
    assert link.verdict == "no latency measured"


def test_a_bent_curve_is_told_by_its_misfit():
    bent = fit_link(times(lambda index, n, t: ALPHA + 1e-7 * math.sqrt(n)))
    assert bent.worst_misfit > 0.1
    assert bent.worst_misfit_bytes in SIZES


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"num_rounds": 7}, "got 7 rounds of 4 different sizes, required are at least 8 and 3"),
        ({"sizes": (4, 8)}, "12 rounds of 2 different sizes"),
    ],
)
def test_too_little_data_is_refused(change, complaint):
    with pytest.raises(ValueError, match=complaint):
        fit_link(times(lambda index, n, t: t, **change))


def test_times_that_cant_be_are_refused():
    for impossible in (0.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="0 s or less or one that isn't finite"):
            fit_link(times(lambda index, n, t, second=impossible: second))
    good = times(lambda index, n, t: t)
    for rows in (good.adding_rounds_s[:-1], ((1.0,),) * 12):
        changed = LinkTimes(**{**vars(good), "adding_rounds_s": rows})
        with pytest.raises(ValueError, match="rounds differ in their number of times"):
            fit_link(changed)


def test_stated_links_are_checked():
    link = Link.stated(2e-6, 50e9)
    assert (link.alpha_s.value, link.bandwidth_bytes_per_s) == (2e-6, 50e9)
    assert link.verdict == "measured" and link.balance_bytes == pytest.approx(100_000)
    for alpha_s, bandwidth in ((-1e-6, 1e9), (1e-6, 0), (1e-6, math.inf), (math.nan, 1e9)):
        with pytest.raises(ValueError, match=r"Link.stated: alpha_s is .* required are finite"):
            Link.stated(alpha_s, bandwidth)
    with pytest.raises(ValueError, match="an interval holds its number"):
        Estimate(value=1.0, low=2.0, high=3.0)
