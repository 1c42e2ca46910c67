"""What the answers of the chapter on modes are tested with."""

import math
from collections.abc import Sequence
from typing import Any

import torch

from fuseshard.checks.common import (
    as_number,
    check_function,
    is_close,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.modes.replayer import Replayer
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

INPUTS = (1.0, 10.0, 100.0)
"""of the three replays in the first exercise"""

MIXED = {"triton.cudagraphs": True, "coordinate_descent_tuning": True}

PAYS_CASES = ((30.0, 1.0, 10.0, 2.0), (30.0, 2.0, 10.0, 2.0), (30.0, 3.0, 10.0, 2.0))
"""seconds: pays after 20 calls, saves nothing, and costs more at every call"""

AHEAD_CASES = ((10.0, 1.0, 10.0, 2.0), (5.0, 1.0, 10.0, 2.0))
"""seconds: never behind"""


def replays() -> tuple[float, ...]:
    """Run the first exercise and return what its four tensors hold in the end."""
    replay = Replayer(_double_plus_one, torch.zeros(1))
    first, second, third = (torch.tensor([value]) for value in INPUTS)
    a = replay(first)
    b = a.clone()
    c = replay(second)
    d = replay(third) + 0
    return tuple(tensor.item() for tensor in (a, b, c, d))


def check_replays(answer: object) -> Check:
    """Check predicted contents of two held results, a clone and a new tensor.

    Args:
        answer: four numbers, in the order of the exercise; `...` means nothing yet.
    """
    name = "modes-replays"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, tuple | list) or len(answer) != len(replays()):
        return wrong(name, word("This needs {n} numbers in a tuple.", n=len(replays())))
    given = tuple(as_number(number) for number in answer)
    if given == replays():
        return right(name, word("Right: two names for one memory, and two tensors of their own."))
    eager = tuple(2 * value + 1 for value in (INPUTS[0], INPUTS[0], INPUTS[1], INPUTS[2]))
    if given == eager:
        return wrong(name, word("That is what they hold in eager mode. Where does a replay write?"))
    off = [letter for letter, x, y in zip("abcd", given, replays(), strict=True) if x != y]
    return wrong(name, word("Off: {names}", names=", ".join(off)))


def check_collect(answer: object) -> Check:
    """Check a function that collects the results of a replay that overwrites its output.

    Args:
        answer: function of a replay and a list of batches; `...` means nothing yet.
    """
    name = "modes-collect"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function, got a {kind}.", kind=type(answer).__name__))
    batches = [torch.tensor([value, -value]) for value in INPUTS]
    try:
        got = answer(Replayer(_double_plus_one, batches[0]), batches)
    except Exception as error:  # the reader's own code: whatever it raises is a hint
        return wrong(name, word("It raises {kind}.", kind=type(error).__name__))
    if is_open(got):
        return open_question(name)
    return _judge_collected(name, got, [_double_plus_one(batch) for batch in batches])


def check_options(answer: object) -> Check:
    """Check a dictionary of options that mixes two modes.

    Args:
        answer: for `options=` of torch.compile; `...` means nothing yet.
    """
    name = "modes-options"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, dict):
        return wrong(name, word("This needs a dictionary: option name to value."))
    try:
        torch.compile(_double_plus_one, options=answer)
    except (RuntimeError, AttributeError) as error:
        said = str(error).split(",", maxsplit=1)[0]
        return wrong(name, word("torch.compile refuses it: {problem}.", problem=said))
    hint = _options_hint(answer)
    return wrong(name, hint) if hint else right(name)


def check_pays(answer: object) -> Check:
    """Check a function that says after how many calls a longer compile has paid.

    Args:
        answer: function of first call and later call of the slow compile and of the quick one,
            in seconds.
    """
    return check_function(
        "modes-pays", answer, (*PAYS_CASES, *AHEAD_CASES), pays_after, is_same=_is_same_count
    )


def pays_after(
    slow_first_s: float, slow_call_s: float, quick_first_s: float, quick_call_s: float
) -> float | None:
    """Divide what a first call costs more by what a later call saves.

    Args:
        slow_first_s: first call of the mode that is judged, in seconds.
        slow_call_s: one of its later calls.
        quick_first_s: first call of the other mode.
        quick_call_s: one of its later calls.

    Returns:
        Number of later calls; 0 if it was never behind, None if it never catches up.
    """
    extra_s, saved_s = slow_first_s - quick_first_s, quick_call_s - slow_call_s
    if extra_s <= 0:
        return 0.0
    return extra_s / saved_s if saved_s > 0 else None


def _options_hint(answer: dict[str, Any]) -> Word | None:
    """Say what is off in options that torch accepts; None if nothing is."""
    if answer.get("max_autotune"):
        return word("With this, matrix products are searched as well.")
    missing = len([option for option in MIXED if answer.get(option) is not True])
    if missing:
        return word("Switches still missing: {n}.", n=missing)
    return None if answer == MIXED else word("It sets more than was asked for.")


def _judge_collected(name: str, got: Any, expected: Sequence[torch.Tensor]) -> Check:
    """Compare a reader's list with eager results, and tell the usual slip."""
    if not isinstance(got, list | tuple) or len(got) != len(expected):
        return wrong(name, word("This needs a list with {n} results.", n=len(expected)))
    if not all(isinstance(tensor, torch.Tensor) for tensor in got):
        return wrong(name, word("The results must be tensors."))
    if all(torch.equal(a, b) for a, b in zip(got, expected, strict=True)):
        return right(name, word("Right: each result has a memory of its own."))
    if all(torch.equal(tensor, expected[-1]) for tensor in got):
        return wrong(name, word("Every entry is the last result."))
    return wrong(name, word("These are other numbers than in eager mode."))


def _is_same_count(got: object, expected: float | None) -> bool:
    if expected is None:
        return got is None
    value = as_number(got)
    return value is not None and (is_close(value, expected) or value == math.ceil(expected))


def _double_plus_one(x: torch.Tensor) -> torch.Tensor:
    return x * 2 + 1
