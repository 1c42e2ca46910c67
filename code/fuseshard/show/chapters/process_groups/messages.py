"""Torch's message about ranks that call different collectives, with notes."""

from __future__ import annotations

import textwrap

from fuseshard.show.records import Source
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.words import word

_LINE_COLUMNS = 72  # what fits beside the navigation without scrolling


def mismatch_message(message: str) -> Source:
    """Show what a rank says when its peers call another collective.

    Args:
        message: the exception's text, as torch wrote it.

    Raises:
        ValueError: the text lacks what the notes hang on (torch has changed it).
    """
    return annotated_source(
        "mismatched-collectives",
        word("What a rank says when its peer calls another collective."),
        # Torch leaves out spaces, and some of its words are longer than a line.
        textwrap.fill(message.replace(").Coll", "). Coll"), _LINE_COLUMNS),
        language="text",
        folded=False,
        notes=[
            # Single words, since any phrase may be cut by the end of a line.
            on("mismatch", word("Torch compared the calls before it ran them.")),
            on("OpType=BROADCAST", word("What one rank called, with shape and dtype.")),
            on("OpType=ALLREDUCE", word("What the other rank called.")),
            on("differ", word("Where the two calls differ.")),
        ],
    )
