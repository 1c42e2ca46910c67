"""How `run` fails: whom it blames, what it quotes, how soon. 1 to 3 gloo ranks a test.

Oracle: the failure that the worker was written to have.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time

import pytest
import torch
import torch.distributed as dist

from fuseshard.distributed import launcher
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.processes import job
from fuseshard.distributed.processes.caller import ForkServers

pytestmark = pytest.mark.ranks


def error_of(worker, world_size=2, timeout=30.0):
    with pytest.raises(DistributedError) as caught:
        run(worker, world_size, timeout=timeout)
    return caught.value


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_real_exception_leads_though_the_other_rank_waits_in_a_collective():
    def work(rank, world_size):
        if rank == 1:
            raise ZeroDivisionError("the loss of no samples")
        dist.barrier()

    started_s = time.monotonic()
    error = error_of(work)
    assert time.monotonic() - started_s < 10
    assert error.rank == 1
    assert str(error).splitlines()[0].endswith(": ZeroDivisionError: the loss of no samples")
    culprit, waiting = error.failures
    assert 'raise ZeroDivisionError("the loss of no samples")' in culprit.details
    assert "processes/rank.py" not in culprit.details
    assert (waiting.rank, waiting.kind) == (0, "stopped")
    assert "dist.barrier()" in waiting.details


def test_a_rank_that_leaves_without_a_word_leads_before_its_victims():
    def work(rank, world_size):
        if rank == 2:
            os._exit(7)
        dist.barrier()
        time.sleep(60)

    error = error_of(work, 3)
    assert (error.rank, error.failures[0].kind) == (2, "died")
    assert "left with exit status 7 before it had a result" in error.reason
    victims = error.failures[1:]
    assert {failure.rank for failure in victims} == {0, 1}
    assert any(failure.is_victim for failure in victims)


def test_a_connection_error_without_any_other_failure_still_leads():
    def work(rank, world_size):
        raise ConnectionResetError("Connection reset by peer")

    assert "ConnectionResetError" in error_of(work, 1).reason


def test_tensors_of_different_size_name_the_rank_that_aborts():
    def work(rank, world_size):
        dist.all_reduce(torch.ones(4 + rank))
        time.sleep(0.2)
        dist.barrier()

    error = error_of(work)
    dead = [failure for failure in error.failures if failure.kind == "died"]
    assert error.rank == dead[0].rank
    assert "killed by SIGABRT after a C++ exception" in error.reason
    assert "size doesn't match" in error.reason
    assert "dist.all_reduce(torch.ones(4 + rank))" in dead[0].details


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_death_by_a_signal_names_signal_and_rank(name):
    def work(rank, world_size):
        if rank == 1:
            os.kill(os.getpid(), getattr(signal, name))
            time.sleep(60)
        dist.barrier()

    error = error_of(work)
    assert error.rank == 1
    assert error.reason.endswith(f"killed by {name}")


def test_a_deadlock_names_the_ranks_that_wait_and_where():
    def work(rank, world_size):
        if rank < 2:
            dist.recv(torch.ones(1), src=1 - rank)
        return rank

    started_s = time.monotonic()
    error = error_of(work, 3, timeout=1.0)
    assert 1.0 <= time.monotonic() - started_s < 5.0
    assert error.reason.startswith("timed out: after 1 s ranks 0, 1 of 3 still ran")
    assert error.rank is None
    assert error.finished == (2,)
    assert all("dist.recv" in failure.details for failure in error.failures)


@pytest.mark.parametrize("library", ["CDLL", "PyDLL"])
def test_a_rank_that_sleeps_in_c_and_ignores_signals_is_stopped(library):
    """PyDLL keeps the interpreter's lock while it sleeps: no Python code can run."""

    def work(rank, world_size):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            getattr(ctypes, library)(None).sleep(1000)

    started_s = time.monotonic()
    error = error_of(work, 1, timeout=0.5)
    assert time.monotonic() - started_s < 4.5
    assert "sleep(1000)" in error.failures[0].details


