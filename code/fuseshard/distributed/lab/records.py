"""What the lab of failures observes, as plain data; needs no torch."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Room = Literal["calls", "absent", "replicas", "shards"]
Ending = Literal["returned", "raised", "died", "stopped"]
Speaker = Literal["nobody", "warning", "torch", "gloo", "system", "program", "check", "launcher"]

_CHECK = re.compile(r"^(?:\w+\.)*CheckError: ")
# A C++ source file and line, with the path of the machine that built torch.
_CPP_PLACE = re.compile(r"\[(?:enforce fail at )?/\S+?\.cc:\d+\]\s*")
_CPP_HEAD = re.compile(r"^.*after a C\+\+ exception: ")
_TORCH = re.compile(r"^(?:RuntimeError|torch\.[\w.]+): ")


@dataclass(frozen=True, kw_only=True)
class Observation:
    """How one run of one function on all ranks ended."""

    ending: Ending
    """of the rank to blame: a result, an exception, a death, or stopped by the launcher"""
    seconds: float
    """s; from the start of the ranks until the first failure, or until all had a result"""
    rank: int | None = None
    """the rank that failed first; None if none did"""
    reason: str = ""
    """its exception with message, or the signal that ended it"""
    others: tuple[tuple[int, str], ...] = ()
    """the other ranks without a result, and what became of them"""
    results: tuple[Any, ...] = ()
    """what the ranks returned, in rank order; empty after a failure"""
    warned: str = ""
    """the first Python warning of rank 0 that torch gave; empty if none"""

    @property
    def speaker(self) -> Speaker:
        """Who said that something is wrong."""
        if self.ending == "returned":
            return "warning" if self.warned else "nobody"
        if self.ending == "stopped":
            return "launcher"
        if "/gloo/" in self.reason:
            return "gloo"
        if self.ending == "died":
            return "system"
        if _CHECK.match(self.reason):
            return "check"
        return "torch" if _TORCH.match(self.reason) else "program"

    @property
    def message(self) -> str:
        """What was said, as `readable` makes it."""
        return readable(self.warned or self.reason)

    @property
    def first_line(self) -> str:
        """The first sentence or line of the message, whichever ends first."""
        return first_sentence(self.message)


def readable(reason: str) -> str:
    """Return an exception's text without torch's class names and paths of its C++ sources.

    Args:
        reason: as a rank reported it.
    """
    text = _CPP_PLACE.sub("", _CPP_HEAD.sub("", reason))
    for pattern in (_TORCH, _CHECK):
        text = pattern.sub("", text)
    return _CPP_PLACE.sub("", text).strip()


def first_sentence(reason: str) -> str:
    """Return the first sentence or line of an exception's text, whichever ends first.

    Args:
        reason: as a rank reported it.
    """
    line = readable(reason).partition("\n")[0]
    return re.split(r"(?<=[a-z)\]])\. (?=[A-Z])", line)[0].rstrip(".: (")


@dataclass(frozen=True, kw_only=True)
class Specimen:
    """One exhibit after a visit: its code, and what came of it."""

    name: str
    """unique in the lab, words joined by hyphens"""
    room: Room
    """where it stands"""
    title: str
    """the line of Python that it is about"""
    remedy: str
    """the repair in a few characters of code"""
    sources: tuple[str, str, str]
    """code that is broken, repaired, and broken with a check; the last may be empty"""
    broken: Observation
    """the mistake as it is made"""
    fixed: Observation
    """repaired; always returned"""
    revealed: Observation | None = None
    """the mistake with a check in it that speaks; None where torch speaks for itself"""
    detail: Observation | None = None
    """the mistake under the debug level DETAIL; None where it wasn't tried"""

    @property
    def is_silent(self) -> bool:
        """Whether all ranks return, without an error."""
        return self.broken.ending == "returned"

    @property
    def is_wrong(self) -> bool:
        """Whether what the ranks return differs from the repaired function's results."""
        return self.is_silent and self.broken.results != self.fixed.results


@dataclass(frozen=True, kw_only=True)
class RecordedCall:
    """One collective as torch's flight recorder noted it on one rank."""

    number: int
    """position among the group's collectives, from 1"""
    name: str
    """backend and operation, e.g. "gloo:all_reduce" """
    sizes: tuple[tuple[int, ...], ...]
    """shapes of the inputs"""


def first_difference(calls: Sequence[Sequence[RecordedCall]]) -> int | None:
    """Return the number of the first collective that not all ranks called alike; None if none.

    Args:
        calls: what each rank's recorder holds, in rank order; from a full recorder, not a cut one.
    """
    for number in range(1, 1 + max(map(len, calls), default=0)):
        if len({repr(own[number - 1 : number]) for own in calls}) > 1:
            return number
    return None
