"""What is left after a run: nothing. Scripts of their own with 2 gloo ranks.

Oracle: /proc, the file system and the port's owner.
"""

import os
import shutil
import socket
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.processes.caller import ForkServers
from tests.distributed.helpers import (
    marked_environment,
    marked_processes,
    run_script,
    start_script,
    wait_for,
    wait_until_gone,
)

pytestmark = pytest.mark.ranks

HEAD = """
import os, signal, subprocess, sys, time
import torch, torch.distributed as dist
from fuseshard.distributed.launcher import DistributedError, run

def add_up(rank, world_size):
    total = torch.tensor([rank + 1.0])
    dist.all_reduce(total)
    return total.item()

def hang(rank, world_size):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "1000"], start_new_session=bool(rank))
    time.sleep(1000)
"""


def test_twenty_runs_leave_no_open_file_and_no_child_in_the_caller():
    def state():
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        return len(list(Path("/proc/self/fd").iterdir())), children

    def work(rank, world_size, fails):
        if fails:
            raise ValueError("boom")

    run(work, 2, args=(False,))
    before = state()
    for index in range(20):
        if index % 10 == 9:
            with pytest.raises(DistributedError):
                run(work, 2, args=(True,))
        else:
            run(work, 2, args=(False,))
    assert state() == before


def test_a_caller_that_ends_leaves_no_process_and_no_file(tmp_path):
    """An aborting rank would write a core file, a rendezvous through files its file."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = marked_environment(TMPDIR=str(temporary))
    in_memory_before = set(Path("/dev/shm").iterdir())
    code = (
        HEAD
        + """
assert run(add_up) == [3.0, 3.0]
try:
    run(lambda rank, size: os.abort())
except DistributedError as error:
    print(error.reason)
"""
    )
    assert "killed by SIGABRT" in run_script(code, environment, tmp_path)
    wait_until_gone(environment, timeout_s=2.0)
    # Importing torch's compiler makes its one cache folder a user, with or without ranks.
    left = {path.name for path in temporary.iterdir() if "torchinductor_" not in path.name}
    assert left == set()
    left = {path.name for path in tmp_path.iterdir()} - {"temporary"}
    assert [name for name in left if not name.startswith("script_")] == []
    ours = {path for path in Path("/dev/shm").iterdir() if "fuseshard" in path.name}
    assert ours <= in_memory_before


def test_a_caller_that_is_terminated_leaves_no_process(tmp_path):
    """SIGTERM ends Python without exit handlers; SIGKILL is for a real kernel, elsewhere."""
    environment = marked_environment()
    with start_script(HEAD + "run(hang)", environment, tmp_path) as process:
        wait_for(lambda: "sleep 1000" in " ".join(marked_processes(environment).values()))
        wait_for(lambda: len(marked_processes(environment)) >= 6)  # also 2 ranks, server, caller
        process.terminate()
        process.communicate(timeout=20)
    wait_until_gone(environment)


def test_a_caller_killed_while_a_fork_of_it_lives_on_leaves_no_rank(tmp_path):
    """The fork holds the caller's end of the socket open, so that end-of-file never comes."""
    environment = marked_environment()
    code = HEAD + "run(add_up)\nif os.fork() == 0:\n    time.sleep(1000)\nrun(hang)"
    with start_script(code, environment, tmp_path) as process:
        wait_for(lambda: len(marked_processes(environment)) >= 7)
        servers = [pid for pid, line in marked_processes(environment).items() if "-server" in line]
        assert len(servers) >= 3  # the server and its two forks
        process.kill()
        process.wait()

        def only_the_fork():
            left = marked_processes(environment)
            return left if not any("-server" in line for line in left.values()) else None

        (fork,) = wait_for(only_the_fork)
        os.kill(fork, 9)
        process.communicate(timeout=20)
    wait_until_gone(environment)


def test_a_fork_of_the_caller_gets_a_server_of_its_own(tmp_path):
    environment = marked_environment()
    code = (
        HEAD
        + """
print(run(add_up), flush=True)
if (child := os.fork()) == 0:
    print(run(add_up), flush=True)
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(run(add_up))
"""
    )
    assert run_script(code, environment, tmp_path).split("\n") == ["[3.0, 3.0]"] * 3 + [""]
    wait_until_gone(environment, timeout_s=2.0)


def test_an_idle_server_ends_and_another_takes_over():
    servers = ForkServers(idle_s=0.3)
    channel, first = servers.open_job(dict(os.environ))
    servers.close_job(channel, first)
    wait_for(lambda: not first.is_usable(dict(os.environ)))
    channel, second = servers.open_job(dict(os.environ))
    assert second is not first
    servers.close_job(channel, second)
    servers.close()


def test_a_run_needs_neither_port_29500_nor_keeps_a_port():
    def listening(rank, world_size):
        return int(os.environ["MASTER_PORT"])

    with closing(socket.socket()) as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            held.bind(("127.0.0.1", 29500))
            held.listen()
        except OSError:  # somebody holds it already, which is what the test wants
            assert held.connect_ex(("127.0.0.1", 29500)) == 0
        ports = run(listening)
    assert 29500 not in ports
    with closing(socket.socket()) as probe:
        assert probe.connect_ex(("127.0.0.1", ports[0])) != 0


def test_two_callers_at_once_dont_meet(tmp_path):
    environment = marked_environment()
    code = HEAD + "print([run(add_up, 3) for _ in range(3)])"
    processes = [start_script(code, environment, tmp_path) for _ in range(2)]
    for process in processes:
        output, errors = process.communicate(timeout=60)
        assert (output, errors) == (f"{[[6.0] * 3] * 3}\n", "")
    wait_until_gone(environment, timeout_s=2.0)


NO_NAMES = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
typedef int (*lookup)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
int gethostname(char *name, size_t size) { strncpy(name, "no-such-host.invalid", size); return 0; }
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **result) {
    if (node && strspn(node, "0123456789.:abcdef") != strlen(node)) return EAI_NONAME;
    return ((lookup)dlsym(RTLD_NEXT, "getaddrinfo"))(node, service, hints, result);
}
"""


@pytest.fixture(scope="module")
def without_names(tmp_path_factory):
    """A library that makes every look-up of a host name fail, this host's included."""
    folder = tmp_path_factory.mktemp("without_names")
    (folder / "no_names.c").write_text(NO_NAMES)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler is required, as for the book itself"
    command = [compiler, "-shared", "-fPIC", "-o", "no_names.so", "no_names.c", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "no_names.so")


def test_a_run_works_where_no_host_name_can_be_resolved(tmp_path, without_names):
    environment = marked_environment(LD_PRELOAD=without_names)
    code = (
        HEAD
        + """
import socket
for name in (socket.gethostname(), "localhost"):
    try:
        socket.getaddrinfo(name, 80)
    except socket.gaierror:
        print("unresolvable", name)
print(run(add_up))
"""
    )
    assert run_script(code, environment, tmp_path).splitlines() == [
        "unresolvable no-such-host.invalid",
        "unresolvable localhost",
        "[3.0, 3.0]",
    ]
