"""Training steps of the classifier. Oracles: eager PyTorch, and counts on paper; no Inductor."""

import pytest
import torch

from fuseshard.compiler.training import classify, trajectory
from fuseshard.compiler.training.records import ClassifierSweep, LengthRuns
from fuseshard.compiler.training.trainer import (
    Batch,
    Trainer,
    batches_of,
    sorted_batches,
    trimmed,
)
from fuseshard.measure.recordings import RECORDINGS_FOLDER, newest, result_of
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read
from fuseshard.models.classifier import PADDING, ClassifierConfig

TINY = ClassifierConfig(num_classes=5, width=8, num_layers=1, num_heads=2, context=13)


@pytest.fixture
def without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    original = torch.compile
    monkeypatch.setattr(
        torch, "compile", lambda fn, **settings: original(fn, backend="eager", **settings)
    )


def texts(num_texts: int = 20) -> Batch:
    """Texts of 1 to 13 tokens, no two neighbours alike."""
    tokens = torch.full((num_texts, 13), PADDING)
    for i in range(num_texts):
        tokens[i, : 1 + 5 * i % 13] = 1 + i
    return Batch(tokens, torch.arange(num_texts) % 5)


def test_trimming_cuts_padding_only_and_up_to_a_multiple() -> None:
    batch = Batch(texts().tokens[:2], texts().labels[:2])  # 1 and 6 tokens
    assert trimmed(batch).tokens.shape == (2, 6)
    assert trimmed(batch, 4).tokens.shape == (2, 8)
    assert trimmed(batch, 100).tokens.shape == (2, 13)
    assert torch.equal(trimmed(batch).tokens[1], batch.tokens[1, :6])


def test_batches_cover_a_pass_before_a_text_comes_twice() -> None:
    drawn = batches_of(texts(), 6, num_batches=4)
    first_pass = torch.cat([batch.labels for batch in drawn[:3]])
    assert len(drawn) == 4 and len(first_pass) == 18
    rows = {tuple(row.tolist()) for batch in drawn[:3] for row in batch.tokens}
    assert len(rows) == 18


def test_sorted_batches_go_from_short_to_long() -> None:
    picked = sorted_batches(texts(), 3, num_batches=4)
    longest = [batch.longest for batch in picked]
    assert longest == sorted(longest) and longest[0] < longest[-1]


def test_training_in_both_modes_and_precisions_lowers_the_loss(without_inductor: None) -> None:
    (batch,) = batches_of(texts(), 10, num_batches=1)
    for settings in ({"compiled": False}, {"compiled": True}, {"precision": "bfloat16"}):
        trainer = Trainer(TINY, **({"compiled": False} | settings))  # type: ignore[arg-type]
        losses = trajectory.losses(trainer, [batch] * 12)
        assert losses[-1] < 0.9 * losses[0]
        assert trainer.accuracy(batch) > 0.2


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of"):
        Trainer(TINY, compiled=False, precision="float8")


def test_eager_float32_stays_near_float64_and_a_missing_step_does_not() -> None:
    batches = batches_of(texts(), 7, num_batches=15)
    compiled = Trainer(TINY, compiled=False)  # the eager model stands in for the compiled one
    runs = trajectory.trajectories(compiled, batches, TINY)
    yardstick = runs.largest_drift(runs.eager)
    assert runs.drift(runs.compiled) == runs.drift(runs.eager)
    assert 0 < yardstick < 1e-5
    assert runs.largest_drift(runs.step_left_out) > 100 * yardstick
    assert (
        runs.drift(runs.step_left_out)[: trajectory.LEFT_OUT + 1]
        == (runs.drift(runs.eager)[: trajectory.LEFT_OUT + 1])
    )


def test_key_biases_drift_most_between_precisions() -> None:
    batches = batches_of(texts(), 7, num_batches=15)
    single = Trainer(TINY, compiled=False)
    double = Trainer(TINY, compiled=False, precision="float64")
    for trainer in (single, double):
        trajectory.losses(trainer, batches)
    gaps = trajectory.bias_differences(single, double)
    assert gaps["key"] > 10 * max(gaps["query"], gaps["value"]) > 0


