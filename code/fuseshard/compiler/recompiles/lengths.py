"""Which lengths to pad to, and how much of the work is then wasted; plain arithmetic, no torch.

Legend: T = length of a sequence, P = the length that it is padded to, C = WIDTH features.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from fuseshard.compiler.recompiles.records import PaddingPlan

WIDTH = 64
"""C"""

LONGEST = 256
"""longest sequence of the chapter's sample"""


def next_length(lengths: Sequence[int], length: int) -> int:
    """Return the index of the shortest padded length that holds a sequence.

    Args:
        lengths: padded lengths, growing.
        length: of the sequence.

    Raises:
        ValueError: none holds it.
    """
    if length > lengths[-1]:
        raise ValueError(
            f"next_length: got a sequence of {length}, must be at most {lengths[-1]}, the longest "
            "padded length; add a longer one, or cut the sequence."
        )
    return bisect_left(lengths, length)


def attention_flop(length: int) -> int:
    """Return the FLOP of the two matrix products in `attend`: 2 T² C each."""
    return 2 * 2 * length * length * WIDTH


def plan(lengths: Sequence[int], sequences: Sequence[int]) -> PaddingPlan:
    """Count what padding costs: useful work, and work done.

    Args:
        lengths: padded lengths, growing.
        sequences: length of each sequence.
    """
    goes_to = Counter(next_length(lengths, length) for length in sequences)
    counts = tuple(goes_to[index] for index in range(len(lengths)))
    return PaddingPlan(
        lengths=tuple(lengths),
        sequences=counts,
        useful_flop=sum(attention_flop(length) for length in sequences),
        done_flop=sum(
            count * attention_flop(length) for count, length in zip(counts, lengths, strict=True)
        ),
    )


def best_lengths(sequences: Sequence[int], count: int) -> tuple[int, ...]:
    """Choose the padded lengths that waste least, by dynamic programming.

    The longest one has to hold the longest sequence. Every other one is worth choosing only
    among lengths that occur: a longer one would waste more and hold no more.

    Args:
        sequences: length of each sequence.
        count: how many padded lengths, at least 1.

    Returns:
        At most `count` lengths, growing; fewer if fewer lengths occur.
    """
    occurring = sorted(set(sequences))
    how_often = Counter(sequences)
    # held[i] = sequences among the i shortest occurring lengths
    held = [0, *accumulate(how_often[length] for length in occurring)]
    # best[j] = least work for the j shortest lengths, and the padded lengths that it takes
    best: list[tuple[int, tuple[int, ...]]] = [
        (held[j] * attention_flop(occurring[j - 1]), (occurring[j - 1],)) if j else (0, ())
        for j in range(len(held))
    ]
    for _ in range(count - 1):
        best = [best[0], *(_one_more(best, held, occurring, j) for j in range(1, len(held)))]
    return best[-1][1]


def _one_more(
    best: Sequence[tuple[int, tuple[int, ...]]],
    held: Sequence[int],
    occurring: Sequence[int],
    j: int,
) -> tuple[int, tuple[int, ...]]:
    """Cover the j shortest lengths with one more padded length: try every place to split."""
    length = occurring[j - 1]
    work = attention_flop(length)
    cost, split = min((best[i][0] + (held[j] - held[i]) * work, i) for i in range(j))
    return cost, (*best[split][1], length)
