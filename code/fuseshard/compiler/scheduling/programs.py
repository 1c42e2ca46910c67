"""Small programs of which each asks Inductor's scheduler one question.

R = 384 rows, C = 512 columns: x and z are [R, C], w is [C, C].
"""

import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from fuseshard.compiler.scheduling.by_hand import schedule
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.compiler.scheduling.records import Agreement, Exhibit, Schedule

ROWS, COLUMNS = 384, 512
Pair = tuple[Tensor, Tensor]


def chain(x: Tensor) -> Tensor:
    """Compute four operations, one after the other, element by element."""
    y = torch.relu(x * 2 + 1)
    return torch.sigmoid(y)


def siblings(x: Tensor) -> Pair:
    """Read one input twice."""
    return x.exp(), x * 2


def softmax(x: Tensor) -> Tensor:
    """Reduce, compute, reduce, compute, within each row."""
    return torch.softmax(x, dim=1)


def moments(x: Tensor) -> Pair:
    """Reduce each row twice."""
    return x.mean(1), (x * x).mean(1)


def matmul(x: Tensor, w: Tensor) -> Tensor:
    """Put a library's work between two loops."""
    return torch.relu((x * 2) @ w)


def transposed(x: Tensor) -> Pair:
    """Read a table in the order of its columns."""
    e = x.exp()
    return e, e.t().contiguous()


def columns(x: Tensor) -> Tensor:
    """Reduce, compute, reduce, compute, within each column."""
    return torch.softmax(x, dim=0)


def flattened(x: Tensor) -> Pair:
    """Compute a table as one long row, and reduce it row by row."""
    e = x.exp()
    return e, e.sum(dim=1)


def cheap(x: Tensor) -> Pair:
    """Reduce a table that is cheap to compute, in two directions."""
    y = x * 2 + 1
    return y.sum(dim=0), y.sum(dim=1)


def costly(x: Tensor) -> Pair:
    """Reduce a table that is costly to compute, in two directions."""
    y = x.exp()
    return y.sum(dim=0), y.sum(dim=1)


def slices(x: Tensor) -> Pair:
    """Read a table whole, and half of it."""
    return x * 2, x[:, :256] + 1


def joined(x: Tensor, z: Tensor) -> Tensor:
    """Join two tables, each computed from an input of its own."""
    parts = [x * 2, z + 1]
    return torch.cat(parts, dim=1)


def detour(x: Tensor, w: Tensor) -> Pair:
    """Use a table beside a product that was made of it."""
    e = x.exp()
    return e.tanh(), (e @ w) * e


def cycle(x: Tensor, z: Tensor, w: Tensor) -> Pair:
    """Put two products between two readers of x and two readers of z."""
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
            code=_bare(inspect.getsource(program)),
            schedule=decisions(program, *example(program)),
        )
        for program in PROGRAMS
    }


def _bare(source: str) -> str:
    """Print a function without its types and its docstring."""
    head, _docstring, *body = source.rstrip().splitlines()
    return "\n".join([re.sub(r": Tensor| -> \w+", "", head), *body])


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
