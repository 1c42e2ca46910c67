"""Several records in one place, of which the reader picks one: a stepper, a slider, a selection.

Everything is computed when the page is built; the control only chooses what is seen. Without
scripts all of it stands one below the other. Example:

    choose("budget", word("Memory budget"), [(plain("1.0"), whole), (plain("0.5"), half)],
           control="slider")
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from fuseshard.show.records import Figure, Record, Source, Table
from fuseshard.show.words import VERSION, Json, Text, Word

CHOICE_MIME = "application/vnd.fuseshard.choice+json"

Control = Literal["select", "slider"]
Choosable = Figure | Table | Source


@dataclass(frozen=True)
class Choice(Record):
    """Records of which one is seen at a time, behind a labelled control."""

    mime = CHOICE_MIME
    label: Word
    """what is chosen, e.g. "Memory budget" """
    options: tuple[tuple[Text, Choosable], ...]
    """name of the option, and what it shows; a slider keeps their order"""
    control: Control = "select"
    """select: a list of names; slider: for options that lie on a scale"""
    start: int = 0
    """index of the option that is seen first"""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.control not in get_args(Control):
            raise ValueError(
                f"choice {self.name!r}: control is {self.control!r}, must be one of "
                f"{get_args(Control)}, which every keyboard reaches; use one of them"
            )
        if len(self.options) < 2:
            raise ValueError(
                f"choice {self.name!r}: got {len(self.options)} options, must have at least 2, or "
                "there is nothing to choose; show the record itself"
            )
        if not 0 <= self.start < len(self.options):
            raise ValueError(
                f"choice {self.name!r}: start is {self.start}, must be an index of its "
                f"{len(self.options)} options; correct it"
            )
        self._check_options()

    def _check_options(self) -> None:
        """Refuse options that a page couldn't tell apart or couldn't show."""
        for label, record in self.options:
            if not isinstance(record, Choosable):
                raise TypeError(
                    f"choice {self.name!r}: option {str(label)!r} is a {type(record).__name__}, "
                    "must be a Figure, a Table or a Source; make one of it"
                )
        labels = [str(label) for label, _ in self.options]
        names = [self.name, *(record.name for _, record in self.options)]
        for what, texts in (("labels", labels), ("record names", names)):
            twice = sorted({text for text in texts if texts.count(text) > 1})
            if twice:
                raise ValueError(
                    f"choice {self.name!r}: the {what} {twice} stand more than once, must differ, "
                    "since readers and links tell options apart by them; rename them"
                )

    def to_json(self) -> Json:
        """Return the choice with its records, each beside its own mime type."""
        options = [
            {"label": label.to_json(), "mime": record.mime, "record": record.to_json()}
            for label, record in self.options
        ]
        return {
            "version": VERSION,
            "name": self.name,
            "label": self.label.to_json(),
            "control": self.control,
            "start": self.start,
            "options": options,
        }


def choose(
    name: str,
    label: Word,
    options: Sequence[tuple[Text, Choosable]],
    *,
    control: Control = "select",
    start: int = 0,
) -> Choice:
    """Show one of several records at a time, as the reader picks.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        label: what is chosen; stands before the control.
        options: name of each option and its figure, table or source; at least two. The names of
            the records must be unique on the page too.
        control: "select" for a list of names, "slider" for options that lie on a scale.
        start: index of the option that is seen first.

    Raises:
        ValueError: fewer than two options, a name or label that stands twice, an unknown control,
            or a start that is no option.
        TypeError: an option is no figure, table or source.
    """
    return Choice(name, label, tuple(options), control, start)
