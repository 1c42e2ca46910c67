"""The built pages as text. Oracle: the HTML itself, and the front matter it was made from."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bookcheck.pages import BOOK, read_page
from bookcheck.pieces import TOP
from bs4 import BeautifulSoup, Tag

from fuseshard.book.address import page_url, site_url
from tests.book.test_editions import FOREIGN
from tests.site.site import Site

pytestmark = pytest.mark.build

LINKS = {
    "a": "href",
    "link": "href",
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
}
# What a build leaves on a page when something went wrong, or when a machine shows through.
LEFTOVERS = re.compile(
    "|".join(
        [
            "/" + "tmp" + "/",
            re.escape(str(TOP)),
            re.escape(str(Path.home())) + "/",
            r"ipykernel_\d*",
            r"\w+Warning\b",
            r"\bpid[ =:]+\d+",
            r"\[[WE]\d{3,}",
            r"0x7f[0-9a-f]{10}",  # an address; 0x7fffffff is a number that machine code holds
            r"\[rank\d+\]:",
        ]
    )
)


def everywhere(site: Site) -> list[str]:
    """Every HTML file of the site, search pages too."""
    paths = sorted(path.relative_to(site.html) for path in site.html.rglob("*.html"))
    return [path.as_posix() for path in paths if "_static" not in path.parts]


def test_both_editions_are_there_whole(site: Site) -> None:
    assert "index" in site.names
    assert [path for _, path in site.pages if not (site.html / path).is_file()] == []


def test_each_page_says_its_language_and_has_one_title(site: Site) -> None:
    for language, path in site.pages:
        page = site.soup(path)
        titles = [h.get_text().strip("# \n¶") for h in page.select("h1")]
        assert (path, page.html["lang"], len(titles)) == (path, language, 1), titles
        assert titles[0].split()[0] in page.title.get_text()


def test_each_page_carries_its_own_description(site: Site) -> None:
    seen = Counter()
    for language, path in site.pages:
        name = path.removesuffix(".html").removeprefix("es/")
        source = BOOK / ("" if language == "en" else language) / f"{name}.md"
        tags = site.soup(path).select("meta[name=description]")
        wanted = str(read_page(source).front_matter["description"])
        assert (path, [tag["content"] for tag in tags]) == (path, [wanted])
        seen[wanted] += 1
    assert max(seen.values()) == 1


def test_each_page_names_its_twin_and_its_address(site: Site) -> None:
    config = yaml.safe_load((TOP / "_config.yml").read_text("utf-8"))
    configured = config["sphinx"]["config"].get("fuseshard_site_url", "")
    root = site_url(configured, TOP)
    for language, path in site.pages:
        page = site.soup(path)
        alternates = {a["hreflang"]: a["href"] for a in page.select("link[rel=alternate]")}
        assert set(alternates) == {"en", "es", "x-default"}, path
        assert alternates["x-default"] == alternates["en"]
        canonical = [tag["href"] for tag in page.select("link[rel=canonical]")]
        name = path.removesuffix(".html").removeprefix("es/")
        edition = root if language == "en" else f"{root}{language}/"
        wanted = [page_url(edition, name)] if root else []
        assert (path, canonical) == (path, wanted)
        assert not canonical or alternates[language] == canonical[0]


def test_plotly_and_mathjax_come_once_and_from_the_site(site: Site) -> None:
    bundles = [p for p in site.html.rglob("*.js") if "plotly" in p.name]
    assert [p.relative_to(site.html).as_posix() for p in bundles] == [
        "vendor/plotly/plotly-cartesian.min.js"
    ]
    for path in everywhere(site):
        page = site.soup(path)
        sources = [script["src"] for script in page.select("script[src]")]
        assert [s for s in sources if "plotly" in s.rsplit("/", 1)[-1]] == [], path
        math = [s for s in sources if "mathjax" in s.lower()]
        assert (path, len(math) <= 1) == (path, True)
        inline = [s.string or "" for s in page.select("script:not([src])")]
        assert not [s for s in inline if "Plotly.newPlot" in s or "define.amd" in s], path


def test_nothing_is_loaded_from_another_host(site: Site) -> None:
    assert outside(BeautifulSoup('<script src="https://a.example/x.js"></script>', "lxml"))
    for path in everywhere(site):
        assert (path, outside(site.soup(path))) == (path, [])
    for sheet in site.html.rglob("*.css"):
        text = sheet.read_text("utf-8", "replace")
        assert not re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\"']+", text), sheet


def outside(page: BeautifulSoup) -> list[str]:
    """What a browser would fetch from elsewhere while it shows the page."""
    tags = page.select("script[src], img[src], iframe[src], source[src], link[href]")
    kept = ({"canonical"}, {"alternate"})
    addresses = [
        str(tag.get("src") or tag.get("href"))
        for tag in tags
        if set(tag.get("rel") or []) not in kept
    ]
    return [address for address in addresses if urlsplit(address).netloc]


@pytest.mark.parametrize(
    "text",
    [
        "in /t" + "mp/a.py",
        "ipykernel_12",
        "UserWarning: x",
        "pid 4711",
        "at 0x7f12ab34cd56",
        "[W1129",
    ],
)
def test_the_pattern_for_leftovers_finds_them(text: str) -> None:
    assert LEFTOVERS.search(text)
    assert not LEFTOVERS.search("A warning, a temporary file, rapid 12, kernel")


def test_no_page_shows_a_machine_a_process_or_a_warning(site: Site) -> None:
    for path in everywhere(site):
        page = site.soup(path)
        found = LEFTOVERS.findall((site.html / path).read_text("utf-8"))
        assert (path, found) == (path, [])
        assert (path, [str(t)[:200] for t in page.select(".output.stderr")]) == (path, [])
        assert (path, page.select(".system-message, .problematic")) == (path, [])


def test_every_link_and_anchor_of_both_editions_resolves(site: Site) -> None:
    pages = {path: site.soup(path) for path in everywhere(site)}
    ids = {path: {str(tag["id"]) for tag in page.select("[id]")} for path, page in pages.items()}
    broken = [
        f"{path}: {address}"
        for path, page in pages.items()
        for address in internal_links(page)
        if not resolves(site, path, address, ids)
    ]
    assert not broken, "\n".join(broken)
    assert not resolves(site, "index.html", "missing.html", ids)
    assert not resolves(site, "index.html", "#missing", ids)


def internal_links(page: BeautifulSoup) -> list[str]:
    """The addresses on a page that stay on the site."""
    found = []
    for tag in page.find_all(list(LINKS)):
        address = str(tag.get(LINKS[tag.name]) or "")
        parts = urlsplit(address)
        if address and not parts.netloc and parts.scheme not in {"mailto", "javascript", "data"}:
            found.append(address)
    return found


def resolves(site: Site, path: str, address: str, ids: dict[str, set[str]]) -> bool:
    """Say whether an address on a page leads to a file, and to an id in it."""
    parts = urlsplit(address)
    folder = (site.html / path).parent
    target = (folder / unquote(parts.path)).resolve() if parts.path else site.html / path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file() or not target.is_relative_to(site.html.resolve()):
        return False
    name = target.relative_to(site.html.resolve()).as_posix()
    anchor = unquote(parts.fragment)
    return not anchor or name not in ids or anchor in ids[name]


def test_spanish_pages_have_no_word_of_the_theme_in_english(site: Site) -> None:
    names = [path for language, path in site.pages if language == "es"]
    for path in [*names, "es/search.html"]:
        text = theme_words(site.soup(path))
        assert (path, [phrase for phrase in FOREIGN if phrase in text]) == (path, [])
    assert "Search" in theme_words(site.soup("index.html"))


def theme_words(page: BeautifulSoup) -> str:
    """What a page says besides its chapter: the frame, and what the theme adds to the text."""
    for quiet in page(["script", "style", "pre"]):
        quiet.decompose()
    article = page.select_one("article.bd-article")
    added: list[str] = []
    if article is not None:
        tags = article.select("summary, button, a.headerlink, .fs-kind, [title], [aria-label]")
        added = [f"{tag.get('title', '')} {tag.get('aria-label', '')}" for tag in tags]
        added += [tag.get_text() for tag in article.select("button, .fs-kind")]
        article.decompose()
    return "\n".join([str(page), *added])


def test_navigation_stays_in_its_edition(site: Site) -> None:
    for language, path in site.pages:
        page = site.soup(path)
        links = page.select(".bd-sidebar-primary nav a.internal, .prev-next-footer a")
        depth = path.count("/")
        outside_es = [
            a["href"] for a in links if str(a["href"]).startswith("../" * depth) and depth
        ]
        if language == "es":
            assert (path, [h for h in outside_es if not _inside(path, str(h))]) == (path, [])
        assert (path, [a["href"] for a in links if language == "en" and "/es/" in a["href"]]) == (
            path,
            [],
        )


def _inside(path: str, address: str) -> bool:
    """Whether a relative address on a Spanish page stays below es/."""
    joined = os.path.normpath(Path(path).parent / urlsplit(address).path)
    return joined.startswith("es")


def test_figures_say_what_they_show_without_a_script(site: Site) -> None:
    figures = [(p, f) for _, p in site.pages for f in site.soup(p).select("figure.fs-figure")]
    assert figures
    for path, figure in figures:
        caption, alternative = figure.select_one("figcaption"), figure.select_one("[id$=-alt]")
        assert _words(caption) > 3, path
        assert _words(alternative) > 5, path
        assert figure.select_one("noscript table th[scope=col]"), path


def _words(tag: Tag | None) -> int:
    return len(tag.get_text().split()) if tag else 0


def test_code_cells_ran_once_for_both_editions(site: Site) -> None:
    timings = site.timings
    assert list(timings) == ["en", "es"]
    ours = {name: page["execution"] for name, page in timings["en"]["pages"].items()}
    assert set(site.names) <= set(ours)
    assert {ours[name] for name in site.names} <= {"run", "cached"}
    assert {page["execution"] for page in timings["es"]["pages"].values()} == {""}
