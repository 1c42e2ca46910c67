"""Child processes. Oracle: toy experiments whose ends we know: a result, an error, silence."""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from fuseshard import __main__, recorder
from fuseshard.measure import experiments, recordings
from fuseshard.measure.records import Origin

TOY = """
import sys
from dataclasses import dataclass
from pathlib import Path
from fuseshard import recorder
from fuseshard.measure.experiments import experiment
from fuseshard.measure.records import Origin

@dataclass(frozen=True, kw_only=True)
class Answer:
    value: float
    origin: Origin | None = None

def value(experiment_id):
    if experiment_id == "toy.broken":
        raise MemoryError("150 GiB\\nneeds a larger card, see " + sys.prefix)
    if experiment_id == "toy.dead":
        import os
        os._exit(3)
    if experiment_id == "toy.noisy":
        count = Path(__file__).with_suffix(".count")
        done = int(count.read_text()) if count.exists() else 0
        count.write_text(str(done + 1))
        return (5.0, 1.0, 2.0)[done]
    if experiment_id == "toy.endless":
        import time
        time.sleep(60)
    return float(len(experiment_id))

name, path = sys.argv[1:]

def measure() -> Answer:
    return Answer(value=value(name))

experiment(name, needs="cpu")(measure)
target = recorder.Target(path=Path(path), machine="toy", commit="abc123")
recorder.measure_here(name, target)
"""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """As in the toy."""

    value: float
    origin: Origin | None = None


@pytest.fixture
def command(tmp_path: Path) -> Callable[[str, Path], Sequence[str]]:
    script = tmp_path / "toy.py"
    script.write_text(TOY)
    return lambda name, path: [sys.executable, str(script), name, str(path)]


def record(
    names: list[str], path: Path, command: recorder.Command, *, timeout_s: float = 60.0
) -> tuple[int, list[str]]:
    said: list[str] = []
    target = recorder.Target(path=path, machine="toy", commit="abc123")
    number = recorder.measure_all(
        names, target, command=command, say=said.append, timeout_s=timeout_s
    )
    return number, said


def test_one_that_fails_is_recorded_as_failed_and_the_rest_go_on(
    tmp_path: Path, command: recorder.Command
) -> None:
    path = tmp_path / "toy.json"
    number, said = record(["toy.broken", "toy.dead", "toy.good"], path, command)
    assert number == 1
    kept = recordings.load(path)
    assert list(kept.entries) == ["toy.good"]
    assert kept.entries["toy.good"].result == {"value": 8.0}
    assert kept.entries["toy.good"].environment.commit == "abc123"
    assert kept.failures["toy.broken"].reason == "MemoryError: 150 GiB"
    assert kept.failures["toy.dead"].reason == "it ended without a word"
    assert "toy.broken: failed after" in said[1] and "MemoryError" in said[1]
    assert said[-1].startswith("toy.good: recorded after")


def test_a_result_makes_an_earlier_failure_forgotten_and_not_the_other_way_round(
    tmp_path: Path, command: recorder.Command
) -> None:
    path = tmp_path / "toy.json"
    record(["toy.good"], path, command)
    here = recordings.load(path).entries["toy.good"].environment
    failure = recordings.Failure(environment=here, reason="x")
    kept = recordings.save(path, "toy", {}, failures={"toy.good": failure})
    assert list(kept.entries) == list(kept.failures) == ["toy.good"]
    assert recordings.last_failure("toy.good", tmp_path) == failure
    record(["toy.good"], path, command)
    assert recordings.load(path).failures == {}
    assert recordings.last_failure("toy.good", tmp_path) is None


def test_an_experiment_of_several_processes_is_pooled(
    tmp_path: Path, command: recorder.Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured() -> Answer:
        raise AssertionError("only the processes measure")

    monkeypatch.setattr(experiments, "_REGISTRY", {})
    experiments.experiment("toy.noisy", needs="cpu", processes=3)(measured)
    number, said = record(["toy.noisy"], tmp_path / "toy.json", command)
    entry = recordings.load(tmp_path / "toy.json").entries["toy.noisy"]
    assert number == 1
    assert entry.environment.num_processes == 3
    assert entry.result["value"] == 2.0  # the median of 1, 2 and 5 seconds
    assert "toy.noisy: process 3 of 3 ..." in said


def test_one_that_hangs_is_stopped_and_named(tmp_path: Path, command: recorder.Command) -> None:
    begin_s = time.monotonic()
    number, _ = record(["toy.endless"], tmp_path / "toy.json", command, timeout_s=6.0)
    assert number == 0
    assert time.monotonic() - begin_s < 30
    failure = recordings.load(tmp_path / "toy.json").failures["toy.endless"]
    assert failure.reason == "no answer within 6 s"


def test_an_interrupt_keeps_what_was_measured(tmp_path: Path, command: recorder.Command) -> None:
    path = tmp_path / "toy.json"

    def interrupted(name: str, part: Path) -> Sequence[str]:
        if name == "toy.endless":
            raise KeyboardInterrupt
        return command(name, part)

    with pytest.raises(KeyboardInterrupt):
        record(["toy.good", "toy.endless", "toy.never"], path, interrupted)
    assert list(recordings.load(path).entries) == ["toy.good"]


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("", "it ended without a word"),
        ("warned\nSegmentation fault\n", "Segmentation fault"),
        (
            "Traceback (most recent call last):\n  File x\ntorch.OutOfMemoryError: CUDA\nadvice\n",
            "torch.OutOfMemoryError: CUDA",
        ),
        (f"ValueError: {Path.cwd()}/a.py", "ValueError: ./a.py"),
        ("x" * 1000, "x" * 297 + "..."),
    ],
)
def test_the_reason_is_one_line_without_paths_of_this_machine(output: str, reason: str) -> None:
    assert recorder.reason_of(output) == reason


def test_the_command_line_starts_a_process_that_it_understands_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = []

    def measure_all(names: list[str], target: recorder.Target, **settings: object) -> int:
        commands.extend(settings["command"](name, tmp_path / "part.json") for name in names)
        return len(names)

    monkeypatch.setattr(recorder, "measure_all", measure_all)
    only = ["--only", "graph-breaks.cost-cpu"]
    out = str(tmp_path / "here.json")
    assert __main__.main(["record", *only, "--out", out, "--commit", "abc123"]) == 0
    assert "1 of 1 recorded" in capsys.readouterr().out
    [[python, dash, module, *options]] = commands
    assert [python, dash, module] == [sys.executable, "-m", "fuseshard"]
    understood = vars(__main__._parser().parse_args(options))
    assert understood == {
        "command": "record",
        "only": "graph-breaks.cost-cpu",
        "out": tmp_path / "part.json",
        "commit": "abc123",
        "in_process": True,
    }


def test_ctrl_c_says_where_the_rest_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(names: list[str], target: recorder.Target, **settings: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(recorder, "measure_all", interrupted)
    out = str(tmp_path / "here.json")
    assert __main__.main(["record", "--only", "graph-breaks.cost-cpu", "--out", out]) == 130
    assert f"is kept in {out}" in capsys.readouterr().err
