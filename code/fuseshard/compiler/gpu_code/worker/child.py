"""The working side of a worker: does what its parent asks for, one task after the other.

Messages are pickles of plain tuples over a socket pair. The parent sends (task, arguments), where
the task is a function of the module that the worker was started for; the answer is a `Success` or
a `Failure`.
"""

import faulthandler
import importlib
import os
import pickle
import signal
import threading
import time
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

_LOOK_ROUND_S = 0.5


@dataclass(frozen=True)
class Success:
    """What a task returned."""

    value: Any


@dataclass(frozen=True)
class Failure:
    """How a task failed, in words: the exception itself may be of a class only known here."""

    module: str
    """of the exception's class"""
    name: str
    """of the exception's class"""
    message: str
    details: str
    """the traceback"""


def serve(channel_file: int, parent_pid: int, tasks: str, idle_s: float) -> None:
    """Import the module of tasks, say that it is there, and work until nobody needs it.

    Args:
        channel_file: number of the open socket that leads to the parent.
        parent_pid: with that process, this one ends too.
        tasks: dotted name of the module; its function `start()` is called first.
        idle_s: seconds without a task, after which the process ends.
    """
    faulthandler.enable()  # so that a crash in C++ leaves the Python lines that led there
    threading.Thread(target=_end_with, args=(parent_pid,), daemon=True).start()
    connection = Connection(channel_file)
    try:
        connection.send_bytes(_answer(tasks, "start", ()))
        while connection.poll(idle_s):
            task, args = pickle.loads(connection.recv_bytes())
            connection.send_bytes(_answer(tasks, task, args))
    except (EOFError, ConnectionError):  # the parent closed its end, or is gone
        return


def _answer(tasks: str, task: str, args: tuple[Any, ...]) -> bytes:
    """Do a task; what goes wrong, in it or in pickling what it returns, is the answer."""
    try:
        return pickle.dumps(Success(getattr(importlib.import_module(tasks), task)(*args)))
    except Exception as error:
        kind = type(error)
        details = "".join(traceback.format_exception(error))
        return pickle.dumps(Failure(kind.__module__, kind.__qualname__, str(error), details))


def _end_with(parent_pid: int) -> None:
    """Wait for the parent's end, and take this process and what it started along.

    The channel's end shows only between tasks, and not while a fork of the parent holds it open.
    """
    while os.getppid() == parent_pid:
        time.sleep(_LOOK_ROUND_S)
    os.killpg(0, signal.SIGKILL)
