"""Records on a page: HTML with words, text alternatives and data; oracle: the toy's records."""

from __future__ import annotations

import json
import re

import plotly.offline
import pytest
from bs4 import BeautifulSoup, Tag
from myst_nb.core.render import MimeData

from fuseshard import palette
from fuseshard.book.render import BLOCKS, FuseShardRenderer
from tests.book.toybook import PACKAGE, Project, Site


@pytest.fixture(scope="module")
def spanish(site: Site) -> BeautifulSoup:
    return BeautifulSoup(site.html("es/part/outputs"), "html.parser")


@pytest.fixture(scope="module")
def english(site: Site) -> BeautifulSoup:
    return BeautifulSoup(site.html("part/outputs"), "html.parser")


def figure_data(page: BeautifulSoup) -> dict:
    """Return the plotly JSON that a page carries."""
    return json.loads(page.select_one(".fs-figure script.fs-json").string)


def test_a_figures_words_are_those_of_the_edition(
    english: BeautifulSoup, spanish: BeautifulSoup
) -> None:
    for page, words in (
        (english, ["eager", "size", ["small", "large"]]),
        (spanish, ["inmediato", "tamaño", ["pequeño", "grande"]]),
    ):
        figure = figure_data(page)
        assert figure["data"][0]["name"] == words[0]
        assert figure["layout"]["xaxis"]["title"]["text"] == words[1]
        assert figure["data"][1]["x"] == words[2]
        assert figure["data"][1]["name"] == "aten::mm"


def test_a_figure_has_a_caption_an_alternative_and_its_numbers(spanish: BeautifulSoup) -> None:
    figure = spanish.select_one("figure.fs-figure")
    assert figure.figcaption.text == "El tiempo crece con el tamaño </script>"
    plot = figure.select_one("[role=img]")
    alternative = figure.select_one("#" + plot["aria-labelledby"])
    assert alternative.text == "Una curva que sube y dos barras."
    table = figure.select_one("noscript table")
    assert [cell.text for cell in table.select("tbody tr")[0].select("th, td")] == [
        "aten::addmm<T>",
        "1.23",
    ]
    assert figure.select_one(".fs-origin").text == "Medido en a toy."
    assert plot["style"] == "min-height:300px"


def test_the_drawing_script_is_loaded_once_and_knows_plotly(site: Site) -> None:
    for name, up in (("part/outputs", ""), ("es/part/outputs", "../")):
        page = BeautifulSoup(site.html(name), "html.parser")
        [script] = page.select("script[data-plotly]")
        assert script.get("defer") == "defer"
        assert script["data-plotly"] == f"../../{up}vendor/plotly/plotly-cartesian.min.js"
        [colours] = page.select("script#fuseshard-dark")
        assert json.loads(colours.string) == palette.LIGHT_TO_DARK
    assert "data-plotly" not in site.html("part/boxes")
    assert (site.project.folder / "book/_build/html/vendor/plotly/LICENSE").is_file()


def test_a_table_can_be_read_aloud_and_scrolled_by_keyboard(spanish: BeautifulSoup) -> None:
    box = spanish.select_one("#tab-times")
    region = box.select_one("[role=region]")
    assert region["tabindex"] == "0"
    assert region["aria-label"] == "Tiempos de 2 programas"
    assert str(box.caption.code) == "<code>programas</code>"
    heads = [(head.text, head["scope"]) for head in box.select("thead th")]
    assert heads == [("programa", "col"), ("tiempo (ms)", "col")]
    rows = box.select("tbody tr")
    assert [row.th["scope"] for row in rows] == ["row", "row"]
    assert [row.td["class"] for row in rows] == [["fs-number"], ["fs-number"]]
    assert box.select_one(".fs-note").text == "Menos es mejor."


def test_a_source_is_folded_coloured_numbered_and_noted(spanish: BeautifulSoup) -> None:
    source = spanish.select_one("details#src-kernel")
    assert source.get("open") is None
    assert source.summary.text == "El kernel que se escribió 4 líneas"
    lines = source.select(".fs-line")
    assert [line["data-line"] for line in lines] == ["1", "2", "3", "4"]
    assert ["fs-marked" in line["class"] for line in lines] == [False, True, True, False]
    assert lines[0].select("span.k, span.kt")
    [note] = source.select(".fs-notes li")
    assert re.sub(r"\s+", " ", note.text) == "Líneas 2–3 Lee un elemento."
    assert note.a["href"] == "#" + lines[1]["id"]
    assert lines[1].select_one("a.fs-mark")["href"] == "#" + note["id"]
    assert '"two" <lines>' in lines[1].text


def test_a_choice_has_a_labelled_control_and_shows_its_start(spanish: BeautifulSoup) -> None:
    choice = spanish.select_one("#choice-sizes")
    control = choice.select_one("input[type=range]")
    assert choice.select_one(f"label[for={control['id']}]").text == "tamaño"
    assert (control["min"], control["max"], control["value"]) == ("0", "1", "1")
    assert control["aria-valuetext"] == "grande"
    options = choice.select(":scope > .fs-option")
    assert [option["aria-label"] for option in options] == ["tamaño: pequeño", "tamaño: grande"]
    assert ["fs-seen" in option["class"] for option in options] == [False, True]
    assert options[0].select_one("table") and options[1].select_one("figure.fs-figure")


def test_the_choosing_script_is_loaded_where_there_is_a_choice(site: Site) -> None:
    assert "choices.js" in site.html("es/part/outputs")
    assert "choices.js" not in site.html("part/boxes")


def test_words_and_numbers_enter_the_prose(english: BeautifulSoup, spanish: BeautifulSoup) -> None:
    assert "quotes faster and 2.3." in english.article.text
    assert "cita más rápido y 2.3." in spanish.article.text


def test_a_check_says_its_state_in_words_and_by_a_sign(spanish: BeautifulSoup) -> None:
    check = spanish.select_one(".fs-check-wrong")
    assert check.text == "✗ Todavía no: mira x."
    assert check.select_one(".fs-sign")["aria-hidden"] == "true"


def test_the_records_html_for_jupyter_stays_off_the_page(
    english: BeautifulSoup, spanish: BeautifulSoup
) -> None:
    for page in (english, spanish):
        assert [p for p in page.select("p") if p.text == "English"] == []


def test_ids_on_a_page_are_unique(spanish: BeautifulSoup) -> None:
    ids = [tag["id"] for tag in spanish.select("[id]") if isinstance(tag, Tag)]
    assert sorted(set(ids)) == sorted(ids)


def test_other_mime_types_are_left_to_myst_nb(project: Project) -> None:
    class Renderer:
        sphinx_env = None

    class Element:
        renderer = Renderer()

    data = MimeData("text/html", "<p>x</p>")
    assert FuseShardRenderer.handle_mime(Element(), data, False) is None  # type: ignore[arg-type]
    assert len(BLOCKS) == 7


def test_the_vendored_plotly_is_the_installed_packages() -> None:
    head = (PACKAGE / "book/vendor/plotly/plotly-cartesian.min.js").read_text("utf-8")[:200]
    assert f"plotly.js (cartesian - minified) v{plotly.offline.get_plotlyjs_version()}" in head
