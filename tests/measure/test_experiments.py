"""Pure CPU. Oracle: results that we know, written to files of our own and read back.

A GPU is described where a test needs one: torch says that it is there, the experiment does without.
"""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from fuseshard import __main__ as command_line
from fuseshard.measure import experiments, reader, recordings
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import Experiment, NotRecordedError, experiment
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Comparison, Environment, Origin
from fuseshard.measure.schema import RecordError


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A result with a part that has an origin of its own."""

    value: float
    part: Comparison | None = None
    origin: Origin | None = None


def answer() -> Answer:
    return Answer(value=0.1 + 0.2, part=compare({"a": int}, rounds=2))


@pytest.fixture(autouse=True)
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "_REGISTRY", {})


class Elsewhere(Experiment[Answer]):
    """An experiment on a machine that lacks what it needs."""

    def can_run(self) -> bool:
        return False


LIVE: Experiment[Answer] = Experiment("test.answer", "cpu", answer, Answer)
ELSEWHERE = Elsewhere("test.answer", "cuda", answer, Answer)


def gpu_environment(date_utc: str) -> Environment:
    return replace(environment(), gpu="NVIDIA H200", date_utc=date_utc)


def record(path: Path, value: float, date_utc: str, *, gpu: str = "NVIDIA H200") -> None:
    made = replace(gpu_environment(date_utc), gpu=gpu)
    entry = recordings.entry_of(Answer(value=value), made)
    recordings.save(path, path.stem, {"test.answer": entry})


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """A folder with the book's recording, of an H200."""
    folder = tmp_path / "ours"
    folder.mkdir()
    record(folder / "gpu.json", 1.0, "2026-01-01T00:00:00Z")
    return folder


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader's file, of another card, named in RECORDINGS."""
    path = tmp_path / "mine.json"
    record(path, 2.0, "2026-02-01T00:00:00Z", gpu="NVIDIA GeForce RTX 4090")
    monkeypatch.setenv("RECORDINGS", str(path))
    return path


