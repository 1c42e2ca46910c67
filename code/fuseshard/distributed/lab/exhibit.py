"""One exhibit of the lab: a mistake, its repair, and a visit to both in processes of their own."""

import inspect
import re
import textwrap
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch.distributed as dist

from fuseshard.distributed.lab.records import Ending, Observation, Room, Specimen
from fuseshard.distributed.launcher import DistributedError, run

LIMIT_S = 12.0
"""seconds that any run in the lab may take, start-up included; then the launcher ends it"""
PATIENCE_S = 1.5
"""seconds that a rank waits for another while a mistake is shown"""
CALM_S = 10.0
"""seconds that it waits where nothing should go wrong, also on a busy machine"""

Code = Callable[[int, dist.ProcessGroup], Any]
"""what each rank runs: (rank, group) -> plain data"""


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A mistake and its repair."""

    title: str
    """the line of Python that it is about"""
    code: Code
    """makes the mistake; its name, with hyphens, is the exhibit's"""
    fixed: Code
    """does the same, repaired; returns on all ranks"""
    remedy: str
    """the repair in a few characters of code"""
    revealed: Code | None = None
    """makes the mistake, with a check that speaks"""
    helpers: tuple[Callable[..., Any], ...] = ()
    """functions and classes that `code` uses, worth a look"""
    under_detail: bool = False
    """whether to try the mistake under the debug level DETAIL too"""
    world_size: int = 2
    """ranks; 3 where one should stand by"""

    @property
    def name(self) -> str:
        """The function's name, with hyphens."""
        return self.code.__name__.replace("_", "-")


def visit(exhibit: Exhibit, room: Room) -> Specimen:
    """Run an exhibit broken, repaired, with its check and under DETAIL, as far as it has them.

    Args:
        exhibit: what to look at.
        room: the room it stands in.

    Raises:
        DistributedError: the repaired function fails.
    """
    ranks = exhibit.world_size
    fixed = observe(exhibit.fixed, world_size=ranks, patience_s=CALM_S)
    if fixed.ending != "returned":
        raise DistributedError(f"{exhibit.name}: the repair fails: {fixed.reason}")
    revealed = exhibit.revealed and observe(exhibit.revealed, world_size=ranks)
    is_tried = exhibit.under_detail
    return Specimen(
        name=exhibit.name,
        room=room,
        title=exhibit.title,
        remedy=exhibit.remedy,
        sources=(
            source_of(*exhibit.helpers, exhibit.code),
            source_of(exhibit.fixed),
            source_of(exhibit.revealed) if exhibit.revealed else "",
        ),
        broken=observe(exhibit.code, world_size=ranks),
        fixed=fixed,
        revealed=revealed,
        detail=observe(exhibit.code, world_size=ranks, is_detailed=True) if is_tried else None,
    )


def observe(
    code: Code,
    *,
    world_size: int = 2,
    patience_s: float = PATIENCE_S,
    is_detailed: bool = False,
    limit_s: float = LIMIT_S,
) -> Observation:
    """Run a function on ranks of a fresh group and note how it ends; never hangs, never raises.

    Args:
        code: function of (rank, group).
        world_size: number of ranks.
        patience_s: seconds that a rank waits for another in a collective of the group.
        is_detailed: whether torch compares calls before it runs them (debug level DETAIL).
        limit_s: seconds for the whole run; then the launcher stops the ranks.
    """
    started_s = time.monotonic()
    try:
        outcomes = run(
            _in_rank, world_size, args=(code, (patience_s, is_detailed)), timeout=limit_s
        )
    except DistributedError as error:
        return _of_failure(error, started_s)
    return Observation(
        ending="returned",
        seconds=time.monotonic() - started_s,
        results=tuple(value for value, _ in outcomes),
        warned=outcomes[0][1],
    )


def source_of(*things: Callable[..., Any]) -> str:
    """Return the source of functions and classes, one below the other.

    Args:
        things: from modules, not from cells; notes to checkers are left out.
    """
    sources = [textwrap.dedent(inspect.getsource(thing)) for thing in things]
    return "\n\n\n".join(re.sub(r"  # (?:type|noqa).*", "", text).rstrip("\n") for text in sources)


def _in_rank(rank: int, world_size: int, code: Code, limits: tuple[float, bool]) -> tuple[Any, str]:
    """Run the code in a group of its own; what it returns, and the first warning of torch's."""
    patience_s, is_detailed = limits
    if is_detailed:
        dist.set_debug_level(dist.DebugLevel.DETAIL)
    group = dist.new_group(timeout=timedelta(seconds=patience_s))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = code(rank, group)
    told = [str(one.message) for one in caught if issubclass(one.category, UserWarning)]
    return value, told[0] if told else ""


def _of_failure(error: DistributedError, started_s: float) -> Observation:
    """What the launcher's error says about the rank to blame, and about the others."""
    if not error.failures:
        raise error
    first, *others = error.failures
    endings: dict[str, Ending] = {"raised": "raised", "died": "died"}
    return Observation(
        ending=endings.get(first.kind, "stopped"),
        seconds=max(0.0, first.time_s - started_s),
        rank=first.rank,
        reason=first.reason,
        others=tuple((failure.rank, failure.reason) for failure in others),
    )
