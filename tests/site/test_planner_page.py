"""A planner on a page of a toy book, as the build makes it. Oracle: Python's own plan."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from fuseshard.distributed.planner import survey
from fuseshard.distributed.planning.presets import cluster_preset, model_preset
from tests.book.toybook import PACKAGE, Project
from tests.site.conftest import Visit, watched
from tests.site.site import served

pytestmark = [pytest.mark.browser]

PAGE = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
description: Plans.
---
# Plans

## Look

```{code-cell} ipython3
from fuseshard.show.planner.widget import planner_widget

planner_widget("plan", model="llama3-70b", cluster="h200x8", num_nodes=4)
```

A last paragraph.
"""


def spanish_words(known: str) -> str:
    """Return the package's own words for planners as entries of a catalog."""
    catalog = (PACKAGE / "locale" / "es" / "LC_MESSAGES" / "fuseshard.po").read_text("utf-8")
    entries = [entry for entry in catalog.split("\n\n") if "fuseshard/show/planner/" in entry]
    heads = (re.search(r'^msgid (?:"[^"].*|""\n".*)', entry, re.MULTILINE) for entry in entries)
    new = [e for e, head in zip(entries, heads, strict=True) if head and head[0] not in known]
    return "\n" + "\n\n".join(new) + "\n"


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a built toy book whose one page shows a planner."""
    folder = tmp_path_factory.mktemp("planner") / "toy"
    project = Project.make(folder)
    project.drop_page("part/outputs")
    project.drop_page("part/boxes")
    project.replace_in_both("index", "](part/outputs.md)", "](part/plans.md)")
    with (folder / "_toc.yml").open("a", encoding="utf-8") as contents:
        contents.write("      - file: part/plans\n")
    for edition in ("", "es/"):
        project.page(f"{edition}part/plans").write_text(PAGE, "utf-8")
    words = folder / "locale" / "es" / "LC_MESSAGES" / "fuseshard.po"
    words.write_text(words.read_text("utf-8") + spanish_words(words.read_text("utf-8")), "utf-8")
    done = project.build("-W")
    assert done.status == 0, done.output[-3000:]
    with served(folder / "book" / "_build" / "html") as address:
        yield address


@pytest.fixture
def visit(browser: Browser, toy: str) -> Iterator[Visit]:
    """A fresh page; at the end, nothing may have gone wrong on it."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    visit = watched(context, toy)
    yield visit
    assert visit.complaints == []
    context.close()


@pytest.mark.parametrize(("path", "said"), [("", "Memory binds: "), ("es/", "Limita la memoria: ")])
def test_the_built_page_plans_in_its_language(visit: Visit, path: str, said: str) -> None:
    page = visit.open(f"{path}part/plans.html")
    expect(page.locator(".fs-binding")).to_contain_text(said)
    page.locator("[data-size=num_nodes]").fill("8")
    found = survey(model_preset("llama3-70b"), cluster_preset("h200x8", num_nodes=8))
    expect(page.locator(".fs-tally")).to_contain_text(str(len(found.feasible)))
    best = page.locator("tbody tr").first.locator("td").all_inner_texts()
    assert best[:5] == [str(size) for size in found.feasible[0].degrees[:5]]


def test_a_page_without_scripts_shows_the_first_plan(browser: Browser, toy: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{toy}part/plans.html")
    expect(page.locator(".fs-planner tbody tr")).to_have_count(10)
    expect(page.locator(".fs-sizes")).to_be_hidden()
    note = page.locator(".fs-planner > noscript > p")
    expect(note).to_contain_text("Without scripts you see")
    for control in page.locator(".fs-planner").locator("select, input").all():
        expect(control).to_be_hidden()
    context.close()


def test_only_pages_with_a_planner_load_its_scripts(visit: Visit, toy: str) -> None:
    def scripts(path: str) -> list[str]:
        page = visit.open(path)
        addresses: list[str] = page.evaluate("[...document.scripts].map(script => script.src)")
        return [Path(a.partition("?")[0]).name for a in addresses if "planner" in a]

    assert scripts("part/plans.html") == ["planner-model.js", "planner.js"]
    assert scripts("index.html") == []
