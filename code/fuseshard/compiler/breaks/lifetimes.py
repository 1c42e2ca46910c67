"""What outlives a break: tensors that are in memory although the program is done with them."""

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from fuseshard.compiler.isolate import isolated


@dataclass
class Census:
    """Counts how many of the tensors that it was shown are still alive."""

    shown: list[weakref.ref[torch.Tensor]] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    """after each tensor that was shown, itself included"""

    def take(self, x: torch.Tensor) -> None:
        """Note a tensor without keeping it, and count."""
        self.shown.append(weakref.ref(x))
        self.counts.append(sum(ref() is not None for ref in self.shown))


def four_steps(x: torch.Tensor, show: Callable[[torch.Tensor], None]) -> torch.Tensor:
    """Double a number five times; after each of the first four, the old value is dead."""
    x = x * 2
    show(x)
    x = x * 2
    show(x)
    x = x * 2
    show(x)
    x = x * 2
    show(x)
    return x * 2


def alive_at_breaks(wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> tuple[int, ...]:
    """Count the living intermediate values at each of four breaks.

    Args:
        wrap: makes what is called of the function; torch.compile, or something that returns it
            unchanged.
    """
    call = wrap(isolated(four_steps))
    call(torch.ones(7), torch.compiler.disable(Census().take))  # the first call compiles
    census = Census()
    call(torch.ones(7), torch.compiler.disable(census.take))
    return tuple(census.counts)
