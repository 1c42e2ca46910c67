"""What a page shows of an experiment that its own machine can't run and nobody has recorded yet."""

from __future__ import annotations

from typing import Protocol, TypeVar

from fuseshard.show.words import Word, word

R_co = TypeVar("R_co", covariant=True)


class HasResult(Protocol[R_co]):
    """An experiment's outcome, as `measure.experiments` makes it."""

    @property
    def experiment_id(self) -> str:
        """Its name."""

    @property
    def available(self) -> R_co | None:
        """The result; None if it isn't recorded yet."""


def record_it(experiment_id: str) -> Word:
    """Say how to get what isn't recorded yet.

    Args:
        experiment_id: such as "modes.inference-gpu".
    """
    return word(
        "The experiment {id} needs a CUDA GPU and has not been recorded yet; make record does it "
        "on a machine with one.",
        id=experiment_id,
    )


def nothing_recorded() -> Word:
    """Stand in for a finding from a recording that isn't there."""
    return word("nothing is recorded yet")
