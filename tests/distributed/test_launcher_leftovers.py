"""What is left after a run: nothing. Scripts of their own with 2 gloo ranks.

Oracle: /proc, the file system and the port's owner.
"""

import os
import shutil
import socket
import subprocess
import time
from contextlib import closing
from dataclasses import dataclass
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


def test_a_fork_of_the_caller_runs_beside_it_with_a_server_of_its_own(tmp_path):
    environment = marked_environment()
    code = (
        HEAD
        + """
print(run(add_up), flush=True)
child = os.fork()
print([run(add_up, 3) for _ in range(3)], flush=True)  # both at once
if child == 0:
    sys.exit(0)
assert os.waitpid(child, 0)[1] == 0
print(run(add_up))
"""
    )
    first, *both, last = run_script(code, environment, tmp_path).splitlines()
    assert (first, last) == ("[3.0, 3.0]", "[3.0, 3.0]")
    assert both == [str([[6.0] * 3] * 3)] * 2
    wait_until_gone(environment, timeout_s=2.0)


def test_an_idle_server_ends_and_another_takes_over():
    servers = ForkServers(idle_s=0.3)
    with servers.job(dict(os.environ)) as (_, first):
        pass
    wait_for(lambda: not first.is_usable(dict(os.environ)))
    with servers.job(dict(os.environ)) as (_, second):
        assert second is not first
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


ENDS = """
import socket
for name in (socket.gethostname(), "localhost"):
    try:
        socket.getaddrinfo(name, 80)
    except socket.gaierror:
        print("unresolvable", name)
print(run(add_up))
try:
    run(lambda rank, size: os.abort())
except DistributedError as error:
    print(error.reason)
"""


@dataclass(frozen=True)
class Ended:
    """A caller that ran on a machine that knows no host name, and then ended."""

    lines: list[str]
    gone_after_s: float
    folder: Path
    temporary: Path
    in_memory: set[Path]


@pytest.fixture(scope="module")
def ended(tmp_path_factory):
    library = tmp_path_factory.mktemp("names")
    (library / "no_names.c").write_text(NO_NAMES)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    assert compiler, "a C compiler is required, as for the book itself"
    command = [compiler, "-shared", "-fPIC", "-o", "no_names.so", "no_names.c", "-ldl"]
    subprocess.run(command, cwd=library, check=True)
    folder, temporary = tmp_path_factory.mktemp("folder"), tmp_path_factory.mktemp("temporary")
    environment = marked_environment(TMPDIR=str(temporary), LD_PRELOAD=str(library / "no_names.so"))
    before = set(Path("/dev/shm").iterdir())
    lines = run_script(HEAD + ENDS, environment, folder).splitlines()
    ended_s = time.monotonic()
    wait_until_gone(environment)
    in_memory = {path for path in Path("/dev/shm").iterdir() if "fuseshard" in path.name}
    return Ended(lines, time.monotonic() - ended_s, folder, temporary, in_memory - before)


def test_a_run_works_where_no_host_name_can_be_resolved(ended):
    assert ended.lines[:3] == [
        "unresolvable no-such-host.invalid",
        "unresolvable localhost",
        "[3.0, 3.0]",
    ]


def test_a_caller_that_ends_leaves_no_process(ended):
    assert ended.gone_after_s < 2.0


def test_a_caller_that_ends_leaves_no_file(ended):
    """An aborting rank would write a core file, a rendezvous through files its file."""
    assert "killed by SIGABRT" in ended.lines[3]
    # Importing torch's compiler makes its one cache folder a user, with or without ranks.
    left = {path.name for path in ended.temporary.iterdir() if "torchinductor_" not in path.name}
    assert left == set()
    (script,) = ended.folder.iterdir()
    assert script.name.startswith("script_")
    assert ended.in_memory == set()
