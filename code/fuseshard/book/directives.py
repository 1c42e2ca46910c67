"""The book's boxes: {predict}, {takeaway}, {exercise} and {solution}, titled in each language."""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from fuseshard.book.catalog import catalog_of


class details(nodes.Element):  # noqa: N801 (docutils names nodes in lower case)
    """A box that the reader unfolds."""


class summary(nodes.TextElement):  # noqa: N801
    """The line of a folded box that is always seen."""


class Box(SphinxDirective):
    """A box whose title starts with its kind; the argument, if any, follows."""

    kind: ClassVar[str] = ""
    """English word for the box; a message id of `book.po`"""
    css: ClassVar[str] = ""
    is_numbered: ClassVar[bool] = False
    is_folded: ClassVar[bool] = False

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {
        "name": directives.unchanged,
        "class": directives.class_option,
    }

    def run(self) -> list[nodes.Node]:
        """Return the box, with its title and its parsed content."""
        self.assert_has_content()
        box: nodes.Element = details() if self.is_folded else nodes.admonition()
        box["classes"] += ["fs-box", f"fs-{self.css}", *self.options.get("class", [])]
        self.set_source_info(box)
        self.add_name(box)
        box += self._title()
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]

    def _title(self) -> nodes.TextElement:
        prefix = catalog_of(self.env.app).text(self.kind, self.get_location())
        if self.is_numbered:
            prefix += f" {self.env.new_serialno(f'fuseshard-{self.css}') + 1}"
        title: nodes.TextElement = summary() if self.is_folded else nodes.title()
        title += nodes.inline(prefix, prefix, classes=["fs-kind"])
        if self.arguments:
            parsed, messages = self.state.inline_text(self.arguments[0], self.lineno)
            title += nodes.Text(": ")
            title += parsed
            title += messages
        return title


class Predict(Box):
    """A guess to make before the output is seen."""

    kind = "Predict first"
    css = "predict"


class Takeaway(Box):
    """What to remember of a chapter."""

    kind = "Takeaway"
    css = "takeaway"


class Exercise(Box):
    """A task, numbered within its page."""

    kind = "Exercise"
    css = "exercise"
    is_numbered = True


class Solution(Box):
    """A worked answer, folded."""

    kind = "Solution"
    css = "solution"
    is_folded = True


def setup_directives(app: Sphinx) -> None:
    """Add the boxes and their labels."""
    app.connect("doctree-read", note_labels)  # event 8, after Sphinx's domains saw the page
    app.add_node(details, html=(_visit_details, _depart_details))
    app.add_node(summary, html=(_visit_summary, _depart_summary))
    for box in (Predict, Takeaway, Exercise, Solution):
        app.add_directive(box.css, box)


def note_labels(app: Sphinx, doctree: nodes.document) -> None:
    """Let `{ref}` take a box's title as its text, as it does with sections."""
    labels = app.env.get_domain("std").data["labels"]
    for box in doctree.findall(lambda node: isinstance(node, (nodes.admonition, details))):
        assert isinstance(box, nodes.Element)
        for name, place in zip(box["names"], box["ids"], strict=False):
            labels[name] = (app.env.docname, place, box[0].astext())


def _visit_details(self: HTML5Translator, node: details) -> None:
    self.body.append(self.starttag(node, "details", CLASS="admonition"))


def _depart_details(self: HTML5Translator, node: details) -> None:
    self.body.append("</details>\n")


def _visit_summary(self: HTML5Translator, node: summary) -> None:
    self.body.append(self.starttag(node, "summary", "", CLASS="admonition-title"))


def _depart_summary(self: HTML5Translator, node: summary) -> None:
    self.body.append("</summary>\n")
