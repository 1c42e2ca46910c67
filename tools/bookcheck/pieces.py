"""Cut Markdown into what the checks look at: headings, labels, directives, cells, sentences.

Parsed with the book's own Markdown parser, so that what a check sees is what Sphinx sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

TOP = Path(__file__).resolve().parents[2]
DEFAULT_EXTENSIONS = ("colon_fence", "dollarmath")
DIRECTIVE = re.compile(r"\{(?P<name>[^}]+)\}\s*(?P<argument>.*)", re.DOTALL)
TITLED = {"exercise", "solution", "predict", "takeaway", "warning"}
LITERAL = {"code-block", "code", "literalinclude", "math", "mermaid", "raw", "toctree"}


@dataclass(frozen=True)
class Span:
    """A run of inline text of one kind."""

    kind: str
    """text, code, math, role or link (text inside a link); emphasis keeps its own kind, em"""
    text: str
    name: str = ""
    """the role's name, or the link's target"""


@dataclass(frozen=True)
class Sentence:
    """One source line of prose, which in this book is one sentence."""

    line: int
    spans: tuple[Span, ...]
    context: str = "prose"
    """prose, heading, title or cell of a table"""

    @property
    def text(self) -> str:
        """The words a reader sees as running text: no code, no math, no roles."""
        return "".join(
            span.text if span.kind in {"text", "em", "link"} else " " for span in self.spans
        )

    @property
    def words(self) -> int:
        """How many words a reader reads: a role, a code span or a formula counts as one."""
        shown = (s.text if s.kind in {"text", "em", "link"} else " w " for s in self.spans)
        return len(re.findall(r"[^\W_]+(?:['’.,-][^\W_]+)*", "".join(shown)))


@dataclass(frozen=True)
class Heading:
    """A heading, of level 1 for the title."""

    line: int
    level: int
    title: str


@dataclass(frozen=True)
class Label:
    """A `(name)=` that other pages can refer to."""

    line: int
    name: str


@dataclass(frozen=True)
class Cell:
    """A code cell: `body` is everything between the fences, options included."""

    line: int
    info: str
    body: str

    @property
    def options(self) -> dict[str, object]:
        """What stands in the cell's `:key: value` lines or its YAML block."""
        if self.body.startswith("---"):
            return yaml.safe_load(self.body.split("---")[1]) or {}
        lines = [line[1:] for line in self._option_lines()]
        return yaml.safe_load("\n".join(lines)) or {} if lines else {}

    @property
    def source(self) -> str:
        """The Python of the cell, without its options."""
        if self.body.startswith("---"):
            return self.body.split("---", 2)[2].strip("\n")
        return "\n".join(self.body.splitlines()[len(self._option_lines()) :]).strip("\n")

    def _option_lines(self) -> list[str]:
        lines = self.body.splitlines()
        count = next((i for i, x in enumerate(lines) if not re.match(r":[\w-]+:", x)), len(lines))
        return lines[:count]


@dataclass(frozen=True)
class Directive:
    """A directive that is not a code cell."""

    line: int
    name: str
    argument: str
    options: tuple[tuple[str, str], ...]


Piece = Sentence | Heading | Label | Cell | Directive


@cache
def parser() -> MarkdownIt:
    """The parser as `_config.yml` sets it up."""
    config = TOP / "_config.yml"
    options = yaml.safe_load(config.read_text("utf-8")) if config.exists() else {}
    extensions = options.get("parse", {}).get("myst_enable_extensions", DEFAULT_EXTENSIONS)
    return create_md_parser(MdParserConfig(enable_extensions=set(extensions)), RendererHTML)


def pieces_of(tokens: list[Token], offset: int = 0) -> Iterator[Piece]:
    """Walk the pieces of a parsed text; `offset` is the number of lines before it on its page."""
    context = "prose"
    for index, token in enumerate(tokens):
        line = offset + (token.map[0] if token.map else 0) + 1
        if token.type == "heading_open":
            title = "".join(s.text for s in _spans(tokens[index + 1].children or []))
            yield Heading(line, int(token.tag[1]), title)
            context = "heading"
        elif token.type == "heading_close":
            context = "prose"
        elif token.type in {"th_open", "td_open"}:
            context = "cell"
        elif token.type in {"th_close", "td_close"}:
            context = "prose"
        elif token.type == "myst_target":
            yield Label(line, token.content)
        elif token.type == "inline":
            yield from _sentences(token.children or [], line, context)
        elif token.type in {"fence", "colon_fence"}:
            yield from _fence(token, line)


def _fence(token: Token, line: int) -> Iterator[Piece]:
    match = DIRECTIVE.fullmatch(token.info.strip())
    if match is None:
        return
    name, argument = match["name"], match["argument"].strip()
    if name == "code-cell":
        yield Cell(line, token.info.strip(), token.content)
        return
    options, skipped = _directive_options(token.content)
    yield Directive(line, name, argument, options)
    if name in LITERAL:
        return
    if argument and name in TITLED:
        for inline in parser().parseInline(argument):
            yield from _sentences(inline.children or [], line, "title")
    body = "\n".join(token.content.splitlines()[skipped:])
    yield from pieces_of(parser().parse(body), line + skipped)


def _directive_options(body: str) -> tuple[tuple[tuple[str, str], ...], int]:
    """Split off the `:key: value` lines (or the YAML block) at the head of a directive."""
    lines = body.splitlines()
    if lines and lines[0] == "---" and "---" in lines[1:]:
        end = lines.index("---", 1)
        block = yaml.safe_load("\n".join(lines[1:end])) or {}
        return tuple((str(k), str(v)) for k, v in block.items()), end + 1
    found = []
    for line in lines:
        match = re.match(r":([\w-]+):\s*(.*)", line)
        if match is None:
            break
        found.append((match[1], match[2].strip()))
    return tuple(found), len(found)


def _sentences(children: list[Token], line: int, context: str) -> Iterator[Sentence]:
    current: list[Token] = []
    depth: list[Token] = []  # links and emphasis that a line break leaves open
    for child in children:
        if child.type in {"softbreak", "hardbreak"}:
            yield Sentence(line, tuple(_spans(current)), context)
            line, current = line + 1, list(depth)
            continue
        current.append(child)
        if child.nesting == 1:
            depth.append(child)
        elif child.nesting == -1 and depth:
            depth.pop()
    if current:
        yield Sentence(line, tuple(_spans(current)), context)


def _spans(children: list[Token]) -> Iterator[Span]:
    link: str | None = None
    emphasis = 0
    for child in children:
        if child.type == "link_open":
            link = str(child.attrGet("href") or "")
        elif child.type == "link_close":
            link = None
        elif child.type == "em_open":
            emphasis += 1
        elif child.type == "em_close":
            emphasis -= 1
        elif child.type == "myst_role":
            yield Span("role", child.content, child.meta["name"])
        elif child.type == "code_inline":
            yield Span("code", child.content)
        elif child.type.startswith("math"):
            yield Span("math", child.content)
        elif child.type == "image":
            yield from _spans(child.children or [])
        elif child.type == "text" and child.content:
            kind = "link" if link is not None else "em" if emphasis else "text"
            yield Span(kind, child.content, link or "")
