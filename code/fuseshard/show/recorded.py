"""What a page needs to know of an experiment's outcome, and what it shows where there is none."""

from __future__ import annotations

from typing import Protocol, TypeVar

from fuseshard.measure import records as measured
from fuseshard.show.words import Word, word

R_co = TypeVar("R_co", covariant=True)


class HasName(Protocol):
    """An experiment that may be waiting for a machine that can run it."""

    @property
    def experiment_id(self) -> str:
        """Its name."""

    @property
    def failure(self) -> str | None:
        """Why the last attempt yielded nothing, where one did."""


class HasResult(HasName, Protocol[R_co]):
    """An experiment's outcome, as `measure.experiments` makes it."""

    @property
    def available(self) -> R_co | None:
        """The result; None if it isn't recorded yet."""

    @property
    def beside(self) -> R_co | None:
        """Another machine's result; None where there is none."""


class HasOrigin(Protocol):
    """A result that says where it comes from."""

    @property
    def origin(self) -> measured.Origin | None:
        """Machine, versions and date."""


def is_live(result: HasOrigin | None) -> bool:
    """Return whether a result was measured while the page is built, on a GPU that is here.

    Args:
        result: of an experiment; None if it isn't recorded yet.
    """
    return result is not None and result.origin is not None and result.origin.is_live


def record_it(outcome: HasName) -> Word:
    """Say how to get what isn't recorded yet, and what came of the last attempt.

    Args:
        outcome: of an experiment such as "modes.inference-gpu".
    """
    if outcome.failure is not None:
        return word(
            "The experiment {id} needs a CUDA GPU. The last attempt to record it failed ({why}); "
            "make record tries again on a machine with one.",
            id=outcome.experiment_id,
            why=outcome.failure,
        )
    return word(
        "The experiment {id} needs a CUDA GPU and has not been recorded yet; make record does it "
        "on a machine with one.",
        id=outcome.experiment_id,
    )


def nothing_recorded() -> Word:
    """Stand in for a finding from a recording that isn't there."""
    return word("nothing is recorded yet")