def describe_gpu(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let torch say that there is a GPU; nothing is asked of it but its name."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: name)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)


def values(outcome: experiments.Outcome[Answer]) -> tuple[float | None, ...]:
    """What is shown, what stands beside it, and the book's own."""
    shown = (outcome.available, outcome.beside, outcome.recording)
    return tuple(None if answer is None else answer.value for answer in shown)


GPU: Experiment[Answer] = Experiment("test.answer", "cuda", lambda: Answer(value=7.0), Answer)


def test_without_a_gpu_ours_is_shown_and_nothing_beside_it(ours: Path) -> None:
    outcome = GPU(ours)
    assert (outcome.state, values(outcome)) == ("recorded", (1.0, None, 1.0))


def test_a_readers_result_stands_beside_ours_with_its_own_origin(ours: Path, mine: Path) -> None:
    outcome = GPU(ours)
    assert (outcome.state, values(outcome)) == ("recorded", (1.0, 2.0, 1.0))
    assert outcome.beside is not None and outcome.beside.origin is not None
    assert outcome.beside.origin.environment.gpu == "NVIDIA GeForce RTX 4090"
    assert not outcome.beside.origin.is_live
    assert outcome.note.endswith("Beside it: NVIDIA GeForce RTX 4090, 2026-02-01T00:00:00Z.")


def test_a_readers_result_is_the_main_one_where_ours_is_missing(tmp_path: Path, mine: Path) -> None:
    assert values(GPU(tmp_path / "absent")) == (2.0, None, None)


def test_a_readers_file_that_lacks_the_experiment_changes_nothing(ours: Path, mine: Path) -> None:
    other: Experiment[Answer] = Experiment("test.other", "cuda", answer, Answer)
    assert values(other(ours)) == (None, None, None)
    record(ours / "gpu.json", 1.0, "2026-01-01T00:00:00Z")
    mine.write_text(mine.read_text().replace("test.answer", "test.unknown"))
    assert values(GPU(ours)) == (1.0, None, 1.0)


def test_the_books_own_file_stands_beside_nothing(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECORDINGS", str(ours / "gpu.json"))
    assert values(GPU(ours)) == (1.0, None, 1.0)


def test_on_a_gpu_the_live_result_is_the_main_one_and_ours_beside_it(
    ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe_gpu(monkeypatch, "NVIDIA GeForce RTX 3080")
    outcome = GPU(ours)
    assert (outcome.state, values(outcome)) == ("live", (7.0, 1.0, 1.0))
    assert outcome.result.origin is not None and outcome.result.origin.is_live
    assert outcome.result.origin.environment.gpu == "NVIDIA GeForce RTX 3080"
    monkeypatch.undo()
    assert (GPU(ours).state, values(GPU(ours))) == ("recorded", (1.0, None, 1.0))


@pytest.mark.parametrize(
    ("here", "beside"), [("NVIDIA GeForce RTX 3080", 2.0), ("NVIDIA GeForce RTX 4090", 1.0)]
)
def test_on_a_gpu_a_readers_file_of_that_gpu_adds_least(
    ours: Path, mine: Path, monkeypatch: pytest.MonkeyPatch, here: str, beside: float
) -> None:
    describe_gpu(monkeypatch, here)
    assert values(GPU(ours)) == (7.0, beside, 1.0)
    assert values(GPU(ours / "absent")) == (7.0, 2.0, None)


def test_a_readers_file_that_does_not_fit_is_named_with_the_field(ours: Path, mine: Path) -> None:
    data = json.loads(mine.read_text())
    data["entries"]["test.answer"]["result"]["value"] = "much"
    mine.write_text(json.dumps(data))
    message = r"mine\.json: entries\['test.answer'\]\.result\.value: .*leave RECORDINGS out"
    with pytest.raises(RecordError, match=message):
        GPU(ours)
    mine.unlink()
    with pytest.raises(RecordError, match=r"RECORDINGS: .*mine\.json can't be read: No such file"):
        GPU(ours)


def test_of_a_file_the_known_experiments_that_need_a_gpu_are_drawn(mine: Path) -> None:
    here = recordings.load(mine).entries["test.answer"]
    recordings.save(mine, "mine", {"test.live": here, "test.newer": here})
    assert experiments.fitting(mine, reader.MEND) == ()
    experiment("test.live", needs="cpu")(answer)
    assert experiments.fitting(mine, reader.MEND) == ()
    experiment("test.answer", needs="cuda")(answer)
    assert experiments.fitting(mine, reader.MEND) == ("test.answer",)


def test_it_runs_live_where_it_can(tmp_path: Path) -> None:
    record(tmp_path / "gpu.json", 9.0, "2026-01-01T00:00:00Z")
    outcome = LIVE(tmp_path)
    assert outcome.state == "live"
    assert outcome.result.value == 0.1 + 0.2
    assert outcome.result.origin is not None
    assert outcome.result.origin.is_live


def test_elsewhere_the_newest_recording_is_shown_and_marked(tmp_path: Path) -> None:
    record(tmp_path / "a.json", 1.0, "2026-01-01T00:00:00Z")
    record(tmp_path / "b.json", 3.0, "2026-03-01T00:00:00Z")
    record(tmp_path / "c.json", 2.0, "2026-02-01T00:00:00Z")
    outcome = ELSEWHERE(tmp_path)
    assert outcome.state == "recorded"
    assert outcome.result.value == 3.0
    assert outcome.result.origin is not None
    assert not outcome.result.origin.is_live
    assert outcome.note == "Recorded on NVIDIA H200, 2026-03-01T00:00:00Z."


def test_without_a_recording_there_is_a_note_and_no_number(tmp_path: Path) -> None:
    outcome = ELSEWHERE(tmp_path)
    assert (outcome.state, outcome.available) == ("not recorded yet", None)
    assert "python -m fuseshard record --only test.answer" in outcome.note
    with pytest.raises(NotRecordedError, match="needs a CUDA GPU and has not been recorded yet"):
        _ = outcome.result


def test_a_failed_attempt_is_in_the_note_until_there_is_a_result(tmp_path: Path) -> None:
    here = gpu_environment("2026-01-01T00:00:00Z")
    failed = recordings.Failure(environment=here, reason="MemoryError: 150 GiB")
    recordings.save(tmp_path / "a.json", "a", {}, failures={"test.answer": failed})
    outcome = ELSEWHERE(tmp_path)
    assert outcome.available is None
    assert outcome.failure == "NVIDIA H200: MemoryError: 150 GiB"
    assert outcome.note.endswith("The last attempt failed: NVIDIA H200: MemoryError: 150 GiB")
    record(tmp_path / "b.json", 1.0, "2025-01-01T00:00:00Z")
    assert ELSEWHERE(tmp_path).failure is None


def test_a_recording_is_the_result_bit_for_bit_with_every_part_marked(tmp_path: Path) -> None:
    live = LIVE.run()
    assert live.part is not None
    assert live.part.origin is not None
    assert live.part.origin.is_live
    entry = recordings.entry_of(live, gpu_environment("2026-01-01T00:00:00Z"))
    recordings.save(tmp_path / "gpu.json", "gpu", {"test.answer": entry})
    part = ELSEWHERE(tmp_path).result.part
    assert part is not None
    assert part.origin is not None
    assert not part.origin.is_live
    assert replace(part, origin=None) == replace(live.part, origin=None)


def test_saving_replaces_one_entry_and_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    entry = recordings.entry_of(Answer(value=1.0), environment())
    recordings.save(path, "gpu", {"b": entry, "a": entry})
    newer = recordings.entry_of(Answer(value=2.0), environment())
    recordings.save(path, "gpu", {"b": newer})
    entries = recordings.load(path).entries
    assert list(entries) == ["a", "b"]
    assert (entries["a"], entries["b"]) == (entry, newer)
    assert [item.name for item in tmp_path.iterdir()] == ["gpu.json"]


def test_a_file_of_another_machine_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    record(path, 1.0, "2026-01-01T00:00:00Z")
    before = path.read_bytes()
    with pytest.raises(ValueError, match="got results of 'other', the file holds those of 'gpu'"):
        recordings.save(path, "other", {})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"gpu\.json: not JSON"),
        ("[]", r"gpu\.json: got \[\] \(list\), required an object with the fields of MachineFile"),
        ('{"machine": "m", "entries": {}}', r"gpu\.json\.version: got nothing"),
        (
            '{"version": 2, "new": 1}',
            r"gpu\.json: got version 2, required 1; restore the file .* or record again",
        ),
        (
            '{"version": 1, "machine": "m", "entries": {"x": {"result": {}}}}',
            r"gpu\.json\.entries\['x'\]\.environment: got nothing",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_named_with_the_field(
    tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "gpu.json").write_text(text)
    with pytest.raises(RecordError, match=message):
        ELSEWHERE(tmp_path)


def test_a_result_that_does_not_fit_is_named_with_the_field(tmp_path: Path) -> None:
    path = tmp_path / "gpu.json"
    record(path, 1.0, "2026-01-01T00:00:00Z")
    data = json.loads(path.read_text())
    data["entries"]["test.answer"]["result"]["value"] = "much"
    path.write_text(json.dumps(data))
    message = r"gpu\.json: entries\['test.answer'\]\.result\.value: got 'much' \(str\)"
    with pytest.raises(RecordError, match=message):
        ELSEWHERE(tmp_path)


def test_the_decorator_enters_and_keeps_calling_by_the_same_name() -> None:
    made = experiment("test.entered", needs="cpu")(answer)
    assert experiments.registered() == (made,)
    assert made.result_type is Answer
    again = experiment("test.entered", needs="cpu")(answer)  # a cell that is run twice
    assert experiments.registered() == (again,)


def test_an_id_that_is_taken_is_refused() -> None:
    def other() -> Answer:
        return Answer(value=1.0)

    experiment("test.entered", needs="cpu")(answer)
    with pytest.raises(ValueError, match=r"the id is taken by .*answer, got .*other"):
        experiment("test.entered", needs="cpu")(other)


@pytest.mark.parametrize("experiment_id", ["", "Sizes", "two words", "a..b", "a/b", "-a"])
def test_an_id_that_nobody_could_type_is_refused(experiment_id: str) -> None:
    with pytest.raises(ValueError, match="the id must be lower-case words joined by"):
        experiment(experiment_id, needs="cpu")(answer)


def test_results_that_cannot_be_recorded_are_refused() -> None:
    def number() -> float:
        return 1.0

    with pytest.raises(ValueError, match="number returns <class 'float'>, must be annotated"):
        experiment("test.number", needs="cpu")(number)
    with pytest.raises(ValueError, match="needs is 'tpu', must be one of"):
        experiment("test.tpu", needs="tpu")(answer)  # type: ignore[arg-type]


def test_cuda_experiments_run_exactly_where_torch_sees_a_gpu() -> None:
    made: Experiment[Answer] = Experiment("test.gpu", "cuda", answer, Answer)
    assert made.can_run() == torch.cuda.is_available()
    assert LIVE.can_run()


def test_a_machine_is_named_after_its_gpu_or_its_cpu() -> None:
    here = environment()
    assert recordings.machine_name(replace(here, gpu="NVIDIA H200")) == "nvidia-h200"
    cpu_only = replace(here, gpu=None, cpu="Intel(R) Xeon(R) CPU @ 2.20GHz")
    assert recordings.machine_name(cpu_only) == "intel-r-xeon-r-cpu-2-20ghz"


def test_record_merges_what_this_machine_can_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "EXPERIMENT_LAYERS", ())
    experiment("test.answer", needs="cpu")(answer)
    experiments._REGISTRY["test.far"] = Elsewhere("test.far", "cuda", answer, Answer)
    path = tmp_path / "here.json"
    options = ["--out", str(path), "--commit", "abc123", "--in-process"]
    assert command_line.main(["record", *options]) == 0
    entries = recordings.load(path).entries
    assert list(entries) == ["test.answer"]
    assert entries["test.answer"].environment.commit == "abc123"
    printed = capsys.readouterr().out
    assert "test.far: left out, it needs cuda" in printed


def test_record_answers_an_unknown_id_with_the_known_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command_line, "EXPERIMENT_LAYERS", ())
    experiment("test.answer", needs="cpu")(answer)
    out = tmp_path / "x.json"
    assert command_line.main(["record", "--only", "nope", "--out", str(out)]) == 2
    assert "no experiment 'nope'; there are: test.answer" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("name", ["absent/x.json", ".", "of-another.json"])
def test_record_refuses_a_file_that_it_couldnt_write_before_it_measures(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    def measure() -> Answer:
        raise AssertionError("measured for nothing")

    monkeypatch.setattr(command_line, "EXPERIMENT_LAYERS", ())
    experiment("test.answer", needs="cpu")(measure)
    record(tmp_path / "of-another.json", 1.0, "2026-01-01T00:00:00Z")
    assert command_line.main(["record", "--out", str(tmp_path / name)]) == 2
    assert capsys.readouterr().err.startswith("record: results can't be kept: ")
    assert [item.name for item in tmp_path.iterdir()] == ["of-another.json"]


def test_every_recording_of_the_package_fits_its_experiment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or a page breaks long after the record was changed."""
    monkeypatch.undo()  # the real registry
    command_line.import_experiments()
    known = {item.id: item for item in experiments.registered()}
    assert known
    for name, machine in recordings.load_all().items():
        for experiment_id, entry in machine.entries.items():
            recordings.result_of(known[experiment_id].result_type, entry, name)
            assert entry.environment.gpu is not None
