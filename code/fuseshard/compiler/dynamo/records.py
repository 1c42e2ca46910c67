"""What the observers of Dynamo return, as plain data that drawing code can read without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Origin = Literal["argument", "closure", "attribute", "global", "torch"]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One function that Dynamo met: what Python had compiled, and what runs in its place."""

    name: str
    """of the function; a resume function's is Dynamo's own"""
    before: str
    """the bytecode that Dynamo read"""
    after: str
    """the bytecode that it wrote"""


@dataclass(frozen=True, kw_only=True)
class GuardLine:
    """One check that has to pass before the compiled code is used."""

    kind: str
    """as torch calls it, e.g. TENSOR_MATCH"""
    subject: str
    """what is checked, e.g. L['x'] or G['offset']; "" for torch's global state"""
    check: str
    """the condition, in torch's words"""
    origin: Origin
    """where the subject comes from; torch: state of torch itself"""

    @property
    def name(self) -> str:
        """The subject as the function's author wrote it: x, layer.exponent, parts[0]."""
        name = self.subject
        for before, after in (("L['", ""), ("G['", ""), ("']", ""), ("._parameters['", ".")):
            name = name.replace(before, after, 1) if before != "']" else name.replace(before, after)
        return name


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call of a compiled function in an experiment."""

    state: str
    """what was passed or changed, as Python, e.g. k = 2.0"""
    outcome: Literal["compiled", "reused"]
    """compiled: Dynamo made a new version for it"""
    failed: str
    """for a new version: the guard of an older one that failed, in torch's words, else "" """
    graph: str
    """for a new version: the line of the graph that shows what became of the changed thing"""
    is_right: bool
    """the result equals eager mode's, to the sign of zero and infinity"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A function called several times, with one thing changed in between."""

    name: str
    """of the thing that changes, e.g. float-argument"""
    code: str
    """the expression that the function computes"""
    calls: tuple[Call, ...]


@dataclass(frozen=True, kw_only=True)
class Passes:
    """How often Dynamo went over one line of a function."""

    name: str
    """of the function"""
    first: int
    """passes during the first call"""
    again: int
    """passes during a second call with the same arguments"""
    reshaped: int
    """passes during a call with another shape"""
    kinds: tuple[str, ...]
    """class of the tensor that it saw there, each once"""
    shapes: tuple[str, ...]
    """shapes that it saw there, each once"""
