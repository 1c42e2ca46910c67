"""Every output is read aloud: prose stands between two cells that show something."""

from __future__ import annotations

import ast
import re

from bookcheck.pages import Page
from bookcheck.pieces import Cell, Sentence

LEAST_WORDS = 12
CELL_LINES = 25
HIDDEN = {"remove-cell", "remove-output", "remove_cell", "remove_output"}
# Calls whose value is None or of no interest, by the last part of their name.
SILENT_CALLS = {"quote", "append", "extend", "backward", "step", "zero_grad", "reset", "update"}
CARD = "environment_card"


def shows_output(cell: Cell) -> bool:
    """Say whether a cell leaves something on the page, judged by its source."""
    tags = cell.options.get("tags")
    if isinstance(tags, list) and HIDDEN & set(tags):
        return False
    body = ast.parse(_without_magics(cell.source)).body
    prints = any(
        isinstance(node, ast.Call) and _last_name(node.func) in {"print", "display"}
        for statement in body
        for node in ast.walk(statement)
    )
    return prints or (bool(body) and _has_value(body[-1]))


def problems(page: Page) -> list[str]:
    """List the outputs that nobody reads, and the cells too long to read."""
    found = []
    for cell in page.of(Cell):
        lines = len(cell.source.splitlines())
        if lines > CELL_LINES:
            found.append(
                f"{page.path}:{cell.line}: a cell of {lines} lines, at most {CELL_LINES}; "
                "move the code into the package and show its source"
            )
    return found + _unread(page)


def _unread(page: Page) -> list[str]:
    found, waiting, words = [], None, 0
    for piece in page.pieces:
        if isinstance(piece, Sentence) and piece.context == "prose":
            words += piece.words
        if not isinstance(piece, Cell) or not shows_output(piece) or CARD in piece.source:
            continue
        if waiting is not None and words < LEAST_WORDS:
            found.append(_complaint(page, waiting, words, f"the output at line {piece.line}"))
        waiting, words = piece, 0
    if waiting is not None and words < LEAST_WORDS:
        found.append(_complaint(page, waiting, words, "the end of the page"))
    return found


def _complaint(page: Page, cell: Cell, words: int, before: str) -> str:
    return (
        f"{page.path}:{cell.line}: {words} words between this cell's output and {before}, "
        f"at least {LEAST_WORDS}; say which number or line matters and what it means"
    )


def _has_value(statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr):
        return False
    value = statement.value
    if isinstance(value, ast.Call):
        return _last_name(value.func) not in SILENT_CALLS
    return not (isinstance(value, ast.Constant) and value.value in (None, ...))


def _last_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _without_magics(source: str) -> str:
    return re.sub(r"(?m)^\s*[%!].*$", "", source)
