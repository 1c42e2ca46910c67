"""Layer 1: what the chapter on pipelines draws. Oracle: the numbers that went in.

Each caption's claim is tested on data that contradict it too.
"""

from dataclasses import dataclass

import pytest

from fuseshard import palette
from fuseshard.distributed.schedules import SCHEDULES, Costs, Event, parse_orders, simulate
from fuseshard.distributed.scheduling.records import Action
from fuseshard.measure.provenance import environment
from fuseshard.show.chapters.pipeline import tables
from fuseshard.show.chapters.pipeline.lab import Trial, schedule_figure, schedule_lab
from fuseshard.show.chapters.pipeline.measured import (
    measured_chooser,
    measured_finding,
    measured_table,
)
from fuseshard.show.chapters.pipeline.names import bar_label, schedule_name
from fuseshard.show.chapters.pipeline.timelines import measured, simulated, steps_figure
from fuseshard.show.records import Number
from fuseshard.show.words import Word, word

AXIS = word("time (ms)")


@dataclass(frozen=True)
class Apart:
    """A difference of which only the number of epsilons matters."""

    in_epsilons: float
    absolute: float = 1e-17

    def is_rounding(self, num_terms: int) -> bool:
        return self.in_epsilons <= num_terms


@dataclass(frozen=True)
class Step:
    """A measured step made by hand: the simulated one, stretched and moved."""

    schedule: str
    runner: str
    stretch: float

    @property
    def simulated(self):
        return simulate(self.schedule, 2, 2, forward=1e-3, backward=2e-3)

    @property
    def events(self):
        return tuple(
            e._replace(start=9 + self.stretch * e.start, end=9 + self.stretch * e.end)
            for e in self.simulated.events
        )

    @property
    def total_s(self):
        return self.stretch * self.simulated.total_time

    @property
    def bubble_over_ideal(self):
        return self.simulated.bubble_over_ideal

    @property
    def over_simulated(self):
        return self.stretch - 1


def bars(figure):
    """Every bar of a figure: name of its trace, row, start, length."""
    return [
        (trace["name"], row, start, length)
        for trace in figure.figure["data"]
        for row, start, length in zip(trace["y"], trace["base"], trace["x"], strict=True)
    ]


def test_every_schedule_has_a_name_of_its_own():
    names = {str(schedule_name(name)) for name in SCHEDULES}
    assert len(names) == len(SCHEDULES)
    assert str(schedule_name("mine")) == "mine"


def test_a_prime_stands_for_each_earlier_stage_of_the_rank():
    assert bar_label(Action("F", 1, 12), [1, 6]) == "12"
    assert bar_label(Action("F", 6, 0), [1, 6]) == "0′"
    assert bar_label(Action("F", 8, 3), [0, 4, 8]) == "3′′"


def test_a_step_is_drawn_with_all_its_actions_and_all_its_waits():
    timeline = simulate("1f1b", 2, 2)
    found = bars(schedule_figure(timeline))
    assert ("forward", 0, 0.0, 1.0) in found
    assert ("backward, or its input half", 1, 2.0, 2.0) in found
    waits = [(row, start, length) for name, row, start, length in found if name == "waiting"]
    assert waits == [(0, 2.0, 2.0), (0, 6.0, 1.0), (1, 0.0, 1.0), (1, 7.0, 2.0)]
    assert len(found) == 8 + len(waits)


def test_no_wait_is_drawn_where_there_is_none():
    assert {name for name, *_ in bars(schedule_figure(simulate("gpipe", 1, 2)))} == {
        "forward",
        "backward, or its input half",
    }


def test_both_halves_have_their_own_colours():
    traces = schedule_figure(simulate("zb_h1", 2, 2)).figure["data"]
    colours = {trace["name"]: trace["marker"]["color"] for trace in traces}
    assert colours == {
        "forward": palette.FORWARD.light,
        "backward, or its input half": palette.BACKWARD.light,
        "weight half of a backward": palette.WEIGHT.light,
        "waiting": palette.IDLE.light,
    }


def test_the_caption_names_both_bases_and_the_memory():
    caption = str(schedule_figure(simulate("gpipe", 4, 8)).caption)
    assert caption.startswith("Bubble: 37.5 % of the ideal time, 27.3 % of the whole step.")
    assert caption.endswith("held by a rank: 8.")
    assert "rank: 5.5." in str(
        schedule_figure(simulate("interleaved_1f1b", 4, 8, chunks=2)).caption
    )


def test_steps_stand_below_each_other_on_one_axis():
    short, long = simulate("1f1b", 2, 2), simulate("naive", 2, 2)
    figure = steps_figure(
        "two-steps",
        [simulated(short, word("short")), simulated(long, word("long"))],
        axis=AXIS,
        caption=word("Two."),
    )
    layout = figure.figure["layout"]
    assert layout["yaxis"]["tickvals"] == [1, 2, 4, 5]
    assert [note["text"] for note in layout["annotations"]] == ["short", "long"]
    assert layout["xaxis"]["range"][1] == pytest.approx(12 * 1.01)
    # A step's waiting ends with the step, not with the axis.
    assert max(start + length for _, row, start, length in bars(figure) if row < 4) == 9.0


