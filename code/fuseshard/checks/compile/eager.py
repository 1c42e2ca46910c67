"""What the answers of the chapter on eager mode are tested with."""

from collections.abc import Callable
from itertools import product

from fuseshard.checks.common import check_function, is_open, open_question, right, wrong
from fuseshard.compiler.eager.by_hand import Array, Dispatcher
from fuseshard.show.records import Check
from fuseshard.show.words import word

_SHAPES = ((1, 64, 600), (256, 64, 600), (7, 12, 5))
_PRICES = ((1e-6, 1e9, 0.5), (2e-6, 1e9, 0.9), (5e-6, 4e8, 0.75))


def allocated_bytes(rows: int, inputs: int, outputs: int) -> int:
    """Return the bytes that gelu(linear(x, W, b)) allocates in eager mode, in float32."""
    return 4 * 2 * rows * outputs


def check_allocated(answer: object) -> Check:
    """Check a formula for the bytes that a linear layer and a gelu allocate.

    Args:
        answer: function of rows, inputs and outputs that returns bytes.
    """
    return check_function(
        "eager-allocated", answer, _SHAPES, allocated_bytes, is_same=lambda a, b: bool(a == b)
    )


def size_for_share(price_s: float, rate_per_s: float, share: float) -> float:
    """Return the elements at which the work is `share` of a call that costs price + work."""
    return share / (1 - share) * price_s * rate_per_s


def check_size(answer: object) -> Check:
    """Check a formula for the size from which the work is a given share of the call.

    Args:
        answer: function of the price of a call in seconds, elements per second and the share.
    """
    return check_function("eager-size", answer, _PRICES, size_for_share)


def check_relu(answer: object, make: Callable[[], Dispatcher]) -> Check:
    """Check a relu that the reader adds to the dispatcher by hand.

    Args:
        answer: function that registers "aten::relu" with a dispatcher; `...` means nothing yet.
        make: builds the dispatcher of the chapter.
    """
    name = "eager-relu"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function that takes the dispatcher."))
    dispatcher = make()
    x = Array([-1.0, 2.0, -3.0, 4.0, 5.0, -6.0], (3, 2), (1, 3), needs_grad=True)
    before = list(x.memory)
    try:
        if is_open(answer(dispatcher)):
            return open_question(name)
        result = dispatcher.call("aten::relu", x)
        got = [result[i, j] for i, j in product(range(3), range(2))]
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        return wrong(name, word("Calling aten::relu raises {problem}.", problem=problem))
    if x.memory != before:
        return wrong(name, word("It changes its input; relu must leave it as it is."))
    return _judged(name, x, result, got)


def _judged(name: str, x: Array, result: Array, got: list[float]) -> Check:
    """Say what a relu that ran did wrong, if anything."""
    want = [max(x[i, j], 0.0) for i, j in product(range(3), range(2))]
    if got != want:
        return wrong(
            name,
            word(
                "The values are off. The input of the test is a transposed view: read it through "
                "its strides."
            ),
        )
    if not result.needs_grad or result.node != "ReluBackward0":
        return wrong(
            name, word("The values are right, but nothing was recorded for a backward pass.")
        )
    return right(name)
