"""Checks of the chapter on eager mode: the worked answers pass, listed wrong ones don't.

Oracles: the dispatcher trace for bytes, the page itself for the worked answers.
"""

import re
from itertools import product
from pathlib import Path

import pytest
import torch
from torch.nn import functional

from fuseshard.checks.compile.eager import (
    allocated_bytes,
    check_allocated,
    check_relu,
    check_size,
)
from fuseshard.compiler.dispatch import trace
from fuseshard.compiler.eager.by_hand import Array, recorded, torch_like

PAGE = Path(__file__).parents[3] / "book" / "compile" / "eager.md"


def worked(name):
    """Take the function of a worked answer from the page."""
    answers = re.findall(r"```python\n(def .*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    names = {"Array": Array, "product": product, "recorded": recorded}
    for answer in answers:
        exec(answer, names)
    return names[name]


@pytest.mark.parametrize("check", [check_allocated, check_size])
def test_three_dots_are_no_answer_yet(check):
    assert check(...).state == "open"
    assert check(lambda *arguments: ...).state == "open"


@pytest.mark.task("eager-allocated")
@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 64, 600), (7, 12, 5)])
def test_the_expected_bytes_are_those_of_the_trace(rows, inputs, outputs):
    x, w, b = torch.randn(rows, inputs), torch.randn(outputs, inputs), torch.randn(outputs)
    traced = trace(lambda: functional.gelu(functional.linear(x, w, b)))
    assert traced.allocated_bytes == allocated_bytes(rows, inputs, outputs)


@pytest.mark.task("eager-allocated")
def test_allocated_accepts_the_worked_answer_and_refuses_others():
    assert check_allocated(worked("allocated")).state == "right"
    wrong = (
        lambda r, i, o: 4 * r * o,
        lambda r, i, o: 2 * r * o,
        lambda r, i, o: 4 * (2 * r * o + i * o),
        lambda r, i, o: 4 * (2 * r * o + o),
    )
    assert [check_allocated(answer).state for answer in wrong] == ["wrong"] * 4


@pytest.mark.task("eager-size")
def test_size_accepts_the_worked_answer_and_refuses_others():
    assert check_size(worked("size")).state == "right"
    wrong = (
        lambda p, r, s: p * r,
        lambda p, r, s: s * p * r,
        lambda p, r, s: (1 - s) / s * p * r,
        lambda p, r, s: p / r * s / (1 - s),
    )
    assert [check_size(answer).state for answer in wrong] == ["wrong"] * 4


def relu(read, *, node="ReluBackward0", keep=True):
    """Make an answer to the last exercise that may be wrong in one way."""

    def teach(dispatcher):
        def kernel(dispatcher, x):
            if not keep:
                x.memory = [max(v, 0.0) for v in x.memory]
            return Array(read(x), x.shape, (x.shape[1], 1))

        dispatcher.register("aten::relu", "CPU", kernel)
        if node:
            dispatcher.register("aten::relu", "AutogradCPU", recorded(node))

    return teach


def in_order(x):
    return [max(x[i, j], 0.0) for i, j in product(range(x.shape[0]), range(x.shape[1]))]


@pytest.mark.task("eager-relu")
def test_relu_accepts_the_worked_answer():
    assert check_relu(..., torch_like).state == "open"
    assert check_relu(lambda dispatcher: ..., torch_like).state == "open"
    assert check_relu(worked("teach"), torch_like).state == "right"
    assert check_relu(relu(in_order), torch_like).state == "right"


@pytest.mark.task("eager-relu")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (relu(lambda x: [max(v, 0.0) for v in x.memory]), "through its strides"),
        (relu(in_order, node=""), "nothing was recorded"),
        (relu(in_order, node="ReluBackward"), "nothing was recorded"),
        (relu(in_order, keep=False), "changes its input"),
        (lambda dispatcher: None, "raises NotImplementedError"),
        (3, "needs a function"),
    ],
)
def test_wrong_relus_get_a_hint(answer, hint):
    check = check_relu(answer, torch_like)
    assert check.state == "wrong"
    assert hint in str(check.message)