def test_the_sweep_compares_in_the_same_rounds_and_survives_its_recording(
    without_inductor: None,
) -> None:
    swept = classify.batch_sweep((2, 3), precisions=("float32",), config=TINY, budget_s=0.1)
    assert read(ClassifierSweep, to_json(swept), "recording") == swept
    assert swept.sweeps["float32"].sizes == (2, 3)
    assert (swept.length, swept.width, swept.num_layers) == (13, 8, 1)


def test_each_way_to_feed_lengths_counts_its_graphs_and_tokens(without_inductor: None) -> None:
    batches = classify.made_up((3, 5, 9), batch=3, device="cpu", context=13)
    runs = classify.length_runs(batches, bucket=8, config=TINY, budget_s=0.1)
    assert read(LengthRuns, to_json(runs), "recording") == runs
    assert {name: way.graphs for name, way in runs.ways.items()} == {
        "eager": 0,
        "padded": 1,
        "bucketed": 2,
        "dynamic": 1,
    }
    assert {name: way.tokens for name, way in runs.ways.items()} == {
        "eager": 3 * 17,
        "padded": 3 * 39,
        "bucketed": 3 * (8 + 8 + 13),
        "dynamic": 3 * 17,
    }
    assert runs.real_tokens == 3 * 17


def test_feeding_gives_the_compiled_model_padding_in_one_way_only() -> None:
    fed = classify.feeding(texts(60), (2,))
    assert {batch.tokens.shape[1] for batch in fed["fixed"][2]["compiled"]} == {13}
    assert {batch.tokens.shape[1] for batch in fed["padded"][2]["compiled"]} == {13}
    cut = [batch.tokens.shape[1] for batch in fed["cut"][2]["compiled"]]
    assert cut == [batch.tokens.shape[1] for batch in fed["padded"][2]["eager"]]
    assert len(set(cut)) > 1


def test_graphs_by_length_are_those_of_the_page_also_when_asked_twice() -> None:
    for _ in range(2):
        assert classify.graphs_by_length((9, 14, 9, 20)) == {
            "static": (1, 2, 2, 3),
            "automatic": (1, 2, 2, 2),
            "dynamic": (1, 1, 1, 1),
        }


def test_a_live_sweep_times_given_batches() -> None:
    trainers = {name: Trainer(TINY, compiled=False) for name in ("eager", "compiled")}
    passes = {
        size: dict.fromkeys(trainers, batches_of(texts(), size, num_batches=1)) for size in (2, 4)
    }
    swept = classify.live_sweep(trainers, passes, budget_s=0.1)
    assert swept.sizes == (2, 4)


def test_on_the_recorded_gpu_autocast_gains_more_and_is_slower_in_eager_mode() -> None:
    """The chapter says so of whatever is recorded; a new recording must still bear it out."""
    found = newest(classify.batches_on_gpu.id, RECORDINGS_FOLDER)
    assert found is not None
    name, entry = found
    single, half = result_of(ClassifierSweep, entry, name).sweeps.values()
    pairs = list(zip(single.points, half.points, strict=True))
    gains = [(a.comparison.ratio.speedup, b.comparison.ratio.speedup) for a, b in pairs]
    assert sum(b for _, b in gains) > sum(a for a, _ in gains)
    for a, b in pairs:
        assert b.comparison["eager"].median_s > a.comparison["eager"].median_s


def test_on_the_recorded_gpu_every_way_to_feed_lengths_gains_and_padding_costs_little() -> None:
    found = newest(classify.lengths_on_gpu.id, RECORDINGS_FOLDER)
    assert found is not None
    name, entry = found
    runs = result_of(LengthRuns, entry, name)
    padded, bucketed, dynamic = (
        runs.comparison[way].ratio for way in ("padded", "bucketed", "dynamic")
    )
    assert padded and bucketed and dynamic
    assert {ratio.verdict for ratio in (padded, bucketed, dynamic)} == {"faster"}
    assert padded.median < 1.1 * min(bucketed.median, dynamic.median)
    assert runs.ways["padded"].tokens > 1.3 * runs.ways["dynamic"].tokens
    padded_run, *others = (runs.ways[way] for way in ("padded", "bucketed", "dynamic"))
    for other in others:  # what lengths do add is compiling
        assert other.first_pass_s > padded_run.first_pass_s
    assert (padded_run.graphs, *(run.graphs for run in others)) == (1, 2, 1)