def test_a_timeout_stops_the_ranks_own_children_too(tmp_path):
    def work(rank, world_size):
        children = [
            subprocess.Popen(["sleep", "1000"], start_new_session=is_far)
            for is_far in (False, True)
        ]
        (tmp_path / "children").write_text(" ".join(str(child.pid) for child in children))
        time.sleep(1000)

    error_of(work, 1, timeout=1.5)
    children = [int(pid) for pid in (tmp_path / "children").read_text().split()]
    assert len(children) == 2
    assert not any(is_running(pid) for pid in children)


def test_children_that_outlive_their_rank_are_stopped(tmp_path):
    def work(rank, world_size):
        return [
            subprocess.Popen(["sleep", "1000"], start_new_session=is_far).pid
            for is_far in (False, True)
        ]

    (children,) = run(work, 1)
    assert len(children) == 2
    assert not any(is_running(pid) for pid in children)


def test_leaving_the_interpreter_is_a_failure():
    assert "SystemExit: 3" in error_of(lambda rank, size: sys.exit(3), 1).reason


def test_what_failing_ranks_printed_is_shown_first(capfd):
    def work(rank, world_size):
        print("the last thing I did")
        raise ValueError("boom")

    error_of(work, 1)
    assert capfd.readouterr().out == "[rank 0] the last thing I did\n"


def test_a_server_that_cannot_start_says_why(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(launcher, "_servers", ForkServers())
    assert "no torch today" in error_of(lambda rank, size: rank).reason
    launcher._servers.close()


def test_a_server_is_replaced_when_it_dies_hangs_or_imported_torch_under_other_settings(
    monkeypatch,
):
    """One test, because each start of a server imports torch for seconds."""

    def strike_the_server(rank, world_size, name):
        os.kill(os.getppid(), getattr(signal, name))
        time.sleep(1000)

    def parent_and_setting(rank, world_size):
        return os.getppid(), os.environ.get("TORCH_FUSESHARD_TEST")

    with pytest.raises(DistributedError, match="the process that starts ranks has ended"):
        run(strike_the_server, args=("SIGKILL",))
    started_s = time.monotonic()
    error = error_of(lambda rank, size: rank, timeout=0.01)
    assert time.monotonic() - started_s < 1.0  # though the import takes longer
    assert error.reason.startswith("timed out: after 0.01 s ranks 0, 1 of 2 had not started")
    assert "rank 1 was not started: torch was still being imported" in str(error)

    (first, setting), _ = run(parent_and_setting)
    assert (setting, run(parent_and_setting)) == (None, [(first, None)] * 2)
    monkeypatch.setattr(job, "_END_S", 0.3)
    with pytest.raises(DistributedError, match=r"timed out: after 0\.5 s"):
        run(strike_the_server, args=("SIGSTOP",), timeout=0.5)
    assert not is_running(first)

    monkeypatch.setenv("TORCH_FUSESHARD_TEST", "1")
    (second, setting), _ = run(parent_and_setting)
    assert (setting, run(parent_and_setting)) == ("1", [(second, "1")] * 2)
    monkeypatch.delenv("TORCH_FUSESHARD_TEST")
    (third, setting), _ = run(parent_and_setting)
    assert (third != second, setting) == (True, None)


def test_a_rank_that_prints_without_end_is_stopped_before_memory_is_full(monkeypatch, capfd):
    def work(rank, world_size):
        while rank == 1:
            print("again")
        dist.barrier()

    monkeypatch.setattr(job, "MAX_OUTPUT_BYTES", 1_000_000)
    monkeypatch.setattr(launcher, "MAX_OUTPUT_BYTES", 1_000_000)
    error = error_of(work)
    assert error.rank == 1
    assert error.reason.endswith("stopped because it wrote over 1 MB; print less")
    assert len(capfd.readouterr().out) < 10_000


def test_a_failed_run_doesnt_harm_the_next():
    error_of(lambda rank, size: 1 / 0)
    assert run(lambda rank, size: rank) == [0, 1]
