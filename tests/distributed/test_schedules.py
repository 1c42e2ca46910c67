"""Layer 1. Oracle: closed formulas of the papers, and limits that no schedule passes."""

import itertools
import math

import pytest

from fuseshard.compiler.child import run_script
from fuseshard.distributed.schedules import SCHEDULES, ScheduleError, simulate, simulate_orders

SIZES = list(itertools.product((1, 2, 3, 4, 7), (1, 2, 5, 8, 12)))
COSTS = [(1.0, 2.0), (0.7, 1.1), (3.0, 2.0)]


@pytest.mark.parametrize(("p", "m"), SIZES)
@pytest.mark.parametrize(("forward", "backward"), COSTS)
@pytest.mark.parametrize("name", ["gpipe", "1f1b"])
def test_gpipe_and_1f1b_have_the_same_bubble(name, p, m, forward, backward):
    timeline = simulate(name, p, m, forward=forward, backward=backward)
    assert timeline.bubble_over_ideal == pytest.approx((p - 1) / m)
    assert timeline.bubble_over_total == pytest.approx((p - 1) / (m + p - 1))
    assert timeline.ideal_time == pytest.approx(m * (forward + backward))


@pytest.mark.parametrize(("p", "m"), SIZES)
def test_naive_leaves_all_ranks_but_one_idle(p, m):
    timeline = simulate("naive", p, m)
    assert timeline.bubble_over_ideal == pytest.approx(p - 1)
    assert timeline.bubble_over_total == pytest.approx((p - 1) / p)
    assert timeline.peak_activations == (1,) * p


@pytest.mark.parametrize("chunks", [1, 2, 3, 4])
@pytest.mark.parametrize(("p", "m"), [(1, 3), (2, 4), (3, 6), (4, 8), (4, 16), (5, 10)])
@pytest.mark.parametrize("name", ["interleaved_1f1b", "looped_bfs"])
def test_interleaving_divides_the_bubble_by_the_chunks(name, p, m, chunks):
    timeline = simulate(name, p, m, chunks=chunks, forward=0.7, backward=1.3)
    assert timeline.bubble_over_ideal == pytest.approx((p - 1) / (chunks * m))


@pytest.mark.parametrize(("p", "m"), [(2, 4), (3, 6), (4, 8), (5, 11)])
@pytest.mark.parametrize("halves", [(1.0, 1.0), (1.2, 0.8), (1.1, 0.6)])
def test_zb_h1_waits_for_forward_and_input_less_weight(p, m, halves):
    timeline = simulate("zb_h1", p, m, forward=1.0, backward=halves)
    waits = (p - 1) * (1.0 + halves[0] - halves[1])
    assert timeline.total_time - timeline.ideal_time == pytest.approx(waits)
    assert max(timeline.peak_activations) == p


@pytest.mark.parametrize(("p", "m"), [(2, 4), (3, 6), (4, 8), (4, 16), (6, 13)])
def test_zbv_has_no_bubble_between_a_ranks_first_and_last_action_if_all_take_equally_long(p, m):
    timeline = simulate("zbv", p, m, forward=1.0, backward=(1.0, 1.0))
    assert timeline.bubble_in_span == pytest.approx(0.0)
    assert timeline.bubble_over_ideal == pytest.approx((p - 1) / 2 / (3 * m))
    assert max(timeline.peak_activations) == p
    # Positive control: the property hangs on the equal times.
    assert simulate("zbv", p, m, backward=(1.2, 0.8)).bubble_in_span > 0.01


@pytest.mark.parametrize(("p", "m"), SIZES)
def test_peaks_of_gpipe_and_1f1b(p, m):
    assert simulate("gpipe", p, m).peak_activations == (m,) * p
    assert simulate("1f1b", p, m).peak_activations == tuple(min(m, p - r) for r in range(p))


def test_interleaving_is_not_free():
    plain, cut = simulate("1f1b", 4, 8), simulate("interleaved_1f1b", 4, 8, chunks=2)
    assert cut.peak_activations == (5.5, 4.5, 3.5, 2.5)
    assert plain.messages == (8, 16, 16, 8)
    assert cut.messages == (24, 32, 32, 24)


