"""What the answers of the chapter on recompilations are tested with."""

import functools
from collections.abc import Callable, Sequence

import torch

from fuseshard.checks.common import check_function, is_open, open_question, right, wrong
from fuseshard.compiler.recompiles.lengths import best_lengths, plan
from fuseshard.compiler.recompiles.programs import scaled_softmax
from fuseshard.compiler.recompiles.recorder import Recorder
from fuseshard.compiler.recompiles.scenarios import by_length, record, rows
from fuseshard.show.records import Check
from fuseshard.show.words import word

LENGTHS = (4, 4, 9, 1, 9, 0)
"""of the exercise on counting graphs"""

NUM_ROWS = 12
"""of the tensor in the exercise on one graph for all"""

_WAYS = (None, True, False)

_LENGTH_CASES: tuple[tuple[list[int], int], ...] = (
    ([3, 5, 5, 9], 1),
    ([3, 5, 5, 9], 2),
    ([1, 2, 2, 3, 3, 3, 30, 31, 64], 3),
    ([7, 7, 7], 2),
    ([10, 11, 12, 50, 51, 90], 3),
)


def check_graphs(answer: object) -> Check:
    """Check predicted graph counts for LENGTHS with dynamic=None, True and False.

    Args:
        answer: three counts in a tuple; `...` means nothing yet.
    """
    name = "recompiles-graphs"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(_WAYS):
        return wrong(name, word("This needs {n} counts in a tuple.", n=len(_WAYS)))
    off = [
        f"dynamic={way}"
        for way, given, expected in zip(_WAYS, answer, graph_counts(), strict=True)
        if given != expected
    ]
    if off:
        return wrong(name, word("Off: {ways}", ways=", ".join(off)))
    return right(name)


@functools.cache
def graph_counts() -> tuple[int, ...]:
    """Count what torch captures for LENGTHS, here and now."""
    return tuple(
        len(record(by_length(LENGTHS, fn=scaled_softmax, dynamic=way)).graphs) for way in _WAYS
    )


def check_one_graph(answer: object) -> Check:
    """Check a function that adds up the first n rows, with one graph for every n.

    Args:
        answer: function of x [NUM_ROWS, C] and n, an int64 tensor []; `...`, or a function that
            returns it, means nothing yet.
    """
    name = "recompiles-mask"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function of x and n."))
    x = rows(NUM_ROWS)
    try:
        plain_results = [answer(x, torch.tensor(n)) for n in range(NUM_ROWS + 1)]
    except Exception as error:  # the reader's own function: whatever it raises is a hint
        return wrong(name, word("It raises {kind}.", kind=type(error).__name__))
    if any(is_open(result) for result in plain_results):
        return open_question(name)
    if not all(_is_sum(result, x, n) for n, result in enumerate(plain_results)):
        return wrong(name, word("For some n the sum isn't that of the first n rows."))
    return _check_compiled(name, answer, x)


def _check_compiled(name: str, answer: Callable[..., object], x: torch.Tensor) -> Check:
    """Compile a function that is right eager, and count its graphs."""
    recorder = Recorder(answer)
    results = [recorder(x, torch.tensor(n)) for n in range(NUM_ROWS + 1)]
    history = recorder.history
    if len(history.graphs) != 1 or history.count("eager"):
        return wrong(
            name,
            word(
                "It took {graphs} graphs and {eager} eager calls: the number still gets out of "
                "its tensor somewhere.",
                graphs=len(history.graphs),
                eager=history.count("eager"),
            ),
        )
    if not all(_is_sum(result, x, n) for n, result in enumerate(results)):
        return wrong(name, word("Compiled, the sum isn't that of the first n rows."))
    return right(name, word("Right: n is data now, and no guard looks at it."))


def _is_sum(result: object, x: torch.Tensor, n: int) -> bool:
    expected = x[:n].sum(0)
    # NUM_ROWS terms in another order: that many roundings of the largest partial sum, and room.
    bound = 2 * NUM_ROWS * 2.0**-24 * x.abs().sum(0).max()
    if not isinstance(result, torch.Tensor) or result.shape != expected.shape:
        return False
    return bool((result - expected).abs().max() <= bound)


def check_lengths(answer: object) -> Check:
    """Check a function that chooses padded lengths so that least work is wasted.

    Args:
        answer: function of the sequences' lengths and of how many padded lengths there may be.
    """
    return check_function(
        "recompiles-lengths",
        answer,
        _LENGTH_CASES,
        lambda sequences, count: (sequences, best_lengths(sequences, count), count),
        is_same=_wastes_as_little,
    )


def _wastes_as_little(got: object, expected: tuple[Sequence[int], tuple[int, ...], int]) -> bool:
    """Compare by the work done, since several choices may be as good."""
    sequences, best, count = expected
    if not isinstance(got, (list, tuple)) or not all(type(length) is int for length in got):
        return False
    lengths = sorted(set(got))
    if not 0 < len(lengths) <= count or lengths[-1] < max(sequences):
        return False
    return plan(lengths, sequences).done_flop == plan(best, sequences).done_flop
