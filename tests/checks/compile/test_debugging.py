"""Checks of the chapter on debugging: the worked answers pass, listed wrong ones don't.

Oracles: the page for the worked answers, torch.nextafter for the distance.
"""

import re
from pathlib import Path

import pytest
import torch

from fuseshard.checks.compile.debugging import (
    check_backend,
    check_distance,
    check_guilty,
    ulp_distance,
)

PAGE = Path(__file__).parents[3] / "book" / "compile" / "debugging.md"


def worked(name):
    """Take the function of a worked answer from the page."""
    names = {"torch": torch}
    for answer in re.findall(r"```python\n(def .*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        exec(answer, names)
    return names[name]


@pytest.mark.parametrize("check", [check_guilty, check_distance, check_backend])
def test_three_dots_are_no_answer_yet(check):
    assert check(...).state == "open"
    assert check(lambda *arguments: ...).state == "open"


@pytest.mark.task("debugging-guilty")
def test_guilty_accepts_the_worked_answer_and_refuses_others():
    assert check_guilty(worked("guilty")).state == "right"
    stages = ("Dynamo", "AOTAutograd", "Inductor")
    wrong = (
        lambda e: "Inductor",
        lambda e: next((s for s, x in zip(stages, e, strict=True) if x != "right"), "Inductor"),
        lambda e: [s for s, x in zip(stages, e, strict=True) if x != "right"][-1:],
        lambda e: "none" if e[2] == "right" else "Inductor",
    )
    assert [check_guilty(answer).state for answer in wrong] == ["wrong"] * 4


@pytest.mark.task("debugging-distance")
def test_distance_accepts_the_worked_answer_and_refuses_others():
    one = torch.tensor([1.0])
    assert ulp_distance(1.0, torch.nextafter(one, 2 * one).item()) == 1
    assert check_distance(worked("distance")).state == "right"

    def bits(a, b):
        pair = torch.tensor([a, b]).view(torch.int32).long()
        return int((pair[0] - pair[1]).abs())

    wrong = (bits, lambda a, b: round(abs(a - b) / 2**-23), lambda a, b: int(a != b))
    assert [check_distance(answer).state for answer in wrong] == ["wrong"] * 3


@pytest.mark.task("debugging-backend")
def test_backend_accepts_the_worked_answer():
    assert check_backend(worked("counting")).state == "right"


def made(count, run=lambda graph: graph.forward):
    def counting(found):
        def backend(graph, inputs):
            found.append(count(graph.graph.nodes))
            return run(graph)

        return backend

    return counting


def sines(nodes):
    return sum(node.target == "sin" for node in nodes)


@pytest.mark.task("debugging-backend")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (made(len), "yours leaves"),
        (made(lambda nodes: sum(node.op == "call_method" for node in nodes)), "yours leaves [3]"),
        (made(lambda nodes: sum(node.op == "call_function" for node in nodes)), "yours leaves [0]"),
        (made(sines, lambda graph: lambda *args: (args[0] * 0,)), "another result"),
        (lambda found: lambda graph, inputs: None, "raises"),
        (7, "needs a function"),
    ],
)
def test_wrong_backends_get_a_hint(answer, hint):
    check = check_backend(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)
