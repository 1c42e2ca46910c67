"""What the answers of the chapter on training are tested with."""

import functools
from collections.abc import Callable, Sequence

import torch

from fuseshard.checks.common import (
    check_function,
    check_number,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.training.adamw import (
    WEIGHT_DECAY,
    adamw,
    corrections,
    example_grad,
    example_params,
    rounding_bound,
)
from fuseshard.compiler.training.classify import graphs_by_length
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

STEPS_BEFORE, STEPS_AFTER = 5.17, 5.54
"""steps per second of a published training, before and after compiling the optimizer"""

LENGTHS = (8, 12, 12, 20, 8, 28)
"""tokens of the batches in the exercise on lengths"""

LEARNING_RATE = 1e-3

_APPARENT_CASES = (
    (1, 5.0, 0.02, 0.01),
    (3, 0.05, 0.02, 0.01),
    (100, 5.0, 0.02, 0.01),
    (100_000, 5.0, 0.02, 0.01),
)

_NUM_STEPS = 3

Update = Callable[..., object]


def apparent_speedup(num_calls: int, first_s: float, eager_s: float, compiled_s: float) -> float:
    """Return the speed-up that a loop reports whose first compiled call compiles.

    Args:
        num_calls: calls in the loop, eager as well as compiled.
        first_s: seconds of the first compiled call.
        eager_s: seconds of each eager call.
        compiled_s: seconds of each later compiled call.
    """
    return num_calls * eager_s / (first_s + (num_calls - 1) * compiled_s)


def check_apparent(answer: object) -> Check:
    """Check a formula for the speed-up that a loop with its first call reports.

    Args:
        answer: function of num_calls, first_s, eager_s and compiled_s.
    """
    return check_function("training-apparent", answer, _APPARENT_CASES, apparent_speedup)


def check_share(answer: object) -> Check:
    """Check which share of a step the optimizer had, from the speeds before and after.

    Args:
        answer: share of the step's time, 0 to 1, if compiling halves the optimizer's time.
    """
    saved = 1 - STEPS_BEFORE / STEPS_AFTER
    slips: dict[float, Word] = {
        saved: word("That is the share that was saved; half of the optimizer is left."),
        2 * (STEPS_AFTER / STEPS_BEFORE - 1): word(
            "Shares of time: a rate that grows by 7 % shortens the step by less."
        ),
        saved / 2: word("The saving is half of the optimizer's time, not twice as much as it."),
    }
    return check_number(
        "training-share", answer, 2 * saved, what=word("The optimizer's share"), slips=slips
    )


def check_adam(answer: object) -> Check:
    """Check an update in which the weight decay goes through the averages, as in Adam.

    Args:
        answer: function with the parameters of `adamw`; `...` means nothing yet.
    """
    name = "training-adam"
    if is_open(answer):
        return open_question(name)
    if not callable(answer):
        return wrong(name, word("This needs a function with the parameters of adamw."))
    try:
        params, grads = _after_steps(answer)
    except Exception as error:  # the reader's own code: whatever it raises is a hint
        return wrong(name, word("The update doesn't run: {kind}.", kind=type(error).__name__))
    if params is None:
        return open_question(name)
    if all(torch.equal(grad, kept) for grad, kept in grads) and _is_close(params, _adam()):
        return right(name, word("Right: one line, and the decay is divided by the root as well."))
    return wrong(name, _adam_hint(params, grads))


def check_lengths(answer: object) -> Check:
    """Check predicted graph counts for a series of lengths, static and automatic.

    Args:
        answer: graphs with dynamic=False and with dynamic=None; `...` means nothing yet.
    """
    name = "training-lengths"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        return wrong(name, word("This needs {n} counts in a tuple.", n=2))
    static, automatic = graph_counts()
    if answer[0] != static:
        return wrong(name, word("dynamic=False: which of the lengths has it not seen before?"))
    if answer[1] != automatic:
        return wrong(
            name, word("dynamic=None: what does Dynamo do when it sees that a size varies?")
        )
    return right(name)


@functools.cache
def graph_counts() -> tuple[int, int]:
    """Count what torch captures for the exercise's lengths, here and now."""
    counts = graphs_by_length(LENGTHS)
    return counts["static"][-1], counts["automatic"][-1]


def _after_steps(
    update: Update,
) -> tuple[list[torch.nn.Parameter] | None, list[tuple[torch.Tensor, torch.Tensor]]]:
    """Run an update for some steps; None in place of parameters where it returns `...`."""
    params, lr = _params(), torch.tensor(LEARNING_RATE)
    averages = [(torch.zeros_like(param), torch.zeros_like(param)) for param in params]
    seen: list[tuple[torch.Tensor, torch.Tensor]] = []
    for t, grads in enumerate(_grads(params), start=1):
        correction = corrections(torch.tensor(float(t)), lr)
        for param, grad, average in zip(params, grads, averages, strict=True):
            seen.append((grad, grad.clone()))
            with torch.no_grad():
                result = update(param, grad, *average, lr=lr, correction=correction)
            if result is ...:
                return None, []
    return params, seen


def _reference(kind: type[torch.optim.Optimizer]) -> list[torch.nn.Parameter]:
    """Run an optimizer of torch.optim on the same parameters and gradients."""
    params = _params()
    optimizer = kind(params, lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)  # type: ignore[call-arg]
    for grads in _grads(params):
        for param, grad in zip(params, grads, strict=True):
            param.grad = grad
        optimizer.step()
    return params


def _params() -> list[torch.nn.Parameter]:
    return example_params([(7, 12), (5,)])


def _grads(params: Sequence[torch.Tensor]) -> list[list[torch.Tensor]]:
    """Draw a new gradient for each step."""
    generator = torch.Generator().manual_seed(1)
    return [[example_grad(param, generator) for param in params] for _ in range(_NUM_STEPS)]


def _is_close(params: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    bound = rounding_bound(expected, _NUM_STEPS, LEARNING_RATE)
    pairs = zip(params, expected, strict=True)
    return all(bool((a - b).detach().abs().max() <= bound) for a, b in pairs)


def _adam() -> list[torch.nn.Parameter]:
    return _reference(torch.optim.Adam)


def _adam_hint(
    params: Sequence[torch.Tensor], grads: Sequence[tuple[torch.Tensor, torch.Tensor]]
) -> Word:
    """Say what the update does instead, where that can be told."""
    if not all(torch.equal(grad, kept) for grad, kept in grads):
        return word("The gradient has changed; torch.optim.Adam leaves it alone.")
    if _is_close(params, _reference(torch.optim.AdamW)):
        return word("That is AdamW still: the decay doesn't go through the averages.")
    without, _ = _after_steps(_without_decay)
    if without is not None and _is_close(params, without):
        return word("The decay is gone; it has to go into the gradient.")
    return word("It is another optimizer: compare where torch.optim.Adam adds the decay.")


def _without_decay(
    param: torch.Tensor, grad: torch.Tensor, *averages: torch.Tensor, **settings: object
) -> None:
    """Do AdamW's update and take its decay back."""
    decay = param * LEARNING_RATE * WEIGHT_DECAY
    adamw(param, grad, *averages, **settings)  # type: ignore[arg-type]
    param.add_(decay)
