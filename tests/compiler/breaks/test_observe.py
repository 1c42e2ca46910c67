"""Watching one function under torch.compile. Oracles: eager mode, and what the function prints."""

import logging
from typing import Any

import pytest
import torch

from fuseshard.compiler.breaks.exhibit import numbers
from fuseshard.compiler.breaks.observe import DYNAMO_LOG, LOG, observe


def plain(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1


def talking(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    print("half way")
    return y + 1


def appending(x: torch.Tensor, seen: list[Any]) -> torch.Tensor:
    seen.append(x * 2)
    return x + 1


def test_a_function_without_a_break_is_one_graph_with_its_operations() -> None:
    trial = observe(plain, numbers, calls=3)
    assert trial.graphs == (1, 0, 0)
    assert trial.operations == (2,)
    assert trial.is_whole
    assert trial.printed == ("", "", "")


def test_a_break_has_its_line_its_ending_and_what_was_printed() -> None:
    trial = observe(talking, numbers)
    (found,) = trial.breaks
    assert (found.line, found.ending) == (3, "resumed")
    assert trial.printed == ("half way\n",)
    assert trial.is_same
    assert not trial.is_whole


def test_under_fullgraph_the_break_is_an_error_at_the_same_line() -> None:
    trial = observe(talking, numbers, fullgraph=True, calls=3)
    assert trial.error is not None
    assert (trial.error.line, trial.error.ending) == (3, None)
    assert trial.graphs == (0,)
    assert not trial.is_same


def test_lists_among_the_arguments_count_as_results() -> None:
    assert observe(appending, lambda: (*numbers(), [])).is_same

    def forgetful(x: torch.Tensor, seen: list[Any]) -> torch.Tensor:
        return x + 1

    trial = observe(forgetful, lambda: (*numbers(), []), reference=appending)
    assert trial.graphs == (1,)
    assert not trial.is_same


def test_another_result_than_the_references_is_noticed() -> None:
    def almost(x: torch.Tensor) -> torch.Tensor:
        return x * 2 + 1.0000001

    assert observe(plain, numbers, reference=plain).is_same
    assert not observe(almost, numbers, reference=plain).is_same


def test_neither_logs_nor_warnings_nor_prints_get_out(capfd: pytest.CaptureFixture[str]) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        print(y.sum().item())
        return y

    observe(noisy, numbers)
    assert capfd.readouterr() == ("", "")


def test_loggers_are_left_as_they_were() -> None:
    log, dynamo = logging.getLogger(LOG), logging.getLogger(DYNAMO_LOG)
    before = (log.level, dynamo.level, log.propagate, list(log.handlers))
    observe(talking, numbers)
    assert (log.level, dynamo.level, log.propagate, list(log.handlers)) == before


def test_the_observed_function_keeps_no_compiled_version() -> None:
    first = observe(plain, numbers)
    assert observe(plain, numbers).graphs == first.graphs == (1,)


def test_an_error_of_the_function_itself_is_not_taken_for_a_break() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        observe(broken, numbers)
