"""Checks of the chapter on recompilations: worked answers pass, listed wrong ones don't.

Oracles: torch for graph counts and sums, enumeration for padded lengths. Answers that are code are
read from the page.
"""

import re
from pathlib import Path

import pytest
import torch

from fuseshard.checks.compile.recompiles import (
    NUM_ROWS,
    check_graphs,
    check_lengths,
    check_one_graph,
    graph_counts,
)

PAGE = Path(__file__).parents[3] / "book/compile/recompiles.md"


def worked(function: str) -> object:
    """Run the worked answer that defines a function, and return it."""
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.S | re.M)
    (block,) = [block for block in blocks if f"def {function}(" in block]
    space = {"torch": torch}
    exec(compile(block, function, "exec"), space)
    return space[function]


@pytest.mark.task("recompiles-graphs")
def test_the_worked_counts_are_right() -> None:
    assert graph_counts() == (4, 3, 4)
    assert check_graphs((4, 3, 4)).state == "right"


@pytest.mark.task("recompiles-graphs")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        ((2, 1, 4), "dynamic=None, dynamic=True"),  # 0 and 1 forgotten
        ((4, 3, 6), "dynamic=False"),  # repeats counted
        ((3, 3, 4), "dynamic=None"),  # the static graph forgotten
        ((4, 3), "3 counts"),
        (4, "3 counts"),
    ],
)
def test_wrong_counts_are_rejected(answer: object, hint: str) -> None:
    check = check_graphs(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("recompiles-mask")
def test_the_worked_mask_is_right() -> None:
    assert check_one_graph(worked("first_rows")).state == "right"


def leaves_its_tensor(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return x[: n.item()].sum(0)


def slices(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return x[:n].sum(0)


def loops(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return sum((x[i] for i in range(int(n))), torch.zeros(x.shape[1]))


def takes_one_too_many(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return (x * (torch.arange(x.shape[0]) <= n)[:, None]).sum(0)


def raises(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    return x.reshape(NUM_ROWS + 1)


@pytest.mark.task("recompiles-mask")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (leaves_its_tensor, "gets out of its tensor"),
        (slices, "gets out of its tensor"),
        (loops, "gets out of its tensor"),
        (takes_one_too_many, "isn't that of the first n rows"),
        (raises, "raises RuntimeError"),
        (lambda x, n: n, "isn't that of the first n rows"),
        (3, "needs a function"),
    ],
)
def test_other_sums_are_rejected(answer: object, hint: str) -> None:
    check = check_one_graph(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("recompiles-lengths")
def test_the_worked_choice_is_right() -> None:
    assert check_lengths(worked("choose_lengths")).state == "right"


@pytest.mark.task("recompiles-lengths")
@pytest.mark.parametrize(
    "answer",
    [
        lambda sequences, count: [max(sequences)],  # one length for all
        lambda sequences, count: sorted(set(sequences))[-count:],  # the longest ones
        lambda sequences, count: sorted(set(sequences)),  # more than allowed
        lambda sequences, count: [2**i for i in range(8)][:count],  # holds not all
        lambda sequences, count: None,
    ],
)
def test_other_choices_are_rejected(answer) -> None:
    assert check_lengths(answer).state == "wrong"


def test_without_an_answer_every_check_is_open() -> None:
    states = {
        check_graphs(...).state,
        check_one_graph(...).state,
        check_one_graph(lambda x, n: ...).state,
        check_lengths(lambda sequences, count: ...).state,
    }
    assert states == {"open"}
