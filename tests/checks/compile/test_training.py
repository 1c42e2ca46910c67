"""Checks of the chapter on training: the worked answers pass, listed wrong ones don't.

Oracles: arithmetic, torch.optim.Adam, and torch's own counters.
"""

import re
from pathlib import Path

import pytest
import torch

from fuseshard.checks.compile.training import (
    STEPS_AFTER,
    STEPS_BEFORE,
    apparent_speedup,
    check_adam,
    check_apparent,
    check_lengths,
    check_share,
    graph_counts,
)
from fuseshard.compiler.training import adamw
from fuseshard.compiler.training.adamw import BETA1, BETA2, EPS, WEIGHT_DECAY

PAGES = [
    Path(__file__).parents[3] / "book" / edition / "compile" / "training.md"
    for edition in ("", "es")
]


def worked(page: Path, name: str) -> object:
    """Run the code of the solution that defines a function, and return the function."""
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if f"def {name}(" in block)
    names: dict = dict(vars(adamw))
    exec(code, names)
    return names[name]


@pytest.mark.task("training-apparent")
@pytest.mark.parametrize("page", PAGES)
def test_the_worked_formula_is_right(page: Path) -> None:
    assert check_apparent(worked(page, "apparent")).state == "right"


@pytest.mark.task("training-apparent")
def test_the_solutions_rule_of_thumb_holds() -> None:
    """Less than a tenth off once first_s - compiled_s is below a ninth of all later calls."""
    first_s, eager_s, compiled_s = 5.0, 0.02, 0.01
    enough = int(9 * (first_s - compiled_s) / compiled_s)
    limit = eager_s / compiled_s
    assert apparent_speedup(enough + 2, first_s, eager_s, compiled_s) > 0.9 * limit
    assert apparent_speedup(enough - 2, first_s, eager_s, compiled_s) < 0.9 * limit


@pytest.mark.task("training-apparent")
@pytest.mark.parametrize(
    "formula",
    [
        lambda n, first, eager, compiled: eager / compiled,  # the first call forgotten
        lambda n, first, eager, compiled: eager / (first / n + compiled),  # one call too many
        lambda n, first, eager, compiled: eager / (first + (n - 1) * compiled),  # one eager call
        lambda n, first, eager, compiled: (first + (n - 1) * compiled) / (n * eager),  # upside down
    ],
)
def test_wrong_formulas_are_rejected(formula) -> None:
    assert check_apparent(formula).state == "wrong"


@pytest.mark.task("training-share")
def test_the_share_is_twice_what_was_saved() -> None:
    before_s, after_s = 1 / STEPS_BEFORE, 1 / STEPS_AFTER
    assert check_share(2 * (before_s - after_s) / before_s).state == "right"
    assert check_share(0.134).state == "right"


@pytest.mark.task("training-share")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (0.0668, "half of the optimizer is left"),
        (0.1431, "a rate that grows"),
        (0.0334, "not twice as much"),
        (13.4, "far too large"),
        (0.12, "a little too small"),
        ("13 %", "needs one number"),
    ],
)
def test_wrong_shares_get_a_hint(answer: object, hint: str) -> None:
    check = check_share(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("training-adam")
@pytest.mark.parametrize("page", PAGES)
def test_the_worked_update_is_adams(page: Path) -> None:
    assert check_adam(worked(page, "adam")).state == "right"


def averages(grad, mean, square) -> None:
    mean.lerp_(grad, 1 - BETA1)
    square.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)


def move(param, mean, square, correction) -> None:
    size, root = correction
    param.sub_(size * mean / (square.sqrt() / root + EPS))


def decay_after(param, grad, mean, square, *, lr, correction) -> None:
    averages(grad, mean, square)
    move(param, mean + WEIGHT_DECAY * param, square, correction)


def grad_changed(param, grad, mean, square, *, lr, correction) -> None:
    averages(grad.add_(param, alpha=WEIGHT_DECAY), mean, square)
    move(param, mean, square, correction)


def no_decay(param, grad, mean, square, *, lr, correction) -> None:
    averages(grad, mean, square)
    move(param, mean, square, correction)


def decay_away(param, grad, mean, square, *, lr, correction) -> None:
    averages(grad - WEIGHT_DECAY * param, mean, square)
    move(param, mean, square, correction)


def raises(param, grad, mean, square, *, lr, correction) -> None:
    raise RuntimeError("nothing of the kind")


@pytest.mark.task("training-adam")
@pytest.mark.parametrize(
    ("update", "hint"),
    [
        (adamw.adamw, "AdamW still"),
        (decay_after, "another optimizer"),
        (grad_changed, "gradient has changed"),
        (no_decay, "decay is gone"),
        (decay_away, "another optimizer"),
        (raises, "doesn't run: RuntimeError"),
        (torch.optim.Adam, "doesn't run"),
        (3, "needs a function"),
    ],
)
def test_other_updates_are_rejected(update: object, hint: str) -> None:
    check = check_adam(update)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("training-lengths")
def test_the_worked_counts_are_right() -> None:
    assert graph_counts() == (4, 2)
    assert check_lengths((4, 2)).state == "right"


@pytest.mark.task("training-lengths")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((6, 2), "not seen before"),
        ((5, 2), "not seen before"),
        ((4, 1), "a size varies"),
        ((4, 4), "a size varies"),
        ((4,), "2 counts"),
        (4, "2 counts"),
    ],
)
def test_wrong_counts_are_rejected(answer: object, hint: str) -> None:
    check = check_lengths(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_apparent(lambda *arguments: ...).state,
        check_share(...).state,
        check_adam(lambda *arguments, **settings: ...).state,
        check_adam(...).state,
        check_lengths(...).state,
    }
    assert states == {"open"}
