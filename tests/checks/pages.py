"""What the pages say of their exercises: worked solutions, run, and names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def solutions(page: str, **names: Any) -> dict[str, Any]:
    """Run the worked solutions of a page; return the functions that they define.

    Args:
        page: path from the project's root.
        **names: what the solutions may use without importing it.
    """
    defined: dict[str, Any] = dict(names)
    for block in re.findall(r"^```python\n(.*?)^```$", _text(page), re.DOTALL | re.MULTILINE):
        exec(block, defined)  # the page's own code, which readers are told is right
    return defined


def exercise_names(page: str) -> list[str]:
    """List the names of a page's exercises, in order.

    Args:
        page: path from the project's root.
    """
    return re.findall(r"^:name: (\S+)$", _text(page), re.MULTILINE)


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")
