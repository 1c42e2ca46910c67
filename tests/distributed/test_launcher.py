"""What `run` returns, shows and refuses. 1 to 4 gloo ranks a test. Oracle: plain Python."""

import functools
import logging
import os
import resource
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import torch._inductor.config
import torch.distributed as dist

from fuseshard.distributed.launcher import DistributedError, run

pytestmark = pytest.mark.ranks


@dataclass(frozen=True)
class Answer:
    rank: int
    total: torch.Tensor


def add_up(rank, world_size, *values):
    total = torch.tensor([float(rank + 1), *values])
    dist.all_reduce(total)
    return Answer(rank, total)


@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
def test_results_come_in_rank_order_from_an_initialised_group(world_size):
    answers = run(add_up, world_size, args=(2.0,))
    total = world_size * (world_size + 1) / 2
    assert [answer.rank for answer in answers] == list(range(world_size))
    assert all(answer.total.tolist() == [total, 2.0 * world_size] for answer in answers)
    assert all(type(answer) is Answer for answer in answers)


def test_closures_lambdas_and_partials_are_workers():
    offset = 10
    assert run(lambda rank, world_size: rank + offset) == [10, 11]
    assert run(functools.partial(lambda base, rank, size: base + rank + size, 100)) == [102, 103]


def test_a_large_result_of_every_rank_arrives_whole():
    results = run(lambda rank, world_size: torch.full((5_000_000,), float(rank)), 3)
    assert [float(result.mean()) for result in results] == [0.0, 1.0, 2.0]
    assert all(len(result) == 5_000_000 for result in results)


def test_ranks_compute_on_one_thread_and_get_what_torchrun_sets():
    def report(rank, world_size):
        names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
        return torch.get_num_threads(), [os.environ[name] for name in names]

    assert run(report) == [(1, [str(rank), str(rank), "2", "2", "127.0.0.1"]) for rank in (0, 1)]


def test_ranks_see_the_callers_environment_folder_and_import_path(monkeypatch, tmp_path):
    (tmp_path / "far_away_worker.py").write_text("def work(rank, world_size):\n    return rank\n")
    monkeypatch.setenv("FUSESHARD_TEST_WORD", "hello")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import far_away_worker

    assert run(far_away_worker.work) == [0, 1]
    seen = run(lambda rank, size: (os.environ["FUSESHARD_TEST_WORD"], str(Path.cwd())), 1)
    assert seen == [("hello", str(tmp_path))]


def test_a_worker_of_a_module_that_no_import_finds_travels_as_code(tmp_path):
    path = tmp_path / "unfindable.py"
    path.write_text("FACTOR = 3\n\ndef work(rank, world_size):\n    return FACTOR * rank\n")
    spec = __import__("importlib.util").util.spec_from_file_location("unfindable", path)
    module = __import__("importlib.util").util.module_from_spec(spec)
    sys.modules["unfindable"] = module
    try:
        spec.loader.exec_module(module)
        assert run(module.work) == [0, 3]
    finally:
        del sys.modules["unfindable"]


@functools.cache
def doubled(number):
    return 2 * number


def test_cached_functions_and_torchs_odd_modules_travel():
    """cloudpickle sends the first by a name that no rank knows, and refuses the second."""

    def work(rank, world_size):
        options = torch._inductor.config.max_autotune
        return doubled_here(rank), doubled(rank), torch.ops.aten.add(rank, 1), options

    doubled_here = functools.lru_cache(maxsize=3)(lambda number: 2 * number)
    assert run(work) == [(0, 0, 1, False), (2, 2, 2, False)]


def test_ranks_print_whatever_the_locale_is(capfd):
    run(lambda rank, world_size: print("Fusionar → ñ", "\ud800"), 1)
    assert capfd.readouterr().out == "[rank 0] Fusionar → ñ \\ud800\n"


def test_a_fork_that_a_worker_makes_doesnt_answer_in_its_place():
    def work(rank, world_size):
        return rank, os.fork() == 0

    assert run(work) == [(0, False), (1, False)]


def test_the_process_that_forks_has_one_thread():
    def threads_of_parent(rank, world_size):
        return Path(f"/proc/{os.getppid()}/status").read_text().split("Threads:")[1].split()[0]

    assert run(threads_of_parent) == ["1", "1"]


def test_the_caller_is_not_the_parent_of_the_ranks():
    parents = run(lambda rank, world_size: os.getppid())
    assert parents[0] == parents[1] != os.getpid()


