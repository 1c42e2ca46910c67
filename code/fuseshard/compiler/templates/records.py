"""What stays a library call, as plain data that drawing code can read without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fuseshard.compiler.modes.records import Candidate
from fuseshard.measure.records import Comparison

Place = Literal["kernel", "library", "template"]


@dataclass(frozen=True, kw_only=True)
class LibraryUse:
    """What Inductor writes for one small function on the CPU, by default."""

    code: str
    """the function's body"""
    calls: tuple[str, ...]
    """library functions that the module calls"""
    kernels: int
    """kernels that it has besides"""


@dataclass(frozen=True, kw_only=True)
class Epilogue:
    """Where an activation behind a product or a convolution has gone."""

    way: str
    calls: tuple[str, ...]
    """library functions that the module calls"""
    kernels: int
    """kernels of Inductor's own, a template among them"""
    place: Place
    """kernel: a loop of its own; library: an argument of the library's function; template: inside
    the matrix product that Inductor wrote"""


@dataclass(frozen=True, kw_only=True)
class Passes:
    """Linear layer, layer norm and dropout in one module."""

    training: bool
    vectors: bool
    """whether the kernel may use vector instructions"""
    library_calls: int
    kernels: int
    row_loops: int
    """loops over all rows in the kernel, one after the other"""
    table_passes: int
    """of these, loops that walk through the columns of every row"""


@dataclass(frozen=True, kw_only=True)
class GemmSize:
    """A linear layer with relu at one number of rows."""

    rows: int
    width: int
    """features in and out"""
    candidates: tuple[Candidate, ...]
    """ways to compute the product that max-autotune timed, fastest first; without the relu"""
    place: Place
    """of the relu under max-autotune"""
    first_calls_s: Mapping[str, float]
    """way -> seconds of its first call"""
    comparison: Comparison
    """steady times; "default" first, then "eager", "frozen" and "searched" """
