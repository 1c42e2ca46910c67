"""Recipes and settings of the cheat sheet, as data: what is written, and what proves it."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Recipe:
    """One line to write, with what has to hold once it has run."""

    id: str
    """lower-case words joined by hyphens; what it is for stands in `show`, by this name"""
    code: str
    """Python, one line; sees the names of `run.SETTING`"""
    proof: str
    """Python that runs right after `code` and raises where it didn't do what the sheet says"""


@dataclass(frozen=True)
class Setting:
    """One of torch's settings, as this installation has it."""

    path: str
    """dotted name, from `torch` on"""
    value: Any
    """its value in a fresh process, if nobody has changed it since"""