@pytest.mark.parametrize("name", SCHEDULES)
def test_no_schedule_is_better_than_ideal_or_holds_more_than_everything(name):
    for p, m in ((1, 2), (2, 4), (4, 8), (3, 9)):
        timeline = simulate(name, p, m, backward=(0.9, 1.3), send=0.1)
        bases = timeline.bubble_over_ideal, timeline.bubble_over_total
        assert 0 <= bases[1] <= bases[0]
        assert bases[0] == pytest.approx(bases[1] / (1 - bases[1]))
        assert all(0 < peak <= m for peak in timeline.peak_activations)
        assert timeline.busy_times == pytest.approx([m * (1 + 2.2)] * p)
        rounding = 1e-9
        assert timeline.ideal_time <= timeline.longest_span + rounding
        assert timeline.longest_span <= timeline.total_time + rounding


def test_idle_and_busy_fill_the_step():
    timeline = simulate("zb_h1", 4, 8, send=0.25)
    idle = math.fsum(end - start for _, start, end in timeline.idle)
    assert idle + sum(timeline.busy_times) == pytest.approx(4 * timeline.total_time)


def test_one_schedule_named_or_composed_gives_the_same_times():
    named = simulate("zbv", 3, 6)
    assert simulate_orders(named.orders).starts == named.starts


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("1f1B", 2, 4), "schedule is '1f1B', required is one of naive, gpipe"),
        ((None, 2, 4), "schedule is None"),
        (("gpipe", 0, 4), "stages is 0, required is a whole number of at least 1"),
        (("gpipe", 2, -1), "micro_batches is -1"),
        (("gpipe", 2.0, 4), "stages is 2.0"),
        (("gpipe", True, 4), "stages is True"),
        (("gpipe", 2, math.nan), "micro_batches is nan"),
        (("interleaved_1f1b", 4, 10, 0), "chunks is 0"),
        (("gpipe", 2, 4, 2), "chunks is 2, gpipe takes 1"),
        (("zbv", 2, 4, 3), "chunks is 3, zbv takes 2"),
        (("interleaved_1f1b", 4, 9, 2), "micro_batches is 9, .* multiple of 2 .*use 8"),
        (("interleaved_zb", 4, 13, 2), "multiple of 3"),
        (("dualpipev", 4, 7), "micro_batches is 7, .* at least 8"),
    ],
)
def test_numbers_that_cannot_work_are_refused(arguments, complaint):
    schedule, stages, micro_batches, *chunks = arguments
    options = {"chunks": chunks[0]} if chunks else {}
    with pytest.raises(ScheduleError, match=complaint):
        simulate(schedule, stages, micro_batches, **options)


@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", None, True, 10**400])
@pytest.mark.parametrize("name", ["forward", "backward"])
def test_times_that_are_no_times_are_refused(name, value):
    with pytest.raises(ScheduleError, match=f"{name} is .*, required is a finite number above 0"):
        simulate("gpipe", 2, 4, **{name: value})


def test_halves_and_sends_that_are_no_times_are_refused():
    with pytest.raises(ScheduleError, match="one time or two"):
        simulate("zbv", 2, 4, backward=(1.0, 1.0, 1.0))
    with pytest.raises(ScheduleError, match="backward is 0, required"):
        simulate("zbv", 2, 4, backward=(1.0, 0))
    with pytest.raises(
        ScheduleError, match=r"send is -0\.5, required is a finite number 0 or more"
    ):
        simulate("zbv", 2, 4, send=-0.5)


@pytest.mark.parametrize(
    "costs", [{"forward": 1e308}, {"send": 1e17}, {"forward": 5e-324, "backward": 5e-324}]
)
def test_times_that_cannot_be_added_up_are_refused(costs):
    assert simulate("zbv", 2, 4, send=1e6).ideal_time == pytest.approx(12)  # the control
    with pytest.raises(ScheduleError, match="can't be added up, required are times of similar"):
        simulate("zbv", 2, 4, **costs)


def test_rounds_that_micro_batches_do_fill_are_taken():
    assert simulate("interleaved_1f1b", 4, 10, chunks=2).micro_batches == 10
    assert simulate("interleaved_1f1b", 4, 3, chunks=2).micro_batches == 3


LARGE = """
import time
from fuseshard.distributed.schedules import SCHEDULES, simulate
start = time.process_time()
for name, traits in SCHEDULES.items():
    chunks = 2 if traits.most_chunks is None else 1
    assert simulate(name, 64, 512, chunks=chunks).bubble_over_total < 1
print(time.process_time() - start)
"""


def test_large_pipelines_under_all_schedules_are_simulated_in_seconds():
    # In a process of its own: here, thousands of tests have left garbage to be gone through.
    done = run_script(LARGE)
    assert (done.exit_code, done.error) == (0, "")
    assert float(done.output) < 5.0
