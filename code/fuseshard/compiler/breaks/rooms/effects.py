"""Room 3: what a function does besides returning a result: print, log, count, store, mutate."""

# ruff: noqa: T201 - print is what the exhibits are about

import logging
import warnings
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.breaks.exhibit import Exhibit, numbers

LOGGER = logging.getLogger(__name__)
COUNTS = {"calls": 0}


class Counter(nn.Module):
    """A layer that counts its calls in a Python integer."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2


class TensorCounter(nn.Module):
    """A layer that counts its calls in a tensor."""

    calls: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return x * 2


class Store:
    """A plain object to leave things on."""


def print_tensor(x: torch.Tensor) -> torch.Tensor:
    """Print a value in passing."""
    y = x + 1
    print("mean", y.mean())
    return y * 2


def log_call(x: torch.Tensor) -> torch.Tensor:
    """Write a line to a log."""
    y = x + 1
    LOGGER.debug("half way")
    return y * 2


def warn(x: torch.Tensor) -> torch.Tensor:
    """Warn in passing."""
    y = x + 1
    warnings.warn("half way", stacklevel=2)
    return y * 2


def list_append(x: torch.Tensor, seen: list[Any]) -> torch.Tensor:
    """Note something in a list that outlives the call."""
    y = x + 1
    seen.append(y.shape[0])
    return y * 2


def dict_count(x: torch.Tensor) -> torch.Tensor:
    """Count calls in a global dictionary."""
    y = x + 1
    COUNTS["calls"] += 1
    return y * 2


def module_count(x: torch.Tensor, layer: nn.Module) -> torch.Tensor:
    """Call a layer that counts in `self.calls += 1`."""
    y = x + 1
    return layer(y) * 2


def dict_store(x: torch.Tensor, store: dict[str, Any]) -> torch.Tensor:
    """Keep a tensor in a dictionary."""
    y = x + 1
    store["last"] = y
    return y * 2


def attribute_store(x: torch.Tensor, store: Any) -> torch.Tensor:
    """Keep a tensor on an object."""
    y = x + 1
    store.last = y
    return store.last * 2


def local_list(x: torch.Tensor) -> torch.Tensor:
    """Build a list and a dictionary, and use both."""
    rows, places = [], {}
    for index in range(3):
        rows.append(x + index)
        places[index] = len(rows)
    return torch.stack(rows) * places[2]


def in_place(x: torch.Tensor) -> torch.Tensor:
    """Change an argument."""
    x.add_(1)
    x[0] = 7
    return x * 2


_REORDER = "reorderable_logging_functions"

EXHIBITS = (
    Exhibit(
        title="print(y.mean())",
        code=print_tensor,
        settings={_REORDER: {print}},
        remedy="config.reorderable_logging_functions",
        cause="print",
    ),
    Exhibit(
        title='LOGGER.debug("...")',
        code=log_call,
        settings={"ignore_logging_functions": {LOGGER.debug}},
        remedy="config.ignore_logging_functions",
    ),
    Exhibit(
        title='warnings.warn("...")',
        code=warn,
        settings={_REORDER: {warnings.warn}},
        remedy="config.reorderable_logging_functions",
    ),
    Exhibit(
        title="seen.append(y.shape[0])",
        code=list_append,
        make_args=lambda: (*numbers(), []),
        cause="mutation",
    ),
    Exhibit(title='COUNTS["calls"] += 1', code=dict_count, cause="mutation"),
    Exhibit(
        title="self.calls += 1",
        code=module_count,
        make_args=lambda: (*numbers(), Counter()),
        cause="mutation",
    ),
    Exhibit(
        title='store["last"] = y',
        code=dict_store,
        make_args=lambda: (*numbers(), {}),
        cause="mutation",
    ),
    Exhibit(
        title="store.last = y",
        code=attribute_store,
        make_args=lambda: (*numbers(), Store()),
        cause="mutation",
    ),
    Exhibit(title="rows.append(x + index)", code=local_list, cause="mutation"),
    Exhibit(title="x.add_(1)", code=in_place, cause="mutation"),
)
