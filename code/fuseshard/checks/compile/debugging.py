"""What the answers of the chapter on debugging are tested with."""

from collections.abc import Callable
from typing import Any

import torch

from fuseshard.checks.common import check_function, is_open, open_question, right, wrong
from fuseshard.compiler.debugging.numerics import ulps
from fuseshard.compiler.isolate import isolated
from fuseshard.show.records import Check
from fuseshard.show.words import word

_CASES = (
    (("wrong", "wrong", "wrong"),),
    (("right", "raises", "raises"),),
    (("right", "right", "wrong"),),
    (("right", "right", "right"),),
    (("right", "wrong", "right"),),
)
_STAGES = ("Dynamo", "AOTAutograd", "Inductor")
_PAIRS = ((1.0, 1.0), (1.0, 1.0 + 2**-23), (1.0, 1.0 - 2**-24), (3.0, 4.0), (-1e-3, 1e-3))


def guilty(endings: tuple[str, str, str]) -> str:
    """Name the stage that the outcomes with eager, aot_eager and inductor point to."""
    first = next((i for i, ending in enumerate(endings) if ending != "right"), None)
    return "none" if first is None else _STAGES[first]


def check_guilty(answer: object) -> Check:
    """Check a function that names the stage to look at.

    Args:
        answer: function of the three outcomes; returns a stage's name or "none".
    """
    return check_function("debugging-guilty", answer, _CASES, guilty)


def ulp_distance(a: float, b: float) -> int:
    """Count the float32 numbers from a to b."""
    pair = torch.tensor([a]), torch.tensor([b], dtype=torch.float64)
    return int(ulps(*pair).item())


def check_distance(answer: object) -> Check:
    """Check a function that counts units in the last place between two float32 numbers.

    Args:
        answer: function of two floats that returns a whole number.
    """
    return check_function(
        "debugging-distance", answer, _PAIRS, ulp_distance, is_same=lambda a, b: bool(a == b)
    )


def check_backend(answer: object) -> Check:
    """Check a backend that notes the operations of each graph.

    Args:
        answer: function of a list; returns a backend that appends to it, for each graph, how
            often the graph calls the method `sin`.
    """
    name = "debugging-backend"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function of a list that returns a backend."))
    found: list[Any] = []
    x = torch.linspace(-1, 1, 7)
    try:
        backend = answer(found)
        if is_open(backend):
            return open_question(name)
        got = _run(backend, x)
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error).splitlines()[0]}"
        return wrong(name, word("Compiling with it raises {problem}.", problem=problem))
    return _judged(name, torch.equal(got, _twice(x)), found)


def _judged(name: str, is_equal: bool, found: list[Any]) -> Check:
    """Say what a backend that ran did wrong, if anything."""
    if not is_equal:
        return wrong(name, word("The compiled function gives another result than eager mode."))
    if found != [2]:
        return wrong(
            name,
            word(
                "One graph that calls sin twice and cos once has to leave [2], yours leaves {got}.",
                got=repr(found),
            ),
        )
    return right(name)


def _twice(x: torch.Tensor) -> torch.Tensor:
    return x.sin().cos().sin()


def _run(backend: Callable[..., Any], x: torch.Tensor) -> torch.Tensor:
    return torch.compile(isolated(_twice), backend=backend)(x)
