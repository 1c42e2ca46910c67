"""Series of calls in which one thing changes, and what torch.compile makes of each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

# Documented for users under torch._dynamo; checked on torch 2.13. mark_unbacked is what
# Dynamo's own message advises.
from torch._dynamo import mark_dynamic, mark_static
from torch._dynamo.decorators import mark_unbacked

from fuseshard.compiler.recompiles.by_hand import GuardCache
from fuseshard.compiler.recompiles.lengths import next_length
from fuseshard.compiler.recompiles.programs import (
    WIDTH,
    double,
    long_or_short,
    scaled_softmax,
    times,
)
from fuseshard.compiler.recompiles.recorder import Recorder
from fuseshard.compiler.recompiles.records import History

TWENTY_LENGTHS = tuple(range(3, 23))
SMALL_LENGTHS = (5, 7, 1, 0, 9)
SQUARE_FIRST = (WIDTH, 5, 7, 9)
"""the first length equals the width"""

PADDED_LENGTHS = (8, 16, 24)
"""what the last of the ways pads to"""

Way = Callable[[Sequence[int]], History]


@dataclass(frozen=True)
class Scenario:
    """One function, and the arguments of each call."""

    fn: Callable[..., Any]
    calls: Callable[[], Iterator[tuple[Any, ...]]]
    """makes the arguments when they are needed: some calls change global state"""
    labels: tuple[str, ...]
    """what each call brings that others don't"""
    options: dict[str, Any] = field(default_factory=dict)
    """torch.compile's"""


def record(scenario: Scenario, make: Callable[..., Recorder | GuardCache] = Recorder) -> History:
    """Make all calls of a scenario, and return what happened.

    Args:
        scenario: the calls.
        make: Recorder for torch.compile's guard cache, GuardCache for ours.
    """
    recorder = make(scenario.fn, **scenario.options)
    for index, args in enumerate(scenario.calls()):
        recorder.record(args, scenario.labels[index])
    return recorder.history


def rows(length: int) -> torch.Tensor:
    """Make a float32 tensor [length, WIDTH]; equal lengths give equal tensors."""
    return torch.randn(length, WIDTH, generator=torch.Generator().manual_seed(length))


def all_scenarios() -> dict[str, Scenario]:
    """Return the scenarios of the chapter's timelines, by name."""
    twenty, small, square = TWENTY_LENGTHS, SMALL_LENGTHS, SQUARE_FIRST
    long, numbers = (5, 12, 7, 200, 3), (3, 4, 5, 1, 0, 0.5, 0.25)
    return {
        "automatic": by_length(twenty),
        "dynamic": by_length(twenty, dynamic=True),
        "static": by_length(twenty, dynamic=False),
        "zero-one": by_length(small, dynamic=True),
        "unbacked": by_length(small, mark=mark_unbacked),
        "equal-sizes": by_length(square, dynamic=True),
        "branch": by_length(long, fn=long_or_short, mark=mark_dynamic),
        "number": Scenario(times, lambda: ((rows(5), n) for n in numbers), _texts(numbers)),
        "dtype": Scenario(double, _dtypes, ("f32", "f64", "f16", "f32", "f64")),
        "gradient": Scenario(double, _gradient_modes, ("on", "off") * 3),
    }


def by_length(
    lengths: Sequence[int],
    *,
    fn: Callable[..., Any] = scaled_softmax,
    mark: Callable[[torch.Tensor, int], None] | None = None,
    **options: Any,
) -> Scenario:
    """Make a scenario in which only the length changes.

    Args:
        lengths: of the tensor [length, WIDTH] in each call.
        fn: what is called.
        mark: called with each tensor and 0 beforehand, e.g. torch._dynamo.mark_dynamic.
        options: torch.compile's.
    """

    def calls() -> Iterator[tuple[torch.Tensor]]:
        for length in lengths:
            x = rows(length)
            if mark is not None:
                mark(x, 0)
            yield (x,)

    return Scenario(fn, calls, _texts(lengths), options)


def all_ways() -> dict[str, Way]:
    """Return the ways to treat lengths, by name; each takes lengths and makes a call for each."""
    return {
        "None": lambda lengths: record(by_length(lengths)),
        "True": lambda lengths: record(by_length(lengths, dynamic=True)),
        "False": lambda lengths: record(by_length(lengths, dynamic=False)),
        "mark_dynamic": lambda lengths: record(by_length(lengths, mark=mark_dynamic)),
        "mark_static": lambda lengths: record(by_length(lengths, mark=mark_static)),
        "mark_unbacked": lambda lengths: record(by_length(lengths, mark=mark_unbacked)),
        "eager_then_compile": _eager_first,
        "padding": _padded,
    }


def _eager_first(lengths: Sequence[int]) -> History:
    """Let the first call run eager, so that the first compile already knows two sizes."""
    with torch.compiler.set_stance("eager_then_compile"):
        return record(by_length(lengths))


def _padded(lengths: Sequence[int]) -> History:
    """Call with the padded lengths instead."""
    padded = [PADDED_LENGTHS[next_length(PADDED_LENGTHS, length)] for length in lengths]
    return record(by_length(padded, dynamic=False))


def _texts(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(map(str, values))


def _dtypes() -> Iterator[tuple[torch.Tensor]]:
    for dtype in (torch.float32, torch.float64, torch.float16, torch.float32, torch.float64):
        yield (rows(5).to(dtype),)


def _gradient_modes() -> Iterator[tuple[torch.Tensor]]:
    for is_on in (True, False) * 3:
        with torch.set_grad_enabled(is_on):
            yield (rows(5),)
