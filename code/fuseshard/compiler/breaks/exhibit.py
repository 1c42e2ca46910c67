"""One exhibit of the museum of graph breaks: a small function, its repair, and a visit to both."""

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from fuseshard.compiler.breaks.observe import Make, observe
from fuseshard.compiler.breaks.records import Cause, Specimen

CALLS = 4
"""of the compiled function: the first compiles, three more show whether it stays compiled"""


def numbers() -> tuple[torch.Tensor]:
    """Make the museum's usual argument: four numbers of both signs whose sum is positive."""
    return (torch.tensor([-1.0, 2.0, 0.5, 3.0]),)


@dataclass(frozen=True, kw_only=True)
class Exhibit:
    """A function, and how to repair it where it breaks the graph."""

    title: str
    """the line of Python that it is about"""
    code: Callable[..., Any]
    """its name, with hyphens, is the exhibit's"""
    make_args: Make = numbers
    fixed: Callable[..., Any] | None = None
    """does the same in one graph; None: a setting is enough, or nothing needs repair"""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """options of torch._dynamo.config that belong to the repair"""
    helpers: tuple[Callable[..., Any], ...] = ()
    """functions that `code` calls, worth a look"""
    fixed_helpers: tuple[Callable[..., Any], ...] = ()
    """functions that `fixed` calls, worth a look"""
    remedy: str = ""
    """the repair in a few characters of code"""
    cause: Cause | None = None
    """what older advice blames"""

    @property
    def name(self) -> str:
        """The function's name, with hyphens."""
        return self.code.__name__.replace("_", "-")


def visit(exhibit: Exhibit, room: str) -> Specimen:
    """Run an exhibit by default, under fullgraph and repaired.

    Args:
        exhibit: what to look at.
        room: the room it stands in.
    """
    fixed = None
    if exhibit.remedy:
        fixed = observe(
            exhibit.fixed or exhibit.code,
            exhibit.make_args,
            settings=exhibit.settings,
            reference=exhibit.code,
        )
    return Specimen(
        name=exhibit.name,
        room=room,
        title=exhibit.title,
        cause=exhibit.cause,
        source=source_of(exhibit.code, *exhibit.helpers),
        default=observe(exhibit.code, exhibit.make_args, calls=CALLS),
        full=observe(exhibit.code, exhibit.make_args, fullgraph=True),
        fixed=fixed,
        fixed_source=source_of(exhibit.fixed, *exhibit.fixed_helpers) if exhibit.fixed else "",
        remedy=exhibit.remedy,
    )


def source_of(*functions: Callable[..., Any]) -> str:
    """Return the source of functions, one below the other, without notes to checkers."""
    sources = [textwrap.dedent(inspect.getsource(inspect.unwrap(fn))) for fn in functions]
    return "\n\n".join(re.sub(r"  # (?:type|noqa).*", "", text).rstrip("\n") for text in sources)
