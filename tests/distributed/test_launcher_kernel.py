"""`run` from a real Jupyter kernel, as a chapter uses it. Oracle: what the cell must show."""

import os
import signal
import time

import pytest

from tests.distributed.helpers import (
    kernel,
    marked_environment,
    marked_processes,
    wait_for,
    wait_until_gone,
)

pytestmark = pytest.mark.ranks

THREADED = """
import torch, torch.distributed as dist
from fuseshard.distributed.launcher import run
torch.set_num_threads(4)
x = torch.randn(600, 600, requires_grad=True)
(x @ x).sum().backward()
import threading
"""
WORKER = """
scale = 10.0
class Model(torch.nn.Module):
    def forward(self, x):
        return scale * x

def scaled(rank):
    return Model()(torch.tensor([rank + 1.0]))

def make(offset):
    def work(rank, world_size):
        total = scaled(rank) + offset
        dist.all_reduce(total)
        print("total", total.item())
        return total
    return work
"""


@pytest.fixture(scope="module")
def environment():
    return marked_environment()


@pytest.fixture(scope="module")
def notebook(environment, tmp_path_factory):
    """A kernel that has run threaded torch code before anything else."""
    with kernel(environment, tmp_path_factory.mktemp("notebook")) as running:
        output, error = running.run(THREADED)
        assert (output, error) == ("", "")
        yield running
    wait_until_gone(environment)


def test_a_worker_of_a_cell_works_with_its_closure_globals_and_helpers(notebook):
    notebook.run(WORKER)
    output, error = notebook.run("print(run(make(0.5)))")
    assert error == ""
    assert output == ("[rank 0] total 31.0\n[rank 1] total 31.0\n[tensor([31.]), tensor([31.])]\n")


def test_a_second_run_is_quick(notebook):
    """Not a benchmark: 3 s is what a chapter can bear; warm ranks need a tenth of a second."""
    notebook.run(WORKER + "run(make(0))")
    started_s = time.monotonic()
    notebook.run("run(make(0))")
    assert time.monotonic() - started_s < 3.0


def test_an_exception_of_a_cells_worker_quotes_the_cell_without_paths(notebook):
    notebook.run(
        "def fail(rank, world_size):\n"
        "    if rank == 1:\n"
        "        raise ValueError('only rank 1')\n"
        "    dist.barrier()\n"
    )
    output, error = notebook.run("run(fail)")
    assert error.startswith("DistributedError: rank 1 of 2 failed first, ")
    assert 'File "<cell>", line 3, in fail\n      raise ValueError' in error
    assert 'File "<cell>", line 4, in fail\n      dist.barrier()' in error
    assert "ipykernel_" not in error
    assert output == ""


def test_classes_of_cells_come_back_as_the_same_class(notebook):
    notebook.run(
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Point:\n    x: int\n"
        "points = run(lambda rank, world_size: Point(rank))"
    )
    output, error = notebook.run("print(points == [Point(0), Point(1)])")
    assert (output, error) == ("True\n", "")


def test_an_interrupt_stops_the_ranks_and_the_kernel_goes_on(notebook, environment):
    notebook.run(
        "import subprocess, time\n"
        "def hang(rank, world_size):\n"
        "    subprocess.Popen(['sleep', '1234'])\n"
        "    time.sleep(1000)\n"
    )
    before = set(marked_processes(environment))
    message = notebook.client.execute("run(hang)")
    wait_for(lambda: len(set(marked_processes(environment)) - before) >= 4)
    notebook.manager.interrupt_kernel()
    reply = notebook.client.get_shell_msg(timeout=20)
    assert reply["parent_header"]["msg_id"] == message
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert not any("sleep 1234" in line for line in marked_processes(environment).values())
    assert set(marked_processes(environment)) <= before
    assert notebook.run("print(run(lambda rank, size: rank))") == ("[0, 1]\n", "")


def test_a_killed_kernel_leaves_no_process_though_interrupts_were_ignored(tmp_path):
    environment = marked_environment()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for a job in the background
    try:
        with kernel(environment, tmp_path) as running:
            signal.signal(signal.SIGINT, handler)
            running.run("import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n" + THREADED)
            running.client.execute(
                "def hang(rank, world_size):\n"
                "    import signal, subprocess, time\n"
                "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
                "    subprocess.Popen(['sleep', '1000'], start_new_session=bool(rank))\n"
                "    dist.barrier()\n"
                "    time.sleep(1000)\n"
                "run(hang, 2)"
            )
            wait_for(lambda: len(marked_processes(environment)) >= 6)
            os.kill(running.pid, signal.SIGKILL)
            wait_until_gone(environment, timeout_s=5.0)
    finally:
        signal.signal(signal.SIGINT, handler)
