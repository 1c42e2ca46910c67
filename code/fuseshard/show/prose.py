"""Carry values of a cell into the page's sentences.

`quote(speedup=2.34)` in a cell, then {glue:text}`speedup:.1f` in a sentence: nobody types a
measured number. The values are stored as `myst_nb.glue` stores them, without needing myst_nb,
and Jupyter shows nothing, since it doesn't know the prefixed mime types.
"""

from __future__ import annotations

import numbers
from typing import Any

from IPython.core.formatters import format_display_data
from IPython.display import display

from fuseshard.show.words import Plain, Word

GLUE_PREFIX = "application/papermill.record/"
"""what scrapbook and myst_nb put before the mime types of a stored value"""


def quote(**values: object) -> None:
    """Store values under their names for the sentences of the page.

    Args:
        **values: numbers (of Python, NumPy or a zero-dimensional tensor), strings, or Words,
            which each edition translates; one name once a page.

    Raises:
        TypeError: a value is of another kind, whose text would be an accident.
    """
    for name, value in values.items():
        bundle, metadata = format_display_data(_quotable(name, value))
        metadata["scrapbook"] = {"name": name, "mime_prefix": GLUE_PREFIX}
        stored = {GLUE_PREFIX + mime: data for mime, data in bundle.items()}
        display(stored, raw=True, metadata=metadata)


def _quotable(name: str, value: object) -> Any:
    """Turn NumPy's and torch's scalars into Python's, whose repr is the bare number."""
    if isinstance(value, (Word, Plain, str, bool, int, float)):
        # float subclasses such as numpy.float64 print as "np.float64(1.5)"
        return float(value) if isinstance(value, float) else value
    if isinstance(value, numbers.Number) or getattr(value, "ndim", None) == 0:
        return value.item() if hasattr(value, "item") else value
    raise TypeError(
        f"quote: {name} is a {type(value).__name__}, must be a number, a string or a Word (its "
        "repr would end up in a sentence); pick the number you want to quote"
    )
