"""The names of the things that a comparison times, and how each is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fuseshard import palette
from fuseshard.measure.records import Verdict
from fuseshard.palette import Mark
from fuseshard.show.words import Text, Word, word


@dataclass(frozen=True)
class Variant:
    """How the reader meets one variant of a measurement."""

    label: Text
    """in legends, heads of columns and on axes"""
    mark: Mark
    noun: Text | None = None
    """in sentences, with its article where it takes one; None where the label will do"""

    @property
    def in_sentence(self) -> Text:
        """What a sentence calls the variant, be it subject or object."""
        return self.noun or self.label


def known_variants() -> dict[str, Variant]:
    """Return the variants whose names mean the same in the whole book."""
    return {
        "eager": Variant(word("eager"), palette.EAGER, word("eager mode")),
        "compiled": Variant(word("compiled"), palette.COMPILED, word("the compiled version")),
        "formula": Variant(word("formula"), palette.FORMULA),
        "measured": Variant(word("measured"), palette.MEASURED),
    }


def variants_of(names: Sequence[str], own: Mapping[str, Variant] | None) -> dict[str, Variant]:
    """Look up how to draw variants by their names in a measurement.

    Args:
        names: as the measurement has them.
        own: the chapter's variants, which win over the book's.

    Raises:
        ValueError: a name is neither in `own` nor among `known_variants`.
    """
    known = known_variants() | dict(own or {})
    missing = [name for name in names if name not in known]
    if missing:
        raise ValueError(
            f"variants: {missing} have no label and no mark, known are {sorted(known)}; pass "
            "variants={name: Variant(word(...), palette...)} for them"
        )
    return {name: known[name] for name in names}


def verdict_word(verdict: Verdict | None) -> Word:
    """Translate a measurement's verdict; None stands for the variant compared with."""
    if verdict is None:
        return word("compared with")
    if verdict == "faster":
        return word("faster")
    if verdict == "slower":
        return word("slower")
    return word("no difference measured")


def listed(texts: Sequence[Text]) -> Word:
    """Join texts with semicolons into one Word."""
    first, *rest = texts
    joined = first if isinstance(first, Word) else word("{text}", text=str(first))
    for text in rest:
        joined = word("{first}; {rest}", first=joined, rest=as_value(text))
    return joined


def as_value(text: Text) -> Word | str:
    """Make a text fit as a value of another Word."""
    return text if isinstance(text, Word) else str(text)
