"""The caller's side of the fork server: start it once, keep it warm, see it end."""

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from fuseshard.distributed.processes.frames import send_note

_END_S = 5.0
_BOOT = (
    "import json, sys; options = json.loads(sys.argv[2]); sys.path[:] = options['paths']; "
    "from fuseshard.distributed.processes.server import main; "
    "main(options['control'], options['caller'], options['idle_s'])"
)


class ServerHandle:
    """A running fork server as its caller sees it."""

    def __init__(self, environment: Mapping[str, str], idle_s: float) -> None:
        self.num_jobs = 0
        self.has_served = False  # else it may still be importing torch
        self._owner_pid = os.getpid()
        self._torch_settings = _torch_settings(environment)
        self._errors = os.memfd_create("fuseshard-server-stderr")
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        options = {
            "control": theirs.fileno(),
            "caller": os.getpid(),
            "idle_s": idle_s,
            "paths": [os.path.abspath(path) for path in sys.path],  # noqa: PTH100
        }
        # A session of its own: an interrupt from a terminal or a notebook is for the caller, who
        # decides what becomes of the ranks. One thread in its libraries: forks stay safe.
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOT, "fuseshard-fork-server", json.dumps(options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
            pass_fds=[theirs.fileno()],
            env={**environment, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            start_new_session=True,
        )
        theirs.close()
        atexit.register(self.close)

    def is_usable(self, environment: Mapping[str, str]) -> bool:
        """Whether it lives, is ours (not our parent's), and imported torch as we would now."""
        return (
            self._owner_pid == os.getpid()
            and self._torch_settings == _torch_settings(environment)
            and self._process.poll() is None
        )

    def open_job(self) -> socket.socket:
        """Return the channel of a new job."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                send_note(self._control, {"job": True}, (theirs.fileno(),))
            except ConnectionError:
                ours.close()
                raise
        self.num_jobs += 1
        return ours

    def kill(self) -> None:
        """End a server that doesn't answer; the ranks, tied to it, die too."""
        if self._owner_pid == os.getpid():
            self._process.kill()
            self._process.wait()

    def last_words(self) -> str:
        """What the server wrote to stderr."""
        return read_memory_file(self._errors)

    def close(self) -> None:
        """Let the server end, and see that it does."""
        atexit.unregister(self.close)
        self._control.close()
        os.close(self._errors)
        if self._owner_pid != os.getpid():
            self._process.returncode = 0  # in a fork of the owner: not our child to wait for
            return
        if self.num_jobs == 0:
            self._process.kill()  # it has no ranks to end first
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self.kill()


class ForkServers:
    """The one warm fork server of this process, started when first needed."""

    def __init__(self, idle_s: float = 600.0) -> None:
        self._idle_s = idle_s  # without a job, after which the server ends by itself
        self._lock = threading.Lock()
        self._current: ServerHandle | None = None

    def _open_job(self, environment: Mapping[str, str]) -> tuple[socket.socket, ServerHandle]:
        """Return a new job's channel, from a server started now if none is usable."""
        with self._lock:
            if self._current is not None and not self._current.is_usable(environment):
                self._retire()
            if self._current is None:
                self._current = ServerHandle(environment, self._idle_s)
            try:
                return self._current.open_job(), self._current
            except ConnectionError:  # it ended since we looked, say because it was idle
                self._retire()
                self._current = ServerHandle(environment, self._idle_s)
                return self._current.open_job(), self._current

    @contextmanager
    def job(self, environment: Mapping[str, str]) -> Iterator[tuple[socket.socket, ServerHandle]]:
        """Lend a new job's channel and the server behind it, and end the job."""
        channel, server = self._open_job(environment)
        try:
            yield channel, server
        finally:
            channel.close()
            with self._lock:
                server.num_jobs -= 1
                # One that was replaced meanwhile ends with its last job.
                if server.num_jobs == 0 and server is not self._current:
                    server.close()

    def close(self) -> None:
        """End the warm server, if there is one; the next run starts another."""
        with self._lock:
            if self._current is not None:
                self._retire()

    def _retire(self) -> None:
        server, self._current = self._current, None
        if server is not None and server.num_jobs == 0:
            server.close()


def read_memory_file(file: int, max_bytes: int = 10**9) -> str:
    """The text of a file that lives in memory, up to a size."""
    num_bytes = min(os.fstat(file).st_size, max_bytes)
    return os.pread(file, num_bytes, 0).decode(errors="replace")


def _torch_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that torch reads when it is imported."""
    return {name: value for name, value in environment.items() if name.startswith("TORCH")}
