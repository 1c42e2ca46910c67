"""One record of each kind, and measurements with known verdicts, for the tests of `show`."""

import pytest

from fuseshard.measure import records as measured
from fuseshard.palette import COMPILED, EAGER
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.charts.sweep import sweep_figure
from fuseshard.show.charts.timeline import Span, rank_lane, timeline_figure
from fuseshard.show.choices import choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.planner.widget import planner_widget
from fuseshard.show.records import Check, Origin
from fuseshard.show.sources import annotated_source, lines, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import plain, word
from tests.book.toy.kit.toykit import gpus

VERDICTS = {"f": "faster", "s": "slower", "n": "no difference measured"}
RATIOS = {"f": 0.5, "s": 2.0, "n": 1.0}


def make_environment(**changes):
    """An environment without a GPU."""
    fields = {
        "date_utc": "2026-03-04T05:06:07Z",
        "python": "3.11.2",
        "torch": "2.13.0",
        "triton": None,
        "compiler": "g++ 12.2.0",
        "system": "Linux x86_64",
        "cpu": "Some CPU",
        "cpu_capability": "AVX2",
        "num_cores": 2,
        "num_threads": 2,
        "gpu": None,
        "num_gpus": 0,
        "driver": None,
        "cuda": None,
        "commit": "abc1234",
        "is_modified": False,
    }
    return measured.Environment(**(fields | changes))


def make_timing(name, median_s, ratio=None):
    """A timing whose quartiles are 10 % off its median."""
    return measured.Timing(
        name=name,
        first_call_s=40 * median_s,
        rounds_s=(median_s,),
        calls_per_round=3,
        median_s=median_s,
        low_s=0.9 * median_s,
        high_s=1.1 * median_s,
        ratio=ratio,
    )


def make_comparison(letter, eager_s=1e-3, **settings):
    """Eager against compiled, with the verdict that a letter of VERDICTS stands for."""
    ratio = measured.Ratio(
        median=RATIOS[letter],
        low=0.9 * RATIOS[letter],
        high=1.1 * RATIOS[letter],
        confidence=0.95,
        verdict=VERDICTS[letter],
    )
    compiled = make_timing("compiled", eager_s * RATIOS[letter], ratio)
    timings = (make_timing("eager", eager_s), compiled)
    return measured.Comparison(timings=timings, num_threads=1, **settings)


def make_sweep(letters, **settings):
    """A sweep over sizes 1, 4, 16, ... with one verdict a size, e.g. "snff"."""
    points = tuple(
        measured.SweepPoint(size=4**i, comparison=make_comparison(letter, 1e-5 * 3**i))
        for i, letter in enumerate(letters)
    )
    return measured.Sweep(size_name="rows", points=points, **settings)


@pytest.fixture
def environment():
    return make_environment()


@pytest.fixture
def live():
    return measured.Origin(is_live=True, environment=make_environment())


@pytest.fixture
def table():
    builder = TableBuilder("times", word("Times of {n} variants.", n=2))
    builder.texts(word("Variant"), [word("eager"), plain("aot_eager")])
    builder.code(word("Operator"), ["aten::addmm", "a < b & c"])
    builder.seconds(word("Median"), [0.0012, 0.0345])
    builder.counts(word("Sent"), [1024, None], unit="B")
    origin = Origin(True, word("Measured here."), {"torch": "2.13.0"})
    return builder.build(notes=[word("One thread.")], origin=origin)


@pytest.fixture
def figure(table):
    drawing = FigureBuilder("growth")
    drawing.x_axis(word("rows"))
    drawing.y_axis(word("time (ms)"))
    drawing.line(word("eager"), [1, 2], [0.5, 0.7], EAGER, spread=([0.4, 0.6], [0.6, 0.8]))
    drawing.line(word("compiled"), [1, 2], [0.6, 0.6], COMPILED)
    drawing.note(1.5, 0.6, word("here they cross"))
    return drawing.build(caption=word("It grows."), alt=word("Two lines."), table=table)


@pytest.fixture
def source():
    code = "int main() {\n  return exp(1) < 3;\n}\n"
    notes = [on(r"exp\(", word("the exponential")), lines(1, 3, word("all of it"))]
    return annotated_source("generated", word("A program"), code, language="cpp", notes=notes)


@pytest.fixture
def choice(table, source):
    return choose("views", word("View"), [(word("times"), table), (word("code"), source)])


@pytest.fixture
def check():
    return Check("bubble", "wrong", word("{what}: too large.", what=word("The bubble")))


@pytest.fixture
def charts(live):
    """Every chart that chapters share."""
    spans = [
        Span(rank_lane(0), 0.0, 1e-3, "forward", plain("0")),
        Span(rank_lane(1), 1e-3, 2e-3, "backward"),
        Span(rank_lane(0), 1e-3, 3e-3, "idle"),
        Span(rank_lane(1), 2e-3, 3e-3, "communication"),
        Span(rank_lane(1), 3e-3, 4e-3, "update"),
    ]
    subject = word("Linear and softmax")
    return [
        sweep_figure("sweep", make_sweep("ssnf", origin=live), subject=subject, size=word("rows")),
        comparison_figure("pair", make_comparison("f", origin=live), subject=subject),
        timeline_figure("lanes", spans, caption=word("They wait."), alt=word("Two lanes.")),
    ]


@pytest.fixture
def records(table, figure, source, choice, check, charts):
    """A record of every kind, and every chart."""
    planner = planner_widget("plan", model="minigpt", cluster="h200x8")
    return [table, figure, source, choice, check, gpus.explorer("softmax"), planner, *charts]


@pytest.fixture
def make():
    """The functions above, for tests that need measurements of their own."""

    class Make:
        environment = staticmethod(make_environment)
        comparison = staticmethod(make_comparison)
        sweep = staticmethod(make_sweep)

    return Make
