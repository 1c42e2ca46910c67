"""AdamW by hand. Oracle: torch.optim.AdamW; no compile but the last test's, without Inductor."""

import pytest
import torch

from fuseshard.compiler.training import adamw
from fuseshard.compiler.training.adamw import (
    largest_gap,
    rounding_bound,
    trained_by_hand,
    trained_by_library,
)


@pytest.mark.parametrize("num_steps", [1, 2, 7])
@pytest.mark.parametrize("lr", [1e-3, 0.03])
def test_it_is_torchs_to_rounding(num_steps: int, lr: float) -> None:
    library = trained_by_library(num_steps, lr=lr)
    bound = rounding_bound(library, num_steps, lr)
    assert largest_gap(trained_by_hand(num_steps, lr=lr), library) <= bound
    wrong = trained_by_hand(num_steps, lr=lr, is_corrected=False)
    assert largest_gap(wrong, library) > 10 * bound


@pytest.mark.parametrize(
    "line",
    [
        "mean.lerp_(grad, 1 - BETA1)",
        "square.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)",
        "param.mul_(1 - lr * WEIGHT_DECAY)",
    ],
)
def test_each_line_matters(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound would notice any line that is missing."""
    source = """
def update(param, grad, mean, square, *, lr, correction):
    size, root = correction
    mean.lerp_(grad, 1 - BETA1)
    square.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)
    param.mul_(1 - lr * WEIGHT_DECAY)
    param.sub_(size * mean / (square.sqrt() / root + EPS))
"""
    library = trained_by_library(5, lr=1e-3)
    for text, is_right in ((source, True), (source.replace(line, "pass"), False)):
        names: dict = dict(vars(adamw))
        exec(text, names)
        monkeypatch.setattr(adamw, "adamw", names["update"])
        gap = largest_gap(trained_by_hand(5, lr=1e-3), library)
        assert (gap <= rounding_bound(library, 5, 1e-3)) == is_right


@pytest.mark.parametrize("corrections_inside", [True, False])
def test_both_ways_to_compile_it_do_the_same_step(
    corrections_inside: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", lambda fn, **settings: fn)
    params = adamw.example_params([(7, 12), (5,)])
    optimizer = adamw.AdamW(params, torch.tensor(1e-3))
    step = adamw.compiled_step(optimizer, corrections_inside=corrections_inside)
    step()
    step()
    other = adamw.example_params([(7, 12), (5,)])
    library = torch.optim.AdamW(other, lr=1e-3, foreach=False)
    library.step()
    library.step()
    assert largest_gap(params, other) <= rounding_bound(other, 2, 1e-3)
    assert optimizer.t == 2
