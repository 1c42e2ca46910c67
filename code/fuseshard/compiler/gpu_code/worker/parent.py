"""Warm processes that do one kind of work for this one: start, ask, and see them end.

Writing code for a GPU that isn't there changes torch for a whole process, and Triton's interpreter
and compiler can't live in one. So each has a process of its own, started when first needed and
kept, since importing Inductor takes seconds.
"""

import atexit
import functools
import importlib
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

from fuseshard.compiler.gpu_code.worker.child import Failure
from fuseshard.compiler.text import clean

TIME_LIMIT_S = 120.0
_START_LIMIT_S = 120.0
_END_LIMIT_S = 5.0
_IDLE_S = 900.0
_LAST_LINES = 8
_NO_GPU = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
"""hides a real GPU, so that the described one is the only one"""
# This process neither reads nor copies its environment: the child makes its own fit before torch
# is imported. Debugging switches of torch and Triton would change what is written, so they go;
# where caches and tools are found may stay.
_BOOT = """
import json, os, sys
options = json.loads(sys.argv[2])
for name in list(os.environ):
    if name.startswith(("TORCH", "TRITON")) and not name.endswith(("_DIR", "_HOME", "_PATH")):
        del os.environ[name]
os.environ.update(options["variables"])
sys.path[:] = options["paths"]
exec(options["prelude"])
from fuseshard.compiler.gpu_code.worker.child import serve
serve(options["channel"], options["parent"], options["tasks"], options["idle_s"])
"""


