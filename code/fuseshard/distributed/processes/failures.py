"""What went wrong in which rank, and which rank is to blame.

When one rank of a group fails, its peers often fail too, because their connection to it is gone.
The peers are victims. The rank to blame failed first, and for a reason of its own.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

_PEER_IS_GONE = re.compile(
    "connection closed by (remote )?peer|connection reset by peer|broken pipe|socket closed"
    "|connection (was )?(refused|aborted|closed)|failed to (send|recv|receive)|recvvalue failed"
    "|sendbytes failed|recvvector failed|read error .*reset",
    re.IGNORECASE,
)


Kind = Literal["raised", "died", "stopped", "not started"]


@dataclass(frozen=True, kw_only=True)
class RankFailure:
    """Why one rank has no result."""

    rank: int
    "index of the rank"
    kind: Kind
    "raised an exception; died by a signal or left; was stopped while it ran, or before it began"
    time_s: float
    "seconds on the machine's monotonic clock, the same clock for all ranks"
    reason: str
    "one line or more: the exception and its message, the signal, or why it was stopped"
    details: str = ""
    "traceback, or where the rank stood"
    stderr: str = ""
    "what the rank wrote to stderr"

    @property
    def is_victim(self) -> bool:
        """Whether the rank only noticed that a peer was gone."""
        return self.kind == "raised" and bool(_PEER_IS_GONE.search(self.reason))


class DistributedError(RuntimeError):
    """At least one rank gave no result.

    The message leads with the rank that failed first and its traceback; all other ranks follow.
    `.failures` holds the same as data, in the same order; `.rank` is the rank to blame
    (None when time ran out), `.reason` the message's first paragraph, and `.finished` the ranks
    that had done their work.
    """

    def __init__(
        self,
        reason: str,
        *,
        rank: int | None = None,
        failures: Sequence[RankFailure] = (),
        finished: Sequence[int] = (),
    ) -> None:
        parts = [reason, *(_describe(failure) for failure in failures)]
        parts += [f"rank {finished_rank} had its result" for finished_rank in finished]
        super().__init__("\n\n".join(parts))
        self.reason = reason
        self.rank = rank
        self.failures = tuple(failures)
        self.finished = tuple(finished)


def in_order_of_blame(failures: Iterable[RankFailure]) -> list[RankFailure]:
    """Sort failures: own failures, then victims, then the launcher's; each by time and rank."""
    return sorted(
        failures,
        key=lambda failure: (
            failure.kind in ("stopped", "not started"),
            failure.is_victim,
            failure.time_s,
            failure.rank,
        ),
    )


def first_failure(
    failures: Iterable[RankFailure], world_size: int, started_s: float
) -> DistributedError:
    """Build the error that leads with the rank that failed first."""
    ordered = in_order_of_blame(failures)
    culprit = ordered[0]
    after_s = max(0.0, culprit.time_s - started_s)
    reason = (
        f"rank {culprit.rank} of {world_size} failed first, "
        f"{after_s:.1f} s after the start: {culprit.reason}"
    )
    finished = sorted(set(range(world_size)) - {failure.rank for failure in ordered})
    return DistributedError(reason, rank=culprit.rank, failures=ordered, finished=finished)


def out_of_time(
    failures: Iterable[RankFailure], world_size: int, timeout_s: float
) -> DistributedError:
    """Build the error for ranks that were still running when the time was over."""
    ordered = in_order_of_blame(failures)
    ranks = ", ".join(str(failure.rank) for failure in ordered)
    noun = "rank" if len(ordered) == 1 else "ranks"
    reason = (
        f"timed out: after {timeout_s:g} s {noun} {ranks} of {world_size} still ran and had to be "
        "stopped. Ranks that wait for each other never finish: compare where they stood below; "
        "if they only need longer, pass a larger timeout"
    )
    if all(failure.kind == "not started" for failure in ordered):
        reason = (
            f"timed out: after {timeout_s:g} s {noun} {ranks} of {world_size} had not started: "
            f"{ordered[0].reason}; pass a larger timeout"
        )
    finished = sorted(set(range(world_size)) - {failure.rank for failure in ordered})
    return DistributedError(reason, failures=ordered, finished=finished)


def _describe(failure: RankFailure) -> str:
    """One rank's part of the message."""
    verb = {"stopped": "was stopped", "not started": "was not started"}
    parts = [f"rank {failure.rank} {verb.get(failure.kind, failure.kind)}: {failure.reason}"]
    if failure.details:
        parts.append(_indent(failure.details))
    if failure.stderr and failure.kind == "died":
        parts.append("  last words on stderr:\n" + _indent(_tail(failure.stderr), "    "))
    return "\n".join(parts)


def _tail(text: str, num_lines: int = 12) -> str:
    return "\n".join(text.strip().splitlines()[-num_lines:])


def _indent(text: str, margin: str = "  ") -> str:
    return "\n".join(margin + line for line in text.rstrip().splitlines())
