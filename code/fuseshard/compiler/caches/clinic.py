"""Changes to a small program, and what the caches filled by the unchanged one say of each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

# Private, checked on torch 2.11 and 2.13: Inductor itself, as torch.compile calls it.
from torch._inductor.compile_fx import compile_fx

from fuseshard.compiler.caches.by_hand import key_of
from fuseshard.compiler.caches.counting import look_up
from fuseshard.compiler.caches.records import ClinicCase
from fuseshard.measure.stopwatch import threads
from fuseshard.models.stack import HalfLayer, rows

NUM_ROWS, OTHER_ROWS = 10, 15
"""of the unchanged program's input, and of another one"""


class Commented(HalfLayer):
    """The same program: only a comment and an empty line are new."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform rows: [B, D] to [B, D]."""
        # A comment changes the file, and nothing that Dynamo sees.
        x = torch.relu(self.linear(x))

        return torch.sigmoid(x)


class Renamed(HalfLayer):
    """The same program, with another name for one of its variables."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform rows: [B, D] to [B, D]."""
        hidden = torch.relu(self.linear(x))
        return torch.sigmoid(hidden)


class WithTanh(HalfLayer):
    """A program with one operation exchanged."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform rows: [B, D] to [B, D]."""
        x = torch.relu(self.linear(x))
        return torch.tanh(x)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A way in which a program differs from the one that filled the caches."""

    name: str
    model: Callable[[], nn.Module] = HalfLayer
    num_rows: int = NUM_ROWS
    dtype: torch.dtype = torch.float32
    num_threads: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    """Inductor's, as torch.compile takes them"""


CHANGES: Sequence[Change] = (
    Change(name="nothing"),
    Change(name="weights", model=lambda: HalfLayer(seed=7)),
    Change(name="comment", model=Commented),
    Change(name="variable", model=Renamed),
    Change(name="depth", model=lambda: nn.Sequential(HalfLayer(), HalfLayer())),
    Change(name="option", options={"epilogue_fusion": False}),
    Change(name="threads", num_threads=2),
    Change(name="operation", model=WithTanh),
    Change(name="rows", num_rows=OTHER_ROWS),
    Change(name="dtype", dtype=torch.float64),
)
"""the first is no change; the others are sorted by how much they leave the compiler to do"""


def visit(change: Change) -> ClinicCase:
    """Make the first call of a changed program, with nothing of it compiled in memory.

    A change that misses is stored in its turn, under a key that no other change asks for.

    Args:
        change: one of CHANGES.

    Returns:
        What torch's caches said; `by_hand` holds the key of our own.
    """
    keys: list[str] = []

    def inductor(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Any:
        keys.append(key_of(graph, inputs))
        return compile_fx(graph, inputs, config_patches=change.options)

    torch.compiler.reset()
    with threads(change.num_threads):
        model = change.model().to(change.dtype)
        x = rows(change.num_rows).to(change.dtype)
        compiled = torch.compile(model, backend=inductor, dynamic=False)
        lookup = look_up(lambda: compiled(x))
    return ClinicCase(change=change.name, lookup=lookup, key_by_hand=keys[0])


def clinic() -> tuple[ClinicCase, ...]:
    """Try every change against caches on disk that the unchanged program filled.

    Before them comes one that misses, which pays for what Inductor sets up at the first miss of a
    process.

    Returns:
        One case a change, in the order of CHANGES.
    """
    visit(Change(name="deeper", model=lambda: nn.Sequential(*(HalfLayer() for _ in range(3)))))
    return tuple(visit(change) for change in CHANGES)