def test_measured_times_start_at_zero_in_the_axiss_unit():
    events = [Event(0, Action("F", 0, 0), 7.001, 7.003), Event(1, Action("F", 1, 0), 7.004, 7.005)]
    lanes = measured(events, word("measured"))
    times = [time for event in lanes.events for time in (event.start, event.end)]
    assert times == pytest.approx([0, 2, 3, 4], abs=1e-9)


def test_the_lab_has_a_choice_for_each_schedule_and_a_figure_for_each_setting():
    settings = [(2, Costs()), (4, Costs(backward=(1.3, 0.7), send=0.2))]
    trials = [
        Trial(timeline=simulate(name, 2, m, backward=costs.backward, send=costs.send), costs=costs)
        for name in ("gpipe", "zbv")
        for m, costs in settings
    ]
    lab = schedule_lab(trials, start=("zbv", 1))
    assert [str(label) for label, _ in lab.options] == ["GPipe", "ZBV"]
    assert lab.start == 1
    (_, gpipe), (_, zbv) = lab.options
    assert [str(label) for label, _ in gpipe.options] == [
        "2 ranks, 2 micro-batches; input half 1, weight half 1, message 0",
        "2 ranks, 4 micro-batches; input half 1.3, weight half 0.7, message 0.2",
    ]
    assert zbv.start == 1
    assert str(gpipe.options[0][1].caption).startswith("Bubble: 50.0 % of the ideal time, 33.3 %")


def test_schedules_are_compared_on_three_bases():
    table = tables.schedules_table([simulate("gpipe", 4, 8), simulate("zbv", 4, 8)])
    numbers = [[c.number for c in row if isinstance(c, Number)] for row in table.rows]
    assert numbers[0] == pytest.approx([1, 37.5, 300 / 11, 37.5, 8, 16])
    assert numbers[1] == pytest.approx([2, 6.25, 100 / 17, 0, 4, 32])


def test_differences_are_judged_over_all_who_ran_a_schedule():
    found = {
        "gpipe": {"by hand": Apart(3.0), "library": Apart(12.0)},
        "zbv": {"by hand": Apart(3.0), "library": Apart(12.5)},
        "zb_h1": {"by hand": Apart(3.0)},
    }
    table = tables.differences_table(found, num_terms=12)
    assert [str(row[-1]) for row in table.rows] == ["rounding", "bug", "rounding"]
    assert str(table.rows[2][2]) == "–"


def test_bytes_keep_all_their_digits():
    table = tables.bytes_table([tables.SentBytes("1f1b", 2, 0, 8, 14080, 14080.0, 15232)])
    numbers = [cell.number for cell in table.rows[0] if isinstance(cell, Number)]
    assert numbers == [2, 0, 8, 14080, 14080, 15232, 144.0]


@pytest.mark.parametrize(
    ("stretches", "said"),
    [((1.5, 1.1), "by +10 % to +50 %"), ((0.9, 1.2), "by −10 % to +20 %")],
)
def test_the_finding_says_how_far_measured_steps_are_from_simulated_ones(stretches, said):
    naive, other = (
        [Step(name, "by hand", stretch)]
        for name, stretch in zip(("naive", "1f1b"), stretches, strict=True)
    )
    finding = measured_finding({"naive": naive, "1f1b": other})
    assert isinstance(finding, Word)
    assert said in str(finding)
    expected = stretches[0] / stretches[1] * 12 / 9
    assert f"took {expected:.2f} times" in str(finding)
    assert str(finding).endswith("says 1.33")


def test_measured_steps_are_drawn_below_the_simulated_one_and_say_where_they_come_from():
    trials = {
        "naive": [Step("naive", "by hand", 1.5)],
        "1f1b": [Step("1f1b", "by hand", 1.0), Step("1f1b", "library", 2.0)],
    }
    choice = measured_chooser(trials, environment(), start="1f1b")
    assert choice.start == 1
    figure = choice.options[1][1]
    assert [note["text"] for note in figure.figure["layout"]["annotations"]] == [
        "simulated with the times by hand",
        "measured, by hand",
        "measured, torch's schedule",
    ]
    assert figure.origin is not None
    assert figure.origin.live
    rows = measured_table(trials, environment()).rows
    assert [cell.number for cell in rows[2][2:]] == pytest.approx([18.0, 9.0, 50.0, 50.0])


def test_orders_of_ones_own_are_drawn_like_the_named_ones():
    assert len(parse_orders("F0 B0")) == 1
    assert schedule_figure(simulate("1f1b", 1, 1), "own-step").name == "own-step"
