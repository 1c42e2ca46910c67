"""One place for two machines (pure data). Oracle: what is drawn for each machine alone."""

import json
from dataclasses import dataclass

import pytest

from fuseshard.measure.experiments import Outcome
from fuseshard.measure.records import Origin
from fuseshard.palette import FORWARD
from fuseshard.show.beside.draw import beside, options_of, together
from fuseshard.show.cards import origin_line
from fuseshard.show.charts.comparison import comparison_figure
from fuseshard.show.choices import Choice, Choosable, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.records import Figure, Source, Table
from fuseshard.show.sources import annotated_source
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word
from tests.show.conftest import make_comparison, make_environment

MACHINES = plain("H200"), plain("RTX 4090")


@dataclass(frozen=True, kw_only=True)
class Result:
    """One machine's times, by size."""

    seconds: dict[str, float]
    origin: Origin | None


def result(gpu: str, **seconds: float) -> Result:
    environment = make_environment(gpu=gpu, num_gpus=1, cuda="13.0")
    return Result(seconds=seconds, origin=Origin(is_live=False, environment=environment))


OURS = result("NVIDIA H200", a=2e-3, b=3e-3)
THEIRS = result("NVIDIA GeForce RTX 4090", a=5e-3, b=7e-3)


def outcome(available: Result | None, second: Result | None = None) -> Outcome[Result]:
    return Outcome(
        experiment_id="x.y",
        state="recorded" if available else "not recorded yet",
        note="",
        available=available,
        beside=second,
    )


def draw_figure(made: Result, size: str = "a") -> Figure:
    comparison = make_comparison("f", made.seconds[size], origin=made.origin)
    return comparison_figure(f"pair-{size}", comparison, subject=word("Linear"))


def draw_table(made: Result) -> Table:
    table = TableBuilder("times", word("Times."))
    table.texts(word("Size"), [plain(size) for size in made.seconds])
    table.seconds(word("Median"), list(made.seconds.values()))
    return table.build(origin=origin_line(made.origin))


def draw_source(made: Result) -> Source:
    text = f"{len(made.seconds)} sizes\n"
    caption = word("A log")
    return annotated_source("log", caption, text, language="text", origin=origin_line(made.origin))


def draw_choice(made: Result, control: str = "slider") -> Choice:
    options = [(plain(size), draw_figure(made, size)) for size in made.seconds]
    start = len(options) - 1
    return choose("sizes", word("Size"), options, control=control, start=start)


def draw_stacked(made: Result) -> Figure:
    drawing = FigureBuilder("stack")
    drawing.x_axis(word("size"))
    drawing.layout["barmode"] = "stack"
    seconds = list(made.seconds.values())
    drawing.bars(word("forward"), [1, 2], seconds, FORWARD, hover=["a", "b"])
    return drawing.build(
        caption=word("C."), alt=word("A."), table=draw_table(made), origin=origin_line(made.origin)
    )


KINDS = [draw_figure, draw_table, draw_source, draw_choice, draw_stacked]


def content(shown: object) -> str:
    return json.dumps(shown._repr_mimebundle_())  # type: ignore[attr-defined]


@pytest.mark.parametrize("draw", KINDS)
def test_one_result_alone_is_drawn_to_the_byte_as_before(draw) -> None:
    assert content(beside(outcome(OURS), draw)) == content(draw(OURS))
    assert content(beside(outcome(OURS, THEIRS), draw)) != content(draw(OURS))


@pytest.mark.parametrize("draw", KINDS)
def test_both_origins_stand_below_what_is_drawn_of_two(draw) -> None:
    page = beside(outcome(OURS, THEIRS), draw)._repr_mimebundle_()["text/html"]
    alone = beside(outcome(OURS), draw)._repr_mimebundle_()["text/html"]
    for gpu, is_first in (("NVIDIA H200,", True), ("NVIDIA GeForce RTX 4090,", False)):
        assert f"Recorded, not measured here: {gpu}" in page
        assert (f"Recorded, not measured here: {gpu}" in alone) == is_first


def test_what_is_not_recorded_says_how_to_record_it() -> None:
    told = beside(outcome(None), draw_table)
    assert isinstance(told, Word) and "make record" in str(told)


def test_each_kind_becomes_what_can_hold_two() -> None:
    both = outcome(OURS, THEIRS)
    assert isinstance(beside(both, draw_figure), Figure)
    assert isinstance(beside(both, draw_table), Table)
    assert isinstance(beside(both, draw_choice), Choice)
    apart = beside(both, draw_stacked)
    assert isinstance(apart, Choice)
    assert [str(label) for label, _ in apart.options] == ["H200", "RTX 4090"]
    assert [record.name for _, record in apart.options] == ["stack", "stack-beside"]


