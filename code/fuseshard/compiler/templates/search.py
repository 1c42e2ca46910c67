"""What max-autotune costs and gains on the CPU, for a linear layer with relu."""

import contextlib
import functools
import io
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import nn

# Private, checked on torch 2.11 and 2.13: the settings of Inductor.
from torch._inductor import config

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.records import Candidate
from fuseshard.compiler.stages import source_kept
from fuseshard.compiler.templates.epilogues import SEARCH, place_of
from fuseshard.compiler.templates.records import GemmSize
from fuseshard.measure import clock

_CANDIDATE = re.compile(r"^ +(\w+) ([\d.]+) ms", re.MULTILINE)
WAYS: dict[str, tuple[str | None, dict[str, Any]]] = {
    "default": (None, {}),
    "frozen": (None, {"freezing": True}),
    "searched": (SEARCH, {"freezing": True}),
}
"""way -> mode of torch.compile, and settings of Inductor during the first call"""


@dataclass(frozen=True)
class Built:
    """A layer compiled in one way, after its first call."""

    source: str
    """the module that Inductor wrote"""
    call: Callable[[], Any]
    """to be called without gradients, as the first time"""
    first_call_s: float
    candidates: tuple[Candidate, ...]
    """that Inductor timed, fastest first"""


def build(layer: nn.Module, rows: torch.Tensor, way: str) -> Built:
    """Compile a layer in one of `WAYS`, with nothing to take from a cache.

    Inductor's report of its search goes to stderr, which is read here and goes no further.

    Args:
        layer: needs no gradient.
        rows: its input.
        way: a key of `WAYS`.
    """
    mode, settings = WAYS[way]
    call = functools.partial(torch.compile(isolated(layer), dynamic=False, mode=mode), rows)
    source: list[str] = []
    report = io.StringIO()
    clock.warm_compiler()
    with (
        torch.no_grad(),
        warnings.catch_warnings(),
        contextlib.redirect_stderr(report),
        config.patch(compile_threads=1, **settings),
        source_kept(source),
    ):
        warnings.simplefilter("ignore")  # timing a template touches a deprecated class of torch
        first_s = clock.first_call(call)
    timed = [
        Candidate(name=name, seconds=float(millis) / 1e3)
        for name, millis in _CANDIDATE.findall(report.getvalue())
    ]
    fastest_first = tuple(sorted(timed, key=lambda candidate: candidate.seconds))
    return Built(source[-1], call, first_s, fastest_first)


def sizes(rows: Sequence[int] = (4, 256), *, width: int = 512) -> tuple[GemmSize, ...]:
    """Compile and time the layer at some numbers of rows.

    Args:
        rows: one size each.
        width: features in and out.
    """
    return tuple(_size(count, width) for count in rows)


def _size(count: int, width: int) -> GemmSize:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Linear(width, width), nn.ReLU()).requires_grad_(False)
    x = torch.randn(count, width, generator=torch.Generator().manual_seed(0))
    built = {way: build(layer, x, way) for way in WAYS}
    variants = {
        "default": built["default"].call,
        "eager": lambda: layer(x),
        "frozen": built["frozen"].call,
        "searched": built["searched"].call,
    }
    first_calls_s = {way: one.first_call_s for way, one in built.items()}
    with torch.no_grad():
        compared = clock.compare(variants, budget_s=2.0)
    # The layers were compiled before: their true first calls are those that `build` timed.
    timings = tuple(
        replace(timing, first_call_s=first_calls_s.get(timing.name, timing.first_call_s))
        for timing in compared.timings
    )
    return GemmSize(
        rows=count,
        width=width,
        candidates=built["searched"].candidates,
        place=place_of(built["searched"].source),
        first_calls_s=first_calls_s,
        comparison=replace(compared, timings=timings),
    )