def test_prints_are_shown_in_rank_order_whoever_was_first(capfd):
    def speak(rank, world_size):
        time.sleep(0.2 * (world_size - rank))
        print(f"one of {world_size}")
        os.write(1, b"two\n")

    run(speak)
    shown = capfd.readouterr()
    assert shown.out == "".join(
        f"[rank {rank}] {line}\n" for rank in (0, 1) for line in ("one of 2", "two")
    )
    assert shown.err == ""


def test_stderr_goes_to_the_log_and_not_to_the_page(capfd, caplog):
    with caplog.at_level(logging.INFO, "fuseshard.distributed"):
        run(lambda rank, world_size: print(f"hm {rank}", file=sys.stderr))
    assert [record.getMessage() for record in caplog.records] == [
        "rank 0 wrote to stderr:\nhm 0",
        "rank 1 wrote to stderr:\nhm 1",
    ]
    shown = capfd.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_two_runs_at_once_from_threads_dont_mix():
    results = {}

    def go(name, world_size):
        results[name] = [answer.total.tolist() for answer in run(add_up, world_size)]

    threads = [threading.Thread(target=go, args=item) for item in (("a", 2), ("b", 3), ("c", 2))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"a": [[3.0]] * 2, "b": [[6.0]] * 3, "c": [[3.0]] * 2}


def test_a_run_inside_a_rank_works():
    def outer(rank, world_size):
        return [answer.total.tolist() for answer in run(add_up, 2)]

    assert run(outer, 1) == [[[3.0], [3.0]]]


def test_a_result_that_cannot_travel_is_named():
    with pytest.raises(DistributedError, match=r"rank 0 of 1 .* a lock, can't be sent"):
        run(lambda rank, world_size: threading.Lock(), 1)


class Unloadable:
    def __reduce__(self):
        return int, ("no number",)


def test_a_result_that_cannot_be_rebuilt_names_its_rank():
    with pytest.raises(DistributedError, match=r"rank 1 of 2 .* rebuilt .* 'no number'") as caught:
        run(lambda rank, world_size: Unloadable() if rank else 0)
    assert caught.value.rank == 1


def refusal(worker=add_up, **arguments):
    """The message of the ValueError, after checking that nothing was started."""
    with pytest.raises(ValueError) as caught:
        run(worker, **arguments)
    return str(caught.value)


@pytest.mark.parametrize("world_size", [0, -1, 2.0, True, "2", None])
def test_a_world_size_that_is_no_count_is_refused(world_size):
    message = refusal(world_size=world_size)
    assert message.startswith(f"run: world_size is {world_size!r}, required is a whole number")


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan"), float("inf"), "60", True, None])
def test_a_timeout_that_is_no_time_is_refused(timeout):
    message = refusal(timeout=timeout)
    assert message.startswith(f"run: timeout is {timeout!r}, required is a positive, finite")


def test_arguments_that_are_no_tuple_are_refused():
    assert "args is a list, required is a tuple" in refusal(args=[1])


@pytest.mark.parametrize("worker", [None, 3, "add_up"])
def test_a_worker_that_is_no_function_is_refused(worker):
    assert f"worker is a {type(worker).__name__}, required is a function" in refusal(worker)


def test_a_worker_with_other_parameters_is_refused():
    assert "worker takes (rank), required are rank, world_size and 0 more" in refusal(
        lambda rank: 0
    )
    assert "and 2 more from args" in refusal(lambda rank, size, one: 0, args=(1, 2))
    assert "missing a required argument: 'one'" in refusal(lambda rank, size, one: 0)


def test_an_unknown_backend_is_refused():
    assert "backend is 'mpi', required is one of gloo, nccl" in refusal(backend="mpi")


def test_nccl_with_more_ranks_than_gpus_is_refused():
    message = refusal(backend="nccl", world_size=torch.cuda.device_count() + 1)
    assert f"found {torch.cuda.device_count()} (each rank needs a GPU of its own)" in message


def test_what_cannot_be_pickled_is_refused_by_name():
    lock = threading.Lock()
    assert "args[1] is a lock that can't be sent" in refusal(args=(1, lock))
    assert "worker is a function that can't be sent" in refusal(lambda rank, size: lock)


def test_a_removed_working_directory_is_refused(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert "the working directory was removed, required is one that exists" in refusal()


def test_more_ranks_than_open_files_are_refused(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (60, 60))
    message = refusal(world_size=12)
    assert "more files, required are 80 for world_size 12" in message
    assert "ulimit -n" in message


def test_other_platforms_are_refused_with_the_reason(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(OSError, match=r"platform is darwin, required is Linux .* Colab"):
        run(add_up)