def test_a_choice_is_joined_option_by_option_and_stays_a_slider() -> None:
    joined = beside(outcome(OURS, THEIRS), draw_choice)
    assert isinstance(joined, Choice)
    assert [str(label) for label, _ in joined.options] == ["a", "b"]
    assert (joined.control, joined.start, joined.name) == ("slider", 1, "sizes")
    second_names = [t["name"] for _, f in joined.options for t in f.figure["data"]]
    assert second_names == ["H200", "H200", "RTX 4090", "RTX 4090"] * 2


def test_options_that_cant_be_joined_stand_for_each_machine() -> None:
    def draw(made: Result) -> Choice:
        options = [(plain(size), draw_stacked(made)) for size in ("a", "b")]
        named = [
            (label, Figure(**{**vars(figure), "name": f"stack-{label}"}))
            for label, figure in options
        ]
        return choose("stacks", word("Size"), named, control="slider", start=1)

    joined = beside(outcome(OURS, THEIRS), draw)
    assert isinstance(joined, Choice)
    labels = [str(label) for label, _ in joined.options]
    assert labels == ["a, H200", "a, RTX 4090", "b, H200", "b, RTX 4090"]
    assert (joined.control, labels[joined.start]) == ("select", "b, H200")


@pytest.mark.parametrize(
    ("ours", "theirs", "labels"),
    [
        ("1 16", "1 4 16", ["1", "4, RTX 4090", "16"]),
        ("1 4 16", "1 16", ["1", "4, H200", "16"]),
        ("4 16", "1 4", ["1, RTX 4090", "4", "16, H200"]),
        ("1 32", "1 16 64", ["1", "16, RTX 4090", "32, H200", "64, RTX 4090"]),
    ],
)
def test_an_option_of_one_machine_keeps_its_place_on_the_scale(
    ours: str, theirs: str, labels: list[str]
) -> None:
    first, second = (
        Result(seconds={f"{size}": 1e-3 * int(size) for size in sizes.split()}, origin=who.origin)
        for sizes, who in ((ours, OURS), (theirs, THEIRS))
    )
    joined = together(draw_choice(first), draw_choice(second), MACHINES)
    assert isinstance(joined, Choice)
    assert [str(label) for label, _ in joined.options] == labels
    # The slider starts at the first machine's last size, as its own choice does.
    assert labels[joined.start].partition(",")[0] == ours.rpartition(" ")[2]


def test_a_figure_and_a_choice_are_shown_one_machine_at_a_time() -> None:
    joined = together(draw_figure(OURS), draw_choice(THEIRS), MACHINES)
    assert isinstance(joined, Choice)
    labels = [str(label) for label, _ in joined.options]
    assert labels == ["H200", "a, RTX 4090", "b, RTX 4090"]


def test_equal_sources_stand_once_and_different_ones_for_each_machine() -> None:
    alike = beside(outcome(OURS, THEIRS), draw_source)
    assert isinstance(alike, Source)
    assert alike.second_origin is not None and "RTX 4090" in str(alike.second_origin.summary)
    other = result("NVIDIA GeForce RTX 4090", a=1.0)
    assert isinstance(beside(outcome(OURS, other), draw_source), Choice)


def test_where_one_machine_has_nothing_to_draw_the_main_one_is_shown() -> None:
    def draw(made: Result) -> Table | Word:
        return draw_table(made) if made.seconds else word("nothing")

    empty = result("NVIDIA T4")
    assert beside(outcome(OURS, empty), draw) == draw(OURS)
    assert beside(outcome(empty, OURS), draw) == word("nothing")


def test_a_result_of_unknown_origin_is_refused_beside_another() -> None:
    nobodys = Result(seconds={"a": 1.0, "b": 1.0}, origin=None)
    assert beside(outcome(nobodys), draw_table) == draw_table(nobodys)
    with pytest.raises(ValueError, match="got a Result without an origin"):
        beside(outcome(nobodys, OURS), draw_table)


def test_what_is_joined_fits_into_a_larger_choice() -> None:
    shown: list[tuple[Choosable | Choice, list[str]]] = [
        (draw_table(OURS), ["on a GPU"]),
        (draw_choice(OURS), ["on a GPU, a", "on a GPU, b"]),
    ]
    for record, labels in shown:
        options = options_of(word("on a GPU"), record)
        assert [str(label) for label, _ in options] == labels
