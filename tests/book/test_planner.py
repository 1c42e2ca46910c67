"""A planner as HTML: pure data. Oracle: the record that went in, and the catalogs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from fuseshard.book.catalog import Catalog, load
from fuseshard.book.config import PACKAGE
from fuseshard.book.draw.parts import Voice
from fuseshard.book.draw.planner import SCRIPT_WORDS, planner_html
from fuseshard.show.planner.widget import planner_widget

Json = dict[str, Any]
LANGUAGES = ("en", "es")


@pytest.fixture(scope="module")
def record() -> Json:
    return planner_widget("plan", model="llama3-70b", cluster="h200x8", num_nodes=4).to_json()


@pytest.fixture(scope="module")
def pages(record: Json) -> dict[str, BeautifulSoup]:
    spanish = load(PACKAGE / "locale", "es")
    catalogs = {
        "en": Catalog("en", None, Path("locale")),
        "es": Catalog("es", spanish.entries, Path("locale")),
    }
    return {
        language: BeautifulSoup(planner_html(record, Voice(catalog, "page.md:7")), "html.parser")
        for language, catalog in catalogs.items()
    }


def data_of(page: BeautifulSoup) -> Json:
    script = page.find("script")
    assert script is not None
    data: Json = json.loads(script.text)
    return data


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_control_has_a_label_of_its_own(pages, language: str) -> None:
    page = pages[language]
    controls = page.select("input, select")
    assert len(controls) == 2 + 8 + 8
    ids = [control["id"] for control in controls]
    assert len(set(ids)) == len(ids)
    assert sorted(label["for"] for label in page.select("label")) == sorted(ids)
    assert all(label.text.strip() for label in page.select("label"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_table_stands_in_the_page_without_scripts(pages, record, language) -> None:
    rows = pages[language].select("tbody tr")
    assert len(rows) == record["most_rows"]
    first = [cell.text for cell in rows[0].select("td")]
    assert first[:5] == [cell["text"] for cell in record["planned"]["rows"][0][:5]]


def test_sizes_are_shown_in_the_units_that_their_labels_name(pages) -> None:
    page = pages["en"]

    def shown(name: str) -> str:
        return str(page.select_one(f"[data-size={name}]")["value"])

    assert (shown("memory_bytes"), shown("between_bytes_per_s")) == ("141", "50")
    assert (shown("peak_flop_per_s"), shown("usable_memory")) == ("989.5", "90")
    assert (shown("num_nodes"), shown("width")) == ("4", "8192")


def test_spanish_speaks_spanish(pages) -> None:
    english, spanish = (pages[language].get_text(" ") for language in LANGUAGES)
    assert "Memory binds: FSDP 8" in english
    assert "Limita la memoria: FSDP 8" in spanish
    for said in ("Layouts", "Change the sizes", "Nodes", "sums of TP"):
        assert said in english
        assert said not in spanish


def test_the_script_gets_every_word_in_both_languages(pages) -> None:
    english, spanish = (data_of(pages[language]) for language in LANGUAGES)
    assert english["words"] == SCRIPT_WORDS
    assert set(spanish["words"]) == set(SCRIPT_WORDS)
    for part in ("words", "limits", "obstacles"):
        same = [key for key, said in english[part].items() if spanish[part][key] == said]
        assert same == []
    assert english["models"] == spanish["models"]


def test_text_cant_end_the_script_early(record: Json) -> None:
    hostile = {**record, "answers": [{"plain": "</script><b>"}, {"plain": "yes"}]}
    voice = Voice(Catalog("en", None, Path("locale")), "page.md:7")
    page = BeautifulSoup(planner_html(hostile, voice), "html.parser")
    assert len(page.find_all("script")) == 1
    assert data_of(page)["answers"] == ["</script><b>", "yes"]