class GpuBuildError(RuntimeError):
    """Writing or interpreting GPU code failed; the message says how."""

    details: str = ""
    """the traceback in the process that did it"""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What a worker is for."""

    tasks: str
    """dotted name of the module whose functions it runs"""
    variables: Mapping[str, str] = field(default_factory=dict)
    """environment, set before anything is imported"""
    prelude: str = ""
    """Python, run before the module of tasks is imported"""


class Worker:
    """A process for one kind of work; several threads may ask, one after the other."""

    def __init__(self, work: Work, *, idle_s: float = _IDLE_S) -> None:
        """Remember the work; the process starts with the first task.

        Args:
            work: what the process is for.
            idle_s: seconds without a task, after which it ends by itself.
        """
        self._work = work
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._process: _Process | None = None
        _forget_in_forks()
        _workers.add(self)

    @property
    def pid(self) -> int | None:
        """Id of the process; None before the first task and after an end."""
        return self._process.pid if self._process else None

    def ask(self, task: str, *args: Any, limit_s: float = TIME_LIMIT_S) -> Any:
        """Have a task done.

        Args:
            task: name of a function in the module of tasks.
            args: for it; they are pickled.
            limit_s: seconds, without those in which the process starts.

        Returns:
            What the function returned, pickled on the way.

        Raises:
            TimeoutError: it took longer; the process was killed, and the next task starts one.
            GpuBuildError: the process ended, or the function raised something else than
                ValueError or an error of this package, which are raised as they are.
        """
        request = pickle.dumps((task, args))
        with self._lock:
            if self._process is not None and not self._process.is_usable():
                self._end()
            try:
                if self._process is None:
                    self._process = _Process(self._work, self._idle_s)
                    atexit.register(self.close)
                    _require_success(self._process.answer(None, _START_LIMIT_S))
                answer = self._process.answer(request, limit_s)
            # An interrupt, too: the answer on its way would be taken for the next task's.
            except BaseException:
                self._end()
                raise
        return _require_success(answer)

    def close(self) -> None:
        """End the process, if there is one."""
        with self._lock:
            self._end()

    def forget(self) -> None:
        """Leave the process to the one that started it; for the child after a fork."""
        self._lock = threading.Lock()  # another thread may have held it, which isn't here
        if self._process is not None:
            self._process.forget()
        self._process = None

    def _end(self) -> None:
        atexit.unregister(self.close)
        if self._process is not None:
            self._process.kill()
        self._process = None


class _Process:
    """A running child and the channel to it."""

    def __init__(self, work: Work, idle_s: float) -> None:
        # A file without a name: the child never waits for somebody to read what it prints.
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 # kill() closes it
        ours, theirs = socket.socketpair()
        options = {
            "channel": theirs.fileno(),
            "parent": os.getpid(),
            "tasks": work.tasks,
            "idle_s": idle_s,
            "paths": [os.path.abspath(path) for path in sys.path],  # noqa: PTH100
            "variables": {**_NO_GPU, **work.variables},
            "prelude": work.prelude,
        }
        with theirs:
            # A session of its own: an interrupt from a terminal is for the caller, and a kill
            # reaches the assembler that the child may have started.
            self._popen = subprocess.Popen(
                [sys.executable, "-P", "-c", _BOOT, "fuseshard-worker", json.dumps(options)],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                pass_fds=[theirs.fileno()],
                cwd=tempfile.gettempdir(),
                start_new_session=True,
            )
        self._channel = Connection(ours.detach())

    @property
    def pid(self) -> int:
        """Process id."""
        return self._popen.pid

    def is_usable(self) -> bool:
        """Whether it lives and waits; between tasks, only an end makes the channel readable."""
        return self._popen.poll() is None and not self._channel.poll(0)

    def answer(self, request: bytes | None, limit_s: float) -> Any:
        """Send a request, or none, and wait for the answer.

        Raises:
            TimeoutError: it takes longer.
            GpuBuildError: the process ended.
        """
        self._forget_output()
        try:
            if request is not None:
                self._channel.send_bytes(request)
            if self._channel.poll(limit_s):
                return pickle.loads(self._channel.recv_bytes())
        except (EOFError, OSError) as error:
            raise self._obituary() from error
        raise TimeoutError(
            f"the process that does this for a GPU ran for {limit_s:g} s without an answer, and "
            "was ended; is there a loop without end in the program? Otherwise make it smaller."
        )

    def kill(self) -> None:
        """End it, with what it started."""
        if self._popen.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.wait()
        self._channel.close()
        self._output.close()

    def forget(self) -> None:
        """Close this fork's copies of the files; the child serves the process that started it."""
        self._popen.returncode = 0  # not ours to wait for
        self._channel.close()
        self._output.close()

    def _forget_output(self) -> None:
        """Empty the file; the child writes on from the same place, which is shared."""
        self._output.seek(0)
        self._output.truncate()

    def _obituary(self) -> GpuBuildError:
        """Say how it ended, with the last that it wrote."""
        try:
            code = self._popen.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:  # it closed the channel, and hangs in its own end
            code = -signal.SIGKILL
        how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
        self._output.seek(0)
        text = clean(self._output.read().decode(errors="replace"))
        last = "\n".join(text.splitlines()[-_LAST_LINES:])
        error = GpuBuildError(
            f"the process that does this for a GPU ended {how}"
            + (f"; the last that it wrote:\n{last}" if last else " and wrote nothing")
        )
        error.details = text
        return error


_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


@functools.cache
def _forget_in_forks() -> None:
    """See to it, once, that a fork of this process starts workers of its own."""
    os.register_at_fork(after_in_child=_forget_all)


def _forget_all() -> None:
    for worker in list(_workers):
        worker.forget()


def _require_success(answer: Any) -> Any:
    """Return what a task returned, or raise what it raised."""
    if not isinstance(answer, Failure):
        return answer.value
    raise _exception(answer)


def _exception(failure: Failure) -> Exception:
    """Make the exception again if its class is one that the caller knows."""
    message = clean(failure.message)
    if failure.module == "builtins" and failure.name == "ValueError":
        return ValueError(message)
    if failure.module.partition(".")[0] == "fuseshard":
        kind = getattr(importlib.import_module(failure.module), failure.name)
        made: Exception = kind(message)
        return made
    error = GpuBuildError(f"{failure.name}: {message}")
    error.details = clean(failure.details)
    return error
