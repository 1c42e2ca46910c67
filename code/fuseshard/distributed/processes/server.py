"""The fork server: a small process that has imported torch once and forks ranks off itself.

The caller can't fork (it has run threads) and a fresh interpreter imports torch for seconds.
This process never runs the caller's code nor a torch operation, so it has one thread and its
forks are safe. It ends with its caller, however that ends, and takes all ranks along.
"""

import contextlib
import ctypes
import gc
import importlib
import os
import signal
import socket
import time
from pathlib import Path

from fuseshard.distributed.processes.frames import (
    has_hung_up,
    readable,
    receive_note,
    send_note,
)
from fuseshard.distributed.processes.rank import STACK_SIGNAL, run_rank

_PRELOADED = (  # what chapters use; together they would cost each rank a second or two
    "torch.distributed.tensor",
    "torch.distributed.fsdp",
    "torch.distributed.pipelining",
)
_LOOK_ROUND_S = 1.0
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


class Job:
    """The ranks of one run and the channel to their caller."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.ranks: dict[int, int] = {}  # process id -> rank

    def report(self, pid: int, status: int) -> None:
        """Tell the caller that a rank has ended."""
        rank = self.ranks.pop(pid)
        self.tell({"ended": rank, "status": status, "time_s": time.monotonic()})

    def tell(self, note: dict[str, float]) -> None:
        """Send the caller a note; it may be gone."""
        with contextlib.suppress(OSError):
            send_note(self.channel, note)


class ForkServer:
    """Starts ranks on request, reports their end, and leaves none behind."""

    def __init__(self, control: socket.socket, caller_pid: int, idle_s: float) -> None:
        self._control = control
        self._caller_pid = caller_pid
        self._idle_s = idle_s
        self._is_leaving = False
        self._jobs: list[Job] = []
        self._wakeup, signalled = socket.socketpair()
        self._wakeup.setblocking(False)
        signalled.setblocking(False)
        self._signalled = signalled
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(signalled.fileno(), warn_on_full_buffer=False)
        # Processes that a rank starts and forgets become children of this one.
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)

    def serve(self) -> None:
        """Work until the caller is gone or has asked for nothing for a long time."""
        idle_since = time.monotonic()
        try:
            # The control socket closes when the caller dies. The look at the parent is for the
            # case that a fork of the caller lives on and holds that socket open.
            while os.getppid() == self._caller_pid:
                sources = [self._wakeup, *(job.channel for job in self._jobs)]
                if not self._is_leaving:
                    sources.append(self._control)
                ready = readable(sources, min(_LOOK_ROUND_S, self._idle_s))
                self._reap()
                if self._control in ready and not self._accept():
                    return
                for job in [job for job in self._jobs if job.channel in ready]:
                    self._obey(job)
                if self._jobs:
                    idle_since = time.monotonic()
                elif self._is_leaving:
                    return
                elif time.monotonic() - idle_since > self._idle_s:
                    self._leave()
        finally:
            for job in list(self._jobs):
                self._end(job)
            self._end_orphans()

    def _leave(self) -> None:
        """Refuse further jobs, so that the caller starts another server; take those on the way."""
        self._is_leaving = True
        self._control.shutdown(socket.SHUT_RD)
        while self._accept():
            pass

    def _accept(self) -> bool:
        """Take a new job's channel; False when the caller is gone."""
        note, files = receive_note(self._control)
        if note is None:
            return False
        self._jobs.append(Job(socket.socket(fileno=files[0])))
        return True

    def _obey(self, job: Job) -> None:
        note, files = receive_note(job.channel)
        if note is None:
            self._end(job)
        elif "start" in note:
            self._start(job, note["start"], dict(zip(note["files"], files, strict=True)))
        elif "stacks" in note:
            for pid in job.ranks:
                os.kill(pid, STACK_SIGNAL)

    def _start(self, job: Job, rank: int, files: dict[str, int]) -> None:
        """Fork a rank, unless the caller gave the job up while it waited for this process."""
        if not has_hung_up(job.channel):
            server_pid = os.getpid()
            pid = os.fork()
            if pid == 0:
                run_rank(rank, files, server_pid)
            job.ranks[pid] = rank
            job.tell({"started": rank})
        for file in files.values():
            os.close(file)

    def _reap(self) -> None:
        """Collect ended children; a rank's own children are killed with it."""
        with contextlib.suppress(BlockingIOError):
            self._wakeup.recv(4096)
        with contextlib.suppress(ChildProcessError):
            # First look, then collect: until collected, the id can't belong to another.
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                jobs = [job for job in self._jobs if ended.si_pid in job.ranks]
                if jobs:
                    _kill(ended.si_pid)
                _, status = os.waitpid(ended.si_pid, 0)
                for job in jobs:
                    job.report(ended.si_pid, status)

    def _end(self, job: Job) -> None:
        """Kill what is left of a job; its channel closes when nothing is."""
        for pid in job.ranks:
            _kill(pid)
        while job.ranks:
            self._reap()
            time.sleep(0.001)
        self._jobs.remove(job)
        if not self._jobs:
            self._end_orphans()
        job.channel.close()

    def _end_orphans(self) -> None:
        """Kill processes that ranks left behind, and theirs, until there are none."""
        while orphans := _children(os.getpid()):
            for pid in orphans:
                _kill(pid)
            self._reap()
            time.sleep(0.001)


def _kill(pid: int) -> None:
    """Kill a process and the process group that it leads."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError):
            kill(pid, signal.SIGKILL)


def _children(parent_pid: int) -> list[int]:
    """Process ids of the direct children, ended but uncollected ones included."""
    pids = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    return [pid for pid in pids if _parent(pid) == parent_pid]


def _parent(pid: int) -> int:
    """Process id of a process's parent; 0 if it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0
    # The name in parentheses may hold spaces; the parent is the second field after it.
    return int(text.rpartition(")")[2].split()[1])


def main(control_file: int, caller_pid: int, idle_s: float) -> None:
    """Import what ranks need, then serve."""
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, STACK_SIGNAL):
        signal.signal(name, signal.SIG_DFL)  # a caller in the background had some ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for module in _PRELOADED:
        importlib.import_module(module)
    gc.collect()
    gc.freeze()  # forks share these objects' memory until someone writes to it
    ForkServer(socket.socket(fileno=control_file), caller_pid, idle_s).serve()
