"""What the answer on nodes and groups, in the chapter on Inductor, is tested with."""

import functools

import torch

from fuseshard.checks.common import as_number, is_open, open_question, right, wrong
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word


def centred(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Subtract from each row of a rectified product its mean, as the exercise does."""
    h = torch.relu(x @ w)
    return h - h.mean(dim=1, keepdim=True)


@functools.cache
def expected() -> tuple[int, int]:
    """Count nodes and groups, here and now."""
    schedule = decisions(centred, torch.ones(384, 512), torch.ones(512, 512))
    return len(schedule.nodes), len(schedule.groups)


def check_groups(answer: object) -> Check:
    """Check how many nodes the scheduler gets for `centred`, and how many groups it makes.

    Args:
        answer: nodes and groups in a tuple; `...` means nothing yet.
    """
    name = "inductor-groups"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(expected()):
        return wrong(name, word("This needs two counts in a tuple: nodes and groups."))
    given = [as_number(count) for count in answer]
    nodes, groups = expected()
    if given == [nodes, groups]:
        return right(name)
    if given == [groups, nodes]:
        return wrong(name, word("That is groups and nodes; nodes come first."))
    return wrong(name, _hint(given[0], nodes))


def _hint(given: float | None, nodes: int) -> Word:
    """Say what to look at again."""
    if given is None:
        return word("Both have to be numbers.")
    if given > nodes:
        return word("Too many nodes: what is cheap is computed inside its readers.")
    if given < nodes:
        return word("Too few nodes: a call of a library is one, and so is a reduction.")
    return word("The nodes are right. Which of them may share the loop over rows?")
