"""The two editions of a toy book, built by the real `jb build`; oracle: the HTML of each page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po, write_po
from bs4 import BeautifulSoup

from tests.book.toybook import PACKAGE, Project, Site

PAGES = ("index", "part/outputs", "part/boxes")

FOREIGN = (
    # English that the themes and MyST-NB hard-code, or lack a translation for.
    "Toggle primary sidebar",
    "Toggle secondary sidebar",
    "Search this book",
    "Search the docs",
    "Show code cell",
    "Hide code cell",
    "Link to this",
    "Skip to main",
    "Back to top",
    "Color mode",
    "System Settings",
    "Download",
    "Print to PDF",
    "Previous",
    "Next",
    "Click to show",
    "Contents",
    "On this page",
    'aria-label="Main"',
    'aria-label="Page"',
    "Predict first",
    "Takeaway",
    "Exercise",
    "Solution",
    "The numbers of this figure",
    "Fuse &amp; Shard",
    # What the themes' catalogs say in Spanish.
    "Navegación de palanca",
    "Tema del libro de la esfinge",
    "Descarga esta pagina",
    "pagina anterior",
    "sugerir editar",
    "Por el",
    "Haga clic",
    "Saltar al contenido",
    "Navegación del sección",
)


def soup(site: Site, name: str) -> BeautifulSoup:
    """Parse a built page."""
    return BeautifulSoup(site.html(name), "html.parser")


def test_one_command_builds_both_editions_without_a_warning(site: Site) -> None:
    assert site.build.status == 0, site.build.output
    assert site.build.warnings == []
    for name in PAGES:
        assert soup(site, name).html["lang"] == "en"
        assert soup(site, f"es/{name}").html["lang"] == "es"


def test_the_second_edition_executes_nothing(site: Site) -> None:
    assert sorted(site.build.executed) == sorted(f"{name}.md" for name in PAGES)
    report = site.project.timings
    assert {page["execution"] for page in report["en"]["pages"].values()} == {"run"}
    assert all(page["execution"] == "" for page in report["es"]["pages"].values())


def test_the_end_of_a_build_says_how_long_each_page_took(site: Site) -> None:
    table = site.build.output[site.build.output.index("\npage ") :]
    assert re.search(r"part/outputs +\d+\.\d s +run +\d+\.\d\d s +\d+\.\d\d s\n", table)
    assert re.search(r"whole editions: en \d+\.\d s, es \d+\.\d s", table)


def test_no_theme_word_stays_english_or_badly_translated(site: Site) -> None:
    for name in (*PAGES, "search"):
        page = soup(site, f"es/{name}")
        for quiet in page(["script", "style"]):
            quiet.decompose()
        found = [phrase for phrase in FOREIGN if phrase in str(page)]
        assert found == [], name
    english = site.html("part/boxes")
    assert "Takeaway" in english  # the list does match what the English edition says
    assert "Show or hide the contents" in english


def test_every_page_links_to_itself_in_the_other_language(site: Site) -> None:
    for name in PAGES:
        depth = "../" * name.count("/")
        [there] = soup(site, name).select("a.fs-language")
        assert (there["href"], there["lang"], there.text) == (
            f"{depth}es/{name}.html",
            "es",
            "Español",
        )
        [back] = soup(site, f"es/{name}").select("a.fs-language")
        assert (back["href"], back["lang"], back.text) == (
            f"{depth}../{name}.html",
            "en",
            "English",
        )


def test_search_engines_get_each_page_with_its_languages(site: Site) -> None:
    root = "https://example.org/toy/"
    urls = {"en": f"{root}part/boxes.html", "es": f"{root}es/part/boxes.html"}
    for language, name in (("en", "part/boxes"), ("es", "es/part/boxes")):
        page = soup(site, name)
        alternates = {link["hreflang"]: link["href"] for link in page.select("link[rel=alternate]")}
        assert alternates == {**urls, "x-default": urls["en"]}
        assert page.select_one("link[rel=canonical]")["href"] == urls[language]
    canonical = soup(site, "es/index").select_one("link[rel=canonical]")["href"]
    assert canonical == f"{root}es/"


def test_each_page_is_described_in_its_language(site: Site) -> None:
    descriptions = [
        soup(site, name).select_one("meta[name=description]")["content"]
        for name in ("part/boxes", "es/part/boxes")
    ]
    assert descriptions == ["Boxes, labels and formulas.", "Recuadros, etiquetas y fórmulas."]


def test_title_and_captions_are_translated(site: Site) -> None:
    page = soup(site, "es/part/boxes")
    assert page.title.text == "Recuadros — Fusionar y repartir"
    captions = [caption.text for caption in page.select("p.caption")]
    assert captions == ["Parte A: torch.compile"]


def test_navigation_stays_in_its_language(site: Site) -> None:
    links = {
        a["href"] for a in soup(site, "es/part/boxes").select(".bd-links a, .prev-next-area a")
    }
    assert links == {"../index.html", "outputs.html", "#"}


def test_each_edition_has_a_search_index_of_its_own(site: Site) -> None:
    folder = site.project.folder / "book/_build/html"
    assert "apartado" in (folder / "es/searchindex.js").read_text("utf-8").lower()
    assert "apartado" not in (folder / "searchindex.js").read_text("utf-8").lower()


def test_boxes_are_titled_numbered_and_linked(site: Site) -> None:
    page = soup(site, "es/part/boxes")
    titles = [title.text for title in page.select(".fs-box > .admonition-title")]
    assert titles == [
        "Antes de medir, predice",
        "Ejercicio 1: Cuenta los kernels",
        "Solución",
        "Ejercicio 2",
        "Lo esencial",
    ]
    [link] = page.select('article a[href="#count"]')
    assert link.text == "Ejercicio 1: Cuenta los kernels"
    assert page.select_one("details.fs-solution").get("open") is None


def test_only_pages_with_formulas_load_mathjax_and_only_ours(site: Site) -> None:
    for folder, up in (("", "../"), ("es/", "../../")):
        page = soup(site, f"{folder}part/boxes")
        scripts = [script.get("src", "").partition("?")[0] for script in page.select("script")]
        [mathjax] = [src for src in scripts if "mathjax" in src.lower()]
        assert mathjax == f"../_static/{up}vendor/mathjax/tex-svg-full.js"
        assert "vendor/mathjax" not in site.html(f"{folder}part/outputs")
    assert (site.project.folder / "book/_build/html/vendor/mathjax/tex-svg-full.js").is_file()


def test_no_page_asks_another_host_for_anything(site: Site) -> None:
    for name in PAGES:
        for page in (soup(site, name), soup(site, f"es/{name}")):
            loaded = [
                tag.get("src") or tag.get("href") or ""
                for tag in page.select("script, link[rel=stylesheet], link[rel=preload], img")
            ]
            assert [url for url in loaded if "//" in url] == []
            assert "thebe" not in str(page)


def test_a_third_language_is_a_folder_and_a_catalog(project: Project) -> None:
    _add_language(project, "fr", "fr: {}")
    built = project.build("-W")
    assert built.status == 0, built.output
    page = BeautifulSoup(project.html("fr/part/outputs"), "html.parser")
    assert page.html["lang"] == "fr"
    assert page.select_one("figcaption").text.startswith("fr: ")
    switch = {a["lang"]: (a.text, a["href"]) for a in page.select("a.fs-language")}
    assert switch == {
        "en": ("English", "../../part/outputs.html"),
        "es": ("Español", "../../es/part/outputs.html"),
    }
    assert list(project.timings) == ["en", "es", "fr"]
    assert len(built.executed) == len(PAGES)
    # This toy has no address: links are relative, and no page can be canonical.
    alternates = {link["hreflang"]: link["href"] for link in page.select("link[rel=alternate]")}
    assert alternates == {
        "en": "../../part/outputs.html",
        "es": "../../es/part/outputs.html",
        "fr": "../../fr/part/outputs.html",
        "x-default": "../../part/outputs.html",
    }
    assert page.select_one("link[rel=canonical]") is None


def _add_language(project: Project, language: str, pattern: str) -> None:
    """Give the toy book another language, whose words are the Spanish ones in a pattern."""
    for name in PAGES:
        page = project.page(f"{language}/{name}")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(project.page(f"es/{name}").read_text("utf-8"), "utf-8")
    spanish = project.folder / "locale/es/LC_MESSAGES"
    target = project.folder / "locale" / language / "LC_MESSAGES"
    target.mkdir(parents=True)
    for path in spanish.glob("*.po"):
        with path.open("rb") as file:
            catalog = read_po(file)
        for message in catalog:
            if message.id:
                message.string = pattern.format(message.string)
        with (target / path.name).open("wb") as file:
            write_po(file, catalog)


@pytest.mark.parametrize("name", ["plotly", "mathjax"])
def test_vendored_scripts_carry_their_licence(name: str) -> None:
    folder: Path = PACKAGE / "book" / "vendor" / name
    assert (folder / "LICENSE").is_file()
    assert len(list(folder.glob("*.js"))) == 1
