"""What the chapter on debugging finds, as plain data that drawing code reads without torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ending = Literal["right", "wrong", "raises"]


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """One entry of torch's log: what one call of a logger wrote."""

    artifact: str
    """name under which TORCH_LOGS switches it on, e.g. graph_breaks"""
    frame: str
    """frame and compile that it belongs to, e.g. 0/1: the second compile of the first frame"""
    text: str
    """its lines, without paths and prefixes"""


@dataclass(frozen=True, kw_only=True)
class TraceEvent:
    """One event of a structured trace (TORCH_TRACE)."""

    name: str
    """what happened, e.g. dynamo_output_graph"""
    frame: str
    """as in LogEntry; "" where the event belongs to no frame"""
    payload_lines: int
    """lines of text that came with it, such as a graph"""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One backend or one module, tried alone."""

    name: str
    ending: Ending
    """right: the result agrees with eager mode; wrong: it differs; raises: there was none"""
    detail: str
    """the error, its first line, or the largest difference; "" when it is right"""


@dataclass(frozen=True, kw_only=True)
class Bisection:
    """What torch's own bisector found."""

    backend: str
    subsystem: str
    """part of the backend, e.g. lowerings; "" where the backend is the whole answer"""
    culprit: str
    """what was switched off when the fault went away, e.g. relu"""
    runs: int
    """times that the test was run for it"""
    sources: int
    """different C++ sources that those runs wrote"""


@dataclass(frozen=True, kw_only=True)
class Minified:
    """A failing graph, made small."""

    nodes: tuple[int, ...]
    """nodes of the graph at each checkpoint, from the first to the last"""
    queries: int
    """smaller graphs that were tried"""
    repro: str
    """forward of the smallest graph that still fails"""


@dataclass(frozen=True, kw_only=True)
class UlpCount:
    """How far results lie from the exact ones, in units of the last place."""

    name: str
    """what was computed"""
    way: str
    """eager or compiled"""
    counts: tuple[int, ...]
    """results that are 0, 1, 2, ... units away; the last entry counts all that are further"""
    largest: int
    """units of the furthest result"""
