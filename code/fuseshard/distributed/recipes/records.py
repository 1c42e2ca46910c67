"""A line of the cheat sheet for several processes, as data. Torch-free."""

from dataclasses import dataclass


@dataclass(frozen=True)
class RankRecipe:
    """One line to write on every rank, with what has to hold there once it has run."""

    id: str
    """lower-case words joined by hyphens; what it is for stands in `show`, by this name"""
    code: str
    """Python, one line; sees the names of `run.SETTING`"""
    proof: str
    """Python that runs right after `code` and raises where it didn't do what the sheet says"""


class RankRecipeError(AssertionError):
    """A line of the cheat sheet doesn't do on a rank what the sheet says."""
