"""Words that the chapter's own cells say: they stand here so that the catalogs hold them."""

from __future__ import annotations

from fuseshard.show.words import word

IN_CELLS = (
    word("by hand"),
    word("without corrections"),
    word("float"),
    word("tensor"),
    word("Graphs of AdamW's step under a schedule."),
)
