"""Warm processes. Oracle: the operating system's own view of them, and tasks in plain Python."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fuseshard.compiler.gpu_code.worker.parent import GpuBuildError, Work, Worker
from fuseshard.measure.schema import RecordError

TASKS = "tests.compiler.gpu_code.worker.toy_tasks"
ROOT = Path(__file__).parents[4]
SOON_S = 20.0  # for what takes a second where nothing else runs


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker(Work(tasks=TASKS, variables={"TRITON_INTERPRET": "1"}))
    yield worker
    worker.close()


def is_alive(pid: int) -> bool:
    """Whether any of its threads runs; the first one can be gone while others still end."""
    stats = []
    for path in Path(f"/proc/{pid}/task").glob("*/stat"):
        with suppress(OSError):  # it ended while we looked
            stats.append(path.read_text())
    return any(stat.rpartition(")")[2].split()[0] != "Z" for stat in stats)


def wait_until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SOON_S
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def run(script: str) -> list[str]:
    """Run a script that uses workers; return the words it prints."""
    head = (
        f"from fuseshard.compiler.gpu_code.worker.parent import *\nimport os\nTASKS = {TASKS!r}\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + script],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        cwd=ROOT,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_tasks_are_done_by_one_process_that_is_kept(worker: Worker) -> None:
    assert worker.pid is None
    assert worker.ask("double", "ab") == "abab"
    first = worker.pid
    assert worker.ask("starts") == [first]
    assert worker.ask("starts") == [first]
    assert first != os.getpid()


def test_the_environment_is_made_fit_there_and_left_alone_here(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_LOGS", "+dynamo")
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/kept")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    before = dict(os.environ)
    names = ["TRITON_INTERPRET", "CUDA_VISIBLE_DEVICES", "TORCH_LOGS", "TORCHINDUCTOR_CACHE_DIR"]
    assert worker.ask("variables", names) == ["1", "", None, "/kept"]
    assert dict(os.environ) == before


def test_what_it_prints_stays_there(worker: Worker, capfd: pytest.CaptureFixture[str]) -> None:
    worker.ask("speak", "hullo")
    assert capfd.readouterr() == ("", "")


def test_a_crash_is_an_error_with_the_last_words(worker: Worker) -> None:
    worker.ask("speak", "said long before")
    before = worker.pid
    with pytest.raises(GpuBuildError, match=r"ended by SIGSEGV.*(?s:.)*toy_tasks.py") as caught:
        worker.ask("crash", "my last words")
    assert "my last words" in caught.value.details
    assert "said long before" not in caught.value.details
    assert worker.ask("double", 4) == 8
    assert worker.pid != before


def test_a_process_that_leaves_without_a_word_says_with_which_code(worker: Worker) -> None:
    with pytest.raises(GpuBuildError, match="ended with exit code 7 and wrote nothing"):
        worker.ask("leave", 7)


def test_one_killed_in_the_middle_is_an_error_and_not_a_hang(
    worker: Worker, tmp_path: Path
) -> None:
    mark = tmp_path / "begun"

    def kill() -> None:
        assert wait_until(mark.exists)
        assert worker.pid is not None
        os.kill(worker.pid, signal.SIGKILL)

    with ThreadPoolExecutor() as pool:
        killer = pool.submit(kill)
        with pytest.raises(GpuBuildError, match="ended by SIGKILL"):
            worker.ask("loop", str(mark))
        killer.result()


def test_one_killed_between_tasks_is_replaced_without_an_error(worker: Worker) -> None:
    worker.ask("double", 1)
    before = worker.pid
    assert before is not None
    os.kill(before, signal.SIGKILL)
    assert wait_until(lambda: not is_alive(before))
    assert worker.ask("double", 3) == 6
    assert worker.pid != before


def test_a_loop_without_end_is_ended_and_the_error_says_so(worker: Worker) -> None:
    worker.ask("double", 1)
    before = worker.pid
    assert before is not None
    with pytest.raises(TimeoutError, match=r"ran for 0\.5 s without an answer, and was ended"):
        worker.ask("loop", limit_s=0.5)
    assert not is_alive(before)
    assert worker.ask("double", 5) == 10


def test_an_interrupt_does_not_leave_its_answer_to_the_next_task(worker: Worker) -> None:
    worker.ask("double", 1)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            worker.ask("double", 100, 1.0)
    finally:
        signal.signal(signal.SIGALRM, before)
    time.sleep(1.0)
    assert worker.ask("double", 7) == 14


@pytest.mark.parametrize(
    ("kind", "expected", "message"),
    [
        ("ValueError", ValueError, "seven, must be eight"),
        ("RecordError", RecordError, "seven, must be eight"),
        ("KeyError", GpuBuildError, "KeyError: 'seven, must be eight'"),
    ],
)
def test_errors_arrive(worker: Worker, kind: str, expected: type, message: str) -> None:
    with pytest.raises(expected) as caught:
        worker.ask("fail", kind)
    assert type(caught.value) is expected
    assert str(caught.value) == message


def test_an_error_brings_the_traceback_of_the_process_it_was_raised_in(worker: Worker) -> None:
    with pytest.raises(GpuBuildError) as caught:
        worker.ask("fail", "KeyError")
    assert "in fail" in caught.value.details


def test_what_cannot_be_sent_is_an_error_on_either_side(worker: Worker) -> None:
    with pytest.raises(GpuBuildError, match=r"cannot pickle '_thread\.lock'"):
        worker.ask("lock")
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock'"):
        worker.ask("double", threading.Lock())
    assert worker.ask("double", 1) == 2


def test_threads_get_their_own_answers(worker: Worker) -> None:
    def ask(number: int) -> Any:
        return worker.ask("double", number, 0.01 * (number % 3))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(40)))
    assert answers == [2 * number for number in range(40)]
    assert len(worker.ask("starts")) == 1


def test_one_that_nobody_needs_ends_and_is_replaced() -> None:
    worker = Worker(Work(tasks=TASKS), idle_s=0.2)
    worker.ask("double", 1)
    before = worker.pid
    assert before is not None
    assert wait_until(lambda: not is_alive(before))
    assert worker.ask("double", 2) == 4
    assert worker.pid != before
    worker.close()


def test_a_prelude_runs_before_the_tasks_are_imported() -> None:
    worker = Worker(Work(tasks=TASKS, prelude="import os; os.environ['EARLY'] = 'yes'"))
    assert worker.ask("variables", ["EARLY"]) == ["yes"]
    worker.close()


def test_tasks_that_cannot_be_imported_are_an_error() -> None:
    worker = Worker(Work(tasks="tests.compiler.gpu_code.worker.no_such_tasks"))
    with pytest.raises(GpuBuildError, match="ModuleNotFoundError: No module named"):
        worker.ask("double", 1)
    assert worker.pid is None


def test_none_is_left_when_the_caller_ends() -> None:
    (pid,) = run("w = Worker(Work(tasks=TASKS)); w.ask('double', 1); print(w.pid)")
    assert not is_alive(int(pid))


def test_none_is_left_when_the_caller_is_killed_in_the_middle(tmp_path: Path) -> None:
    mark = tmp_path / "begun"
    script = (
        "from fuseshard.compiler.gpu_code.worker.parent import *\n"
        f"w = Worker(Work(tasks={TASKS!r})); w.ask('double', 1); print(w.pid, flush=True)\n"
        f"w.ask('loop', {str(mark)!r})\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as caller:
        assert caller.stdout is not None
        pid = int(caller.stdout.readline())
        assert wait_until(mark.exists)
        assert is_alive(pid)
        caller.kill()
    assert wait_until(lambda: not is_alive(pid))


def test_a_fork_starts_a_worker_of_its_own_and_leaves_the_other_alone() -> None:
    script = (
        "w = Worker(Work(tasks=TASKS)); w.ask('double', 1); first = w.pid\n"
        "if os.fork() == 0:\n"
        "    assert w.pid is None\n"
        "    print(w.ask('double', 4), w.pid != first, flush=True)\n"
        "    w.close()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(w.ask('double', 5), w.pid == first)\n"
    )
    assert run(script) == ["8", "True", "10", "True"]
