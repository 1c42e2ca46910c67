"""Small programs of which each asks Inductor's scheduler one question.

R = 384 rows, C = 512 columns: x and z are [R, C], y is [C, R], w is [C, C].
"""

import inspect
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import torch

from fuseshard.compiler.scheduling.by_hand import schedule
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.compiler.scheduling.records import Agreement, Exhibit, Schedule

ROWS, COLUMNS = 384, 512


def chain(x):
    return torch.sigmoid(torch.relu(x * 2 + 1))


def siblings(x):
    return x.exp(), x * 2


def softmax(x):
    return torch.softmax(x, dim=1)


def moments(x):
    return x.mean(dim=1), (x * x).mean(dim=1)


def matmul(x, w):
    return torch.relu((x * 2) @ w)


def transposed(x, y):
    e = x.exp()
    return e, e.t() + y


def columns(x):
    return torch.softmax(x, dim=0)


def flattened(x):
    e = x.exp()
    return e, e.sum(dim=1)


def cheap(x):
    y = x * 2 + 1
    return y.sum(dim=0), y.sum(dim=1)


def costly(x):
    y = x.exp()
    return y.sum(dim=0), y.sum(dim=1)


def slices(x):
    return x * 2, x[:, :256] + 1


def joined(x, z):
    return torch.cat([x * 2, z + 1], dim=1)


def detour(x, w):
    e = x.exp()
    return e.tanh(), (e @ w) * e


def cycle(x, z, w):
    left = (x.exp() @ w) * z
    right = ((z + 1) @ w) * x
    return left, right


PROGRAMS: tuple[Callable[..., Any], ...] = (
    chain,
    siblings,
    softmax,
    moments,
    flattened,
    transposed,
    columns,
    cheap,
    costly,
    slices,
    joined,
    matmul,
    detour,
    cycle,
)


def example(program: Callable[..., Any]) -> tuple[torch.Tensor, ...]:
    """Make the inputs that a program's parameters name."""
    shapes = {
        "x": (ROWS, COLUMNS),
        "y": (COLUMNS, ROWS),
        "z": (ROWS, COLUMNS),
        "w": (COLUMNS, COLUMNS),
    }
    generator = torch.Generator().manual_seed(0)
    names = inspect.signature(program).parameters
    return tuple(torch.randn(shapes[name], generator=generator) for name in names)


def gallery() -> dict[str, Exhibit]:
    """Have Inductor schedule each program.

    Returns:
        Name of a program -> its text and what the scheduler decided.
    """
    return {
        program.__name__: Exhibit(
            code=textwrap.dedent(inspect.getsource(program)).rstrip(),
            schedule=decisions(program, *example(program)),
        )
        for program in PROGRAMS
    }


def agreement(schedules: Sequence[Schedule]) -> tuple[Agreement, ...]:
    """Schedule by hand, with every rule and with one left out, and compare with Inductor.

    Args:
        schedules: what Inductor decided.

    Returns:
        For "all", "cycles" and "ranges", the last two naming the rule left out: how many
        schedules have the same groups.
    """
    settings: dict[str, dict[str, bool]] = {
        "all": {},
        "cycles": {"cycles": True},
        "ranges": {"ranges": False},
    }
    return tuple(
        Agreement(
            rules=rules,
            equal=tuple(groups_by_hand(s, **chosen) == groups_of(s) for s in schedules),
        )
        for rules, chosen in settings.items()
    )


def groups_by_hand(scheduled: Schedule, **rules: bool) -> set[frozenset[str]]:
    """Group the nodes of a schedule anew, by hand."""
    groups = schedule(scheduled.nodes, **rules)
    return {frozenset(node.name for node in group.nodes) for group in groups}


def groups_of(scheduled: Schedule) -> set[frozenset[str]]:
    """Return Inductor's groups without their order."""
    return {frozenset(group) for group in scheduled.groups}
