"""What the workers of test_parent.py do: plain Python, so that they start in a moment."""

import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from fuseshard.measure.schema import RecordError

STARTED: list[int] = []


def start() -> None:
    STARTED.append(os.getpid())


def starts() -> list[int]:
    return STARTED


def double(number: Any, wait_s: float = 0.0) -> Any:
    time.sleep(wait_s)
    return number * 2


def variables(names: list[str]) -> list[str | None]:
    return [os.environ.get(name) for name in names]


def speak(text: str) -> None:
    print(text)
    print(text, file=sys.stderr, flush=True)


def crash(last_words: str) -> None:
    speak(last_words)
    os.kill(os.getpid(), signal.SIGSEGV)


def leave(code: int) -> None:
    os._exit(code)


def loop(path: str | None = None) -> None:
    if path is not None:
        Path(path).touch()
    while True:
        pass


def fail(kind: str) -> None:
    raise {"ValueError": ValueError, "RecordError": RecordError, "KeyError": KeyError}[kind](
        "seven, must be eight"
    )


def lock() -> object:
    return threading.Lock()
