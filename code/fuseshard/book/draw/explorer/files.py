"""The texts of an explorer as data files: one a kernel, for all GPUs and all stages.

A file is a script that hands its data to `fuseshardExplorer`, a function of explorer.js: a page
opened from a disk may load scripts, but fetch nothing. It holds no words, so that every edition
loads the same one. Each line stands in it once, however many GPUs share it: gzip alone looks back
32 kB, and the texts that resemble each other are longer than that.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from itertools import pairwise

import pygments

from fuseshard.book.draw.colouring import Line, coloured_lines
from fuseshard.book.draw.parts import Json
from fuseshard.book.messages import BookError, Subtype

FORMAT = "1"
"""goes into the addresses; raise it when explorer.js reads files in another way"""
_FIRST_MARK = 0xE000
_LAST_MARK = "\uf8ff"
"""Colours are marked by characters of Unicode's private area: a class each, and one for the end"""
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def file_name(program: Json, index: int) -> str:
    """Name the file of a program's kernel; counted from 1, as readers count."""
    return f"{program['key']}-{index + 1}.js"


def file_address(record: Json, program: Json, index: int) -> str:
    """Return a file's name with a digest of what it holds, so that browsers keep no old one."""
    kernel = program["kernels"][index]
    held = [FORMAT, pygments.__version__, kernel, _texts_of(record, kernel)]
    digest = hashlib.sha256(json.dumps(held).encode()).hexdigest()[:8]
    return f"{file_name(program, index)}?v={digest}"


def data_files(record: Json, where: str) -> dict[str, str]:
    """Return all data files of an explorer.

    Args:
        record: the explorer's JSON.
        where: page, line and record, for errors.

    Returns:
        Name below the page's folder -> content.

    Raises:
        BookError: code holds a character of Unicode's private area.
    """
    if _PRIVATE.search("".join(record["texts"])):
        raise BookError(
            Subtype.RECORD,
            "code holds a character between U+E000 and U+F8FF, must not, since these mark its "
            "colours; take it out of the program",
            where,
        )
    return {
        f"{record['name']}/{file_name(program, index)}": _content(record, kernel)
        for program in record["programs"]
        for index, kernel in enumerate(program["kernels"])
    }


def languages_of(record: Json, target: str) -> dict[str, str]:
    """Return the Pygments lexer of each stage of a GPU's code."""
    vendor = next(t["vendor"] for t in record["targets"] if t["key"] == target)
    return {stage["key"]: stage["language"] for stage in record["stages"][vendor]}


def _texts_of(record: Json, kernel: Json) -> list[str]:
    used = {index for view in kernel["views"].values() for index in view["texts"].values()}
    return [record["texts"][index] for index in sorted(used)]


def _content(record: Json, kernel: Json) -> str:
    known: dict[str, int] = {}
    marks: dict[str, str] = {}
    cut: dict[tuple[int, str], list[int]] = {}
    texts: dict[str, dict[str, list[int]]] = {}
    for target, view in kernel["views"].items():
        languages = languages_of(record, target)
        texts[target] = {}
        for stage, index in view["texts"].items():
            key = (index, languages[stage])
            if key not in cut:
                lines = coloured_lines(record["texts"][index], languages[stage])
                marked = [_marked(line, marks) for line in lines]
                cut[key] = _runs([known.setdefault(line, len(known)) for line in marked])
            texts[target][stage] = cut[key]
    data = {"classes": list(marks), "lines": "\n".join(known), "texts": texts}
    return f"fuseshardExplorer({json.dumps(data, ensure_ascii=False, separators=(',', ':'))});\n"


def _marked(line: Line, marks: dict[str, str]) -> str:
    """Write a line with marks where colours begin and end; `marks` gains new classes."""
    return "".join(
        f"{marks.setdefault(css, chr(_FIRST_MARK + len(marks)))}{text}{_LAST_MARK}" if css else text
        for css, text in line
    )


def _runs(numbers: Iterable[int]) -> list[int]:
    """Write rising numbers as first, count, first, count, ...: [7, 8, 9, 2] is [7, 3, 2, 1]."""
    listed = list(numbers)
    starts = [0, *(i for i, (a, b) in enumerate(pairwise(listed), 1) if b != a + 1), len(listed)]
    return [n for start, end in pairwise(starts) for n in (listed[start], end - start)]
