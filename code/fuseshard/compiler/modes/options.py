"""What each mode of torch.compile switches, read from torch itself."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch

# Loaded for its logger: a mode goes to a backend of this module. Checked on torch 2.11 and 2.13.
import torch._dynamo.backends.debugging

# Private, checked on torch 2.11 and 2.13: torch's own list of modes, and Inductor's settings.
from torch._inductor import config, list_mode_options, utils

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.records import Switch


def modes() -> tuple[str, ...]:
    """Return the names of all modes that this torch knows."""
    return tuple(list_mode_options())


def switches() -> tuple[Switch, ...]:
    """Return each option that some mode sets, with its value without a mode and in each mode.

    Returns:
        In the order in which torch lists modes and options.
    """
    by_mode = list_mode_options()
    defaults = config.get_config_copy()
    names = dict.fromkeys(option for options in by_mode.values() for option in options)
    return tuple(
        Switch(
            option=name,
            default=repr(defaults[name]),
            values={
                mode: repr(options[name]) for mode, options in by_mode.items() if name in options
            },
        )
        for name in names
    )


def refusal(**settings: Any) -> str:
    """Ask torch.compile for something that it refuses, and return what it says.

    Args:
        settings: keywords of torch.compile.

    Returns:
        Type and text of the error.

    Raises:
        ValueError: nothing was refused.
    """
    try:
        torch.compile(_plus_one, **settings)
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"
    raise ValueError(
        f"refusal: torch.compile took {settings}, must refuse it (the page quotes the error); "
        "pass settings that don't go together."
    )


def small_gpu_warnings(multiprocessors: int) -> tuple[bool, list[str]]:
    """Ask torch whether a GPU of some size is big enough for matrix products from templates.

    Args:
        multiprocessors: of a stand-in, whose properties torch's own test looks at.

    Returns:
        Torch's answer, and what it logs.
    """

    class StandIn:
        multi_processor_count = multiprocessors

    with (
        mock.patch.object(utils.DeviceProperties, "create", lambda device: StandIn),
        hearing("torch._inductor.utils") as heard,
    ):
        # Past the cache, which would keep the stand-in's answer for this process.
        is_big = bool(utils.is_big_gpu.__wrapped__(torch.device("cuda", 0)))
    return is_big, heard


def other_backend_warnings() -> list[str]:
    """Compile with a mode and another backend than Inductor, and return what torch logs."""
    compiled = torch.compile(isolated(_plus_one), mode="max-autotune", backend="eager")
    with hearing("torch._dynamo.backends.debugging") as heard:
        compiled(torch.ones(2))
    return heard


class _Collector(logging.Handler):
    """Keeps messages instead of printing them."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


@contextmanager
def hearing(prefix: str) -> Iterator[list[str]]:
    """Collect what some of torch's loggers warn of in a block, instead of printing it.

    Args:
        prefix: of the loggers' names; those that exist when the block begins.

    Yields:
        The messages so far.
    """
    collector = _Collector()
    known = [name for name in logging.root.manager.loggerDict if name.startswith(prefix)]
    loggers = [logging.getLogger(name) for name in known]
    before = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(collector)
        logger.propagate = False
    try:
        yield collector.messages
    finally:
        for logger, propagate in zip(loggers, before, strict=True):
            logger.removeHandler(collector)
            logger.propagate = propagate


def _plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1
