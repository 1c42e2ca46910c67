"""What the extension says when something is wrong: one kind of error, one kind of warning."""

from __future__ import annotations

import sys
from enum import Enum
from types import TracebackType
from typing import Any

from sphinx.errors import SphinxError
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
TYPE = "fuseshard"


class Subtype(Enum):
    """The subtypes of our messages, each of which can be found or suppressed on its own."""

    CELL = "cell"
    """a code cell raised, wrote to stderr, took too long, or its kernel died"""
    CONFIG = "config"
    """a value in `_config.yml` isn't one of those allowed"""
    EDITION = "edition"
    """the build of another language failed"""
    PAGE = "page"
    """a page is missing, has no front matter, or differs from its English original"""
    RECORD = "record"
    """a cell's output isn't a record that this release renders"""
    RECORDING = "recording"
    """a file of recorded measurements doesn't fit its schema"""
    WORD = "word"
    """a word has no entry in an edition's catalog"""


class BookError(SphinxError):
    """Ends the build. Says what was got, what was required, and what to change."""

    category = "Fuse & Shard"

    def __init__(self, subtype: Subtype, message: str, location: str = "") -> None:
        where = f"{location}: " if location else ""
        super().__init__(f"{where}{message} [{TYPE}.{subtype.value}]")
        self.subtype = subtype


def warn(subtype: Subtype, message: str, location: Any = None) -> None:
    """Warn in Sphinx's way: suppressible by type, and an error under `-W`.

    Args:
        subtype: goes to the end of the message.
        message: what was got, what was required, what to change.
        location: a docutils node, or (document name, line).
    """
    LOGGER.warning(
        f"{message} [{TYPE}.{subtype.value}]",
        type=TYPE,
        subtype=subtype.value,
        location=location,
    )


def setup_messages() -> None:
    """Let our message be the last that a failed build prints.

    Sphinx has printed it when `jb` raises an error of its own, which Python would show with a
    hundred lines of both programs' insides. An interrupt needs none of them either.
    """
    usual = sys.excepthook

    def hook(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        cause: BaseException | None = error
        while cause and not isinstance(cause, BookError | KeyboardInterrupt):
            cause = cause.__cause__
        if cause is None:
            usual(kind, error, traceback)

    sys.excepthook = hook
