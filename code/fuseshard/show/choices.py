"""Several records in one place, of which the reader picks one: a stepper, a slider, a selection.

Everything is computed when the page is built; the control only chooses what is seen. Without
scripts all of it stands one below the other. Example:

    choose("budget", word("Memory budget"), [(plain("1.0"), whole), (plain("0.5"), half)],
           control="slider")

Where two things are to be picked one after the other, `choose_twice` puts choices into a choice.
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
        _check_options(self)
        for label, record in self.options:
            if not isinstance(record, Choosable):
                raise TypeError(
                    f"choice {self.name!r}: option {str(label)!r} is a {type(record).__name__}, "
                    "must be a Figure, a Table or a Source; make one of it"
                )

    def to_json(self) -> Json:
        """Return the choice with its records, each beside its own mime type."""
        return _json(self, self.control)


@dataclass(frozen=True)
class NestedChoice(Record):
    """Choices of which one is seen at a time: the reader picks it first, then one of its options.

    Two controls are as many as a reader can overlook, so choices don't nest any deeper.
    """

    mime = CHOICE_MIME
    label: Word
    """what is chosen first"""
    options: tuple[tuple[Text, Choice], ...]
    """name of the option, and the choice behind it"""
    start: int = 0
    """index of the option that is seen first"""

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_options(self)

    def to_json(self) -> Json:
        """Return the choice with the choices in it, each beside its own mime type."""
        return _json(self, "select")


def _check_options(choice: Choice | NestedChoice) -> None:
    """Refuse options that a page couldn't tell apart."""
    name, options = choice.name, choice.options
    if len(options) < 2:
        raise ValueError(
            f"choice {name!r}: got {len(options)} options, must have at least 2, or there is "
            "nothing to choose; show the record itself"
        )
    if not 0 <= choice.start < len(options):
        raise ValueError(
            f"choice {name!r}: start is {choice.start}, must be an index of its {len(options)} "
            "options; correct it"
        )
    labels = [str(label) for label, _ in options]
    names = [name, *(getattr(record, "name", "") for _, record in options)]
    for what, texts in (("labels", labels), ("record names", names)):
        twice = sorted({text for text in texts if text and texts.count(text) > 1})
        if twice:
            raise ValueError(
                f"choice {name!r}: the {what} {twice} stand more than once, must differ, since "
                "readers and links tell options apart by them; rename them"
            )


def _json(choice: Choice | NestedChoice, control: Control) -> Json:
    options = [
        {"label": label.to_json(), "mime": record.mime, "record": record.to_json()}
        for label, record in choice.options
    ]
    return {
        "version": VERSION,
        "name": choice.name,
        "label": choice.label.to_json(),
        "control": control,
        "start": choice.start,
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


def choose_twice(
    name: str, label: Word, options: Sequence[tuple[Text, Choice]], *, start: int = 0
) -> NestedChoice:
    """Let the reader pick one of several choices, and then one of its records.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        label: what is chosen first; stands before the first control.
        options: name of each option and the choice behind it; at least two.
        start: index of the option that is seen first.

    Raises:
        ValueError: as for `choose`.
    """
    return NestedChoice(name, label, tuple(options), start)
