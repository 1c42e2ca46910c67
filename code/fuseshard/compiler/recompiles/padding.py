"""Pad sequences to a few lengths instead of compiling for each: by hand.

Legend: T = length of a sequence, P = the length that it is padded to, C = WIDTH features.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

from fuseshard.compiler.recompiles.lengths import LONGEST, WIDTH, next_length


def attend(x: torch.Tensor) -> torch.Tensor:
    """Attend to a sequence by itself: one head, no projections.

    Args:
        x: [T, C].

    Returns:
        [T, C].
    """
    scores = x @ x.t() / math.sqrt(x.shape[1])
    return torch.softmax(scores, dim=-1) @ x


def attend_padded(x: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    """Attend to a padded sequence; rows from `length` on have no weight in the result.

    Args:
        x: [P, C].
        length: T as an int64 tensor [], since a Python int would be guarded on.

    Returns:
        [P, C], of which the first T rows count.
    """
    is_padding = torch.arange(x.shape[0], device=x.device) >= length
    scores = x @ x.t() / math.sqrt(x.shape[1])
    return torch.softmax(scores.masked_fill(is_padding, -math.inf), dim=-1) @ x


class Padder:
    """A function of sequences of any length, compiled for a few lengths only."""

    def __init__(
        self,
        fn: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
        lengths: Sequence[int],
        *,
        backend: str = "inductor",
    ) -> None:
        """Compile nothing yet; `warm_up` does.

        Args:
            fn: takes a padded sequence [P, C] and its length [], like `attend_padded`.
            lengths: allowed values of P, growing.
            backend: torch.compile's.

        Raises:
            ValueError: the lengths don't grow, or are more than torch would compile.
        """
        limit = torch.compiler.config.recompile_limit
        if sorted(set(lengths)) != list(lengths) or not 0 < len(lengths) <= limit:
            raise ValueError(
                f"Padder: got lengths {list(lengths)}, must be 1 to {limit} and growing (from the "
                f"one after {limit} on torch would run eager); take fewer, or raise "
                "torch.compiler.config.recompile_limit."
            )
        self.lengths = tuple(lengths)
        self._compiled = torch.compile(fn, dynamic=False, backend=backend)

    def warm_up(self, length: int) -> None:
        """Compile for one length, before anyone waits for it."""
        self._compiled(torch.zeros(length, WIDTH), torch.tensor(length))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Pad with rows of zeros to the next length, run, and cut the padding off.

        Args:
            x: [T, C].

        Returns:
            [T, C], equal to what the function gives without padding, up to rounding.

        Raises:
            ValueError: the sequence is longer than the longest length.
        """
        length = x.shape[0]
        padded = self.lengths[next_length(self.lengths, length)]
        filled = torch.nn.functional.pad(x, (0, 0, 0, padded - length))
        return self._compiled(filled, torch.tensor(length))[:length]


def rounding_bound(x: torch.Tensor) -> float:
    """Bound the absolute difference that rounding explains between two ways to run `attend`.

    With u the unit roundoff: a score is a sum of C products, off by at most
    d = (C + 2) u max_ij sum_k |x_ik x_jk| / sqrt(C). A weight is then off by a factor of
    1 + 2 d + (T + 4) u, and the last sum of T products adds T u. Both ways may be off, so twice.

    Args:
        x: [T, C], float32.

    Source:
        Higham 2002, Accuracy and Stability of Numerical Algorithms, section 3.1; first order in u.
    """
    unit = torch.finfo(x.dtype).eps / 2
    length, width = x.shape
    largest = (x.abs() @ x.abs().t()).max().item() / math.sqrt(width)
    score = (width + 2) * unit * largest
    return 2 * (2 * score + (2 * length + 4) * unit) * x.abs().max().item()


def sample_lengths(count: int = 1000, *, seed: int = 0) -> tuple[int, ...]:
    """Draw lengths as texts have them: many short ones, few long ones, none above LONGEST.

    Args:
        count: sequences.
        seed: of the generator.
    """
    drawn = torch.randn(count, generator=torch.Generator().manual_seed(seed))
    lengths = (drawn * 0.8 + math.log(40)).exp().clamp(1, LONGEST)
    return tuple(int(length) for length in lengths)
