"""How long the compiler by hand is; not a part of it."""

import ast
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def lines_of_code(modules: Sequence[ModuleType]) -> int:
    """Count the lines of modules that hold code: no imports, docstrings, comments or blank lines.

    Args:
        modules: with source files.
    """
    return sum(_lines(Path(str(module.__file__)).read_text("utf-8")) for module in modules)


def _lines(text: str) -> int:
    tree, left_out = ast.parse(text), set[int]()
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.stmt) and (
            is_text or isinstance(node, ast.Import | ast.ImportFrom)
        ):
            left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(
        number not in left_out and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )
