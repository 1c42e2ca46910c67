"""Every GPU experiment of the book, with a reader's file beside it (no ranks, no compiling).

Oracle: the book's own recording, of which the reader's is a copy with other times and another
card's name; Spanish from the catalog.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuseshard.__main__ import import_experiments
from fuseshard.book.catalog import Catalog, load
from fuseshard.book.draw.figure import translated
from fuseshard.book.draw.parts import Voice
from fuseshard.measure import recordings
from fuseshard.measure.experiments import Outcome, registered
from fuseshard.show.chapters import head_break_even
from fuseshard.show.chapters.aotautograd import training as budgets
from fuseshard.show.chapters.compile_time import regions, starts
from fuseshard.show.chapters.eager import launches as eager_launches
from fuseshard.show.chapters.graph_breaks import cost
from fuseshard.show.chapters.modes import launches, traps
from fuseshard.show.chapters.modes import times as mode_times
from fuseshard.show.chapters.recompiles import costs
from fuseshard.show.chapters.training import answers, classifier, published
from fuseshard.show.chapters.training import times as optimizer_times
from fuseshard.show.chapters.triton import proof, speeds
from fuseshard.show.chapters.when_it_helps import speed_maps
from fuseshard.show.choices import Choice
from fuseshard.show.records import Figure
from fuseshard.show.words import Word

LONGEST_NAME = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
WIDEST_ENTRY = 43
"""characters of a line in the legend that fit into 360 CSS pixels; measured in Chromium"""

Draw = Callable[[Any], Any]
DRAWN: dict[str, tuple[Draw, ...]] = {
    "aotautograd.budgets-gpu": (budgets.training_figure,),
    "compile-time.regions-gpu": (regions.recorded_regions,),
    "compile-time.starts-gpu": (starts.recorded_starts,),
    "gpu.same-text": (proof.same_text_table, proof.card_table),
    "graph-breaks.cost-gpu": (cost.recorded,),
    "inductor.size-sweep-gpu": (head_break_even.recorded,),
    "modes.graph-results-gpu": (traps.trap_table, traps.skip_table, traps.refusal_source),
    "modes.head-gpu": (mode_times.gpu_chooser,),
    "modes.inference-gpu": (mode_times.gpu_chooser, mode_times.first_calls),
    "modes.launches-gpu": (launches.launch_chooser, eager_launches.launches_table),
    "modes.small-gpu": (mode_times.small_table,),
    "modes.training-gpu": (mode_times.gpu_chooser,),
    "recompiles.lengths-gpu": (costs.gpu_costs,),
    "training.classifier-batches-gpu": (classifier.gpu_figure,),
    "training.classifier-lengths-gpu": (classifier.lengths_table,),
    "training.optimizers-gpu": (
        lambda outcome: optimizer_times.optimizer_choice(outcome.recording, outcome),
    ),
    "training.published-benchmark-gpu": (
        published.waiting_figure,
        lambda outcome: answers.answers_beside(outcome.recording.points[0], outcome),
    ),
    "triton.fused-gpu": (speeds.fused_table,),
    "triton.rows-gpu": (speeds.rows_table,),
    "when-it-helps.maps-gpu": (speed_maps.recorded_chooser,),
}
CASES = [(name, index) for name, draws in DRAWN.items() for index in range(len(draws))]


def other_machine(data: Any, key: str = "") -> Any:
    """The same data as another card would have measured them."""
    if isinstance(data, dict):
        changed = {name: other_machine(value, name) for name, value in data.items()}
        is_environment = "gpu" in changed and "torch" in changed
        return changed | ({"gpu": LONGEST_NAME} if is_environment else {})
    if isinstance(data, list):
        return [other_machine(value, key) for value in data]
    return data * 1.7 if isinstance(data, float) and key.endswith("_s") else data


@pytest.fixture(scope="module")
def reader_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reader") / "mine.json"
    (book,) = recordings.RECORDINGS_FOLDER.glob("nvidia-h200.json")
    path.write_text(json.dumps(other_machine(json.loads(book.read_text("utf-8")))), "utf-8")
    return path


@pytest.fixture(scope="module")
def experiments() -> dict[str, Any]:
    import_experiments()
    return {made.id: made for made in registered() if made.needs == "cuda"}


@pytest.fixture
def outcomes(
    experiments: dict[str, Any], reader_file: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], tuple[Outcome[Any], Outcome[Any]]]:
    """Call an experiment without and with the reader's file."""

    def call(name: str) -> tuple[Outcome[Any], Outcome[Any]]:
        monkeypatch.delenv("RECORDINGS", raising=False)
        alone = experiments[name]()
        monkeypatch.setenv("RECORDINGS", str(reader_file))
        return alone, experiments[name]()

    return call


def figures(shown: Any) -> list[Figure]:
    records = [record for _, record in shown.options] if isinstance(shown, Choice) else [shown]
    return [record for record in records if isinstance(record, Figure)]


def test_every_experiment_on_a_gpu_is_among_those_tried_here(experiments: dict[str, Any]) -> None:
    missing = sorted({*experiments} - {*DRAWN})
    assert not missing, f"draw {missing} with show.beside, and add what draws them to DRAWN"
    assert {*DRAWN} <= {*experiments}


@pytest.mark.parametrize(("name", "index"), CASES)
def test_a_readers_result_stands_beside_ours_and_without_it_nothing_changes(
    outcomes: Callable[[str], tuple[Outcome[Any], Outcome[Any]]], name: str, index: int
) -> None:
    alone, both = outcomes(name)
    draw = DRAWN[name][index]
    if alone.available is None:
        assert isinstance(draw(both), Word)
        return
    assert both.available == alone.available == both.recording
    single, double = draw(alone), draw(both)
    said = json.dumps(double._repr_mimebundle_(), ensure_ascii=False)
    assert LONGEST_NAME in said and "NVIDIA H200" in said
    before = json.dumps(single._repr_mimebundle_(), ensure_ascii=False)
    assert LONGEST_NAME not in before and "second_origin" not in before


@pytest.mark.parametrize("language", ["en", "es"])
def test_legends_fit_on_a_phone_in_both_languages(
    outcomes: Callable[[str], tuple[Outcome[Any], Outcome[Any]]], language: str
) -> None:
    locale = recordings.RECORDINGS_FOLDER.parent / "locale"
    catalog = load(locale, "es") if language == "es" else Catalog("en", None, locale)
    entries = 0
    for name, index in CASES:
        _, both = outcomes(name)
        for figure in figures(DRAWN[name][index](both)):
            drawing = translated(figure.to_json(), Voice(catalog, name))
            if drawing["layout"]["showlegend"]:
                shown = [t for t in drawing["data"] if "name" in t and t.get("showlegend", True)]
                lines = [line for trace in shown for line in trace["name"].split("<br>")]
                assert max(map(len, lines)) <= WIDEST_ENTRY, lines
                entries += len(lines)
    assert entries > 30
