"""Room 7: breaks at places where Dynamo can't begin again, so that a whole function stays eager."""

# ruff: noqa: T201 - print is what the exhibits are about

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.breaks.exhibit import Exhibit, numbers
from fuseshard.compiler.dynamo.fresh import fresh


@contextlib.contextmanager
def nothing_around() -> Iterator[None]:
    """Stand for a context manager of one's own."""
    yield


def helper(x: torch.Tensor) -> torch.Tensor:
    """Print between two operations."""
    y = x + 1
    print("half way")
    return y * 2


def lstm_arguments() -> tuple[torch.Tensor, nn.Module]:
    """Make a sequence of three steps, and an LSTM for it."""
    x = torch.randn(3, 2, 4)
    return x, nn.LSTM(4, 5)


def print_in_loop(x: torch.Tensor) -> torch.Tensor:
    """Print in each round of a loop."""
    y = x * 2
    for index in range(3):
        y = y + index
        print("round", index)
    return y * 2


def item_in_loop(x: torch.Tensor) -> torch.Tensor:
    """Read a number in each round of a loop."""
    y = x * 2
    total = 0.0
    for row in range(3):
        total += y[row].item()
    return y * total


def print_in_try(x: torch.Tensor) -> torch.Tensor:
    """Print where an exception would be caught."""
    y = x * 2
    try:
        y = y + 1
        print("half way")
        y = y * 2
    except ValueError:
        y = x
    return y - 1


def print_in_context(x: torch.Tensor) -> torch.Tensor:
    """Print inside a context manager of one's own."""
    y = x * 2
    with nothing_around():
        y = y + 1
        print("half way")
        y = y * 2
    return y - 1


def print_in_no_grad(x: torch.Tensor) -> torch.Tensor:
    """Print inside one of torch's context managers."""
    y = x * 2
    with torch.no_grad():
        y = y + 1
        print("half way")
        y = y * 2
    return y - 1


def print_in_helper(x: torch.Tensor, call: Any) -> Any:
    """Print in a function that is called."""
    y = x * 2
    y = call(y)
    return y - 1


def lstm(x: torch.Tensor, layer: nn.Module) -> Any:
    """Call a recurrent layer."""
    y = x * 2
    result, _ = layer(y)
    return result - 1


_PRINT = {"reorderable_logging_functions": {print}}

EXHIBITS = (
    Exhibit(
        title="for ...: print(...)",
        code=print_in_loop,
        settings=_PRINT,
        remedy="config.reorderable_logging_functions",
    ),
    Exhibit(
        title="for ...: y[row].item()",
        code=item_in_loop,
        settings={"capture_scalar_outputs": True},
        remedy="config.capture_scalar_outputs",
    ),
    Exhibit(
        title="try: ... print(...)",
        code=print_in_try,
        settings=_PRINT,
        remedy="config.reorderable_logging_functions",
    ),
    Exhibit(
        title="with nothing_around(): ..",
        code=print_in_context,
        settings=_PRINT,
        remedy="config.reorderable_logging_functions",
    ),
    Exhibit(
        title="with no_grad(): print()",
        code=print_in_no_grad,
        settings=_PRINT,
        remedy="config.reorderable_logging_functions",
    ),
    Exhibit(
        title="call(y)  # prints",
        code=print_in_helper,
        make_args=lambda: (*numbers(), fresh(helper)),
        helpers=(helper,),
        settings=_PRINT,
        remedy="config.reorderable_logging_functions",
    ),
    Exhibit(
        title="nn.LSTM(4, 5)",
        code=lstm,
        make_args=lstm_arguments,
        settings={"allow_rnn": True},
        remedy="config.allow_rnn",
    ),
)
