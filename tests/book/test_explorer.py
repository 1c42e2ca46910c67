"""Explorers as HTML and data files: pure data. Oracle: the texts that went in, and gzip."""

from __future__ import annotations

import copy
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup, Tag

from fuseshard.book.catalog import Catalog, load
from fuseshard.book.config import PACKAGE
from fuseshard.book.draw.colouring import coloured_lines, line_html
from fuseshard.book.draw.explorer.files import data_files, file_address
from fuseshard.book.draw.explorer.page import explorer_html
from fuseshard.book.draw.parts import Voice
from fuseshard.book.messages import BookError
from fuseshard.show.explorer.explore import Place
from tests.book.toy.kit.toykit import gpus

Json = dict[str, Any]

PAGE_BUDGET = 60_000
"""bytes, gzipped: what an explorer may add to a page. A page without figures transfers some 300 kB,
none may transfer more than 400 kB before the reader touches it"""
FILE_BUDGET = 150_000
"""bytes, gzipped, of one data file: a second on a mobile phone"""
LANGUAGES = ("python", "text", "llvm", "ptx", "gas")
OWN_WORDS = {"Programs on GPUs": "Programas en GPU"}


def gzipped(text: str) -> int:
    """Bytes that a server sends."""
    return len(gzip.compress(text.encode(), 6))


def within(budget: int, text: str) -> bool:
    """Tell whether a text keeps to a budget."""
    return gzipped(text) <= budget


@pytest.fixture(scope="module")
def voices() -> dict[str, Voice]:
    spanish = load(PACKAGE / "locale", "es")
    entries = {**(spanish.entries or {}), **OWN_WORDS}
    return {
        "en": Voice(Catalog("en", None, Path("locale")), "page.md:7 (explorer)", "explorer/page/"),
        "es": Voice(Catalog("es", entries, Path("locale")), "es/page.md:7", "../explorer/page/"),
    }


@pytest.fixture(scope="module")
def everything() -> Json:
    """Twelve programs on five GPUs."""
    return gpus.explorer().to_json()


@pytest.fixture(scope="module")
def record() -> Json:
    """One program with one kernel, one that AMD's card gets in other kernels."""
    return gpus.explorer("softmax", "wide-softmax").to_json()


@pytest.fixture(scope="module")
def files(record: Json) -> dict[str, str]:
    return data_files(record, "page.md")


@pytest.fixture(scope="module")
def pages(record: Json, voices: dict[str, Voice]) -> dict[str, BeautifulSoup]:
    return {
        language: BeautifulSoup(explorer_html(record, voice), "html.parser")
        for language, voice in voices.items()
    }


def read(file: str) -> Json:
    """Return the data that a file hands to `fuseshardExplorer`."""
    found = re.fullmatch(r"fuseshardExplorer\((.*)\);\n", file, re.DOTALL)
    assert found
    return json.loads(found[1])


def text_of(data: Json, target: str, stage: str) -> str:
    """Put a text together from its runs of lines, without its colours."""
    lines = data["lines"].split("\n")
    runs = data["texts"][target][stage]
    parts = [
        lines[first : first + count] for first, count in zip(runs[::2], runs[1::2], strict=True)
    ]
    return re.sub("[\ue000-\uf8ff]", "", "\n".join(line for part in parts for line in part))


def page_data(page: BeautifulSoup) -> Json:
    script = page.select_one("script.fs-json")
    assert script and script.string
    return json.loads(script.string)


def test_data_files_hold_every_text_of_every_gpu(record: Json, files: dict[str, str]) -> None:
    compared = 0
    for program in record["programs"]:
        for index, kernel in enumerate(program["kernels"], start=1):
            data = read(files[f"explorer/{program['key']}-{index}.js"])
            assert data["texts"].keys() == kernel["views"].keys()
            for target, view in kernel["views"].items():
                for stage, text in view["texts"].items():
                    wanted = record["texts"][text].strip("\n")
                    assert text_of(data, target, stage) == wanted
                    compared += 1
    assert compared == 2 * (4 * 8 + 7) + 2 * 7  # softmax, and its wide kin in 1 + 3 kernels


def test_a_line_stands_once_in_a_file(files: dict[str, str]) -> None:
    for file in files.values():
        lines = read(file)["lines"].split("\n")
        assert len(set(lines)) == len(lines)


def test_files_hold_no_word_of_any_edition(record: Json, files: dict[str, str]) -> None:
    said = [stage["about"]["msgid"] for stages in record["stages"].values() for stage in stages]
    said += [resource["title"]["msgid"] for resource in record["resources"]]
    together = "".join(files.values())
    assert "tl.maximum" in together
    assert [text for text in said if text in together] == []


def test_both_editions_load_the_same_files(pages: dict[str, BeautifulSoup]) -> None:
    english, spanish = (page_data(pages[language]) for language in ("en", "es"))
    assert spanish["folder"] == f"../{english['folder']}"
    names = [
        [kernel["file"] for program in data["programs"] for kernel in program["kernels"]]
        for data in (english, spanish)
    ]
    assert names[0] == names[1]
    assert names[0][0].startswith("softmax-1.js?v=")


def test_another_text_gets_another_address(record: Json) -> None:
    changed = copy.deepcopy(record)
    changed["texts"][0] += "# changed\n"
    first, second = record["programs"]

    def addresses(data: Json) -> list[str]:
        return [file_address(data, program, 0) for program in (first, second)]

    assert addresses(copy.deepcopy(record)) == addresses(record)
    assert addresses(changed)[0] != addresses(record)[0]
    assert addresses(changed)[1] == addresses(record)[1]  # the text isn't in that one


def test_code_with_the_marks_of_colours_is_refused(record: Json) -> None:
    marked = {**record, "texts": [*record["texts"], "x = '\ue000'"]}
    with pytest.raises(BookError, match=r"page\.md: code holds a character between U\+E000"):
        data_files(marked, "page.md")


@pytest.mark.parametrize("language", LANGUAGES)
def test_colouring_keeps_every_character(language: str) -> None:
    code = 'def f():\n    """two\n\n    lines"""\n\treturn a < b & c  # %r1 @p0 "x" ;\n\n// 0x1f\n'
    lines = coloured_lines(f"\n{code}\n\n", language)
    assert "\n".join("".join(text for _, text in line) for line in lines) == code.strip("\n")
    html = "¶".join(map(line_html, lines))
    shown = BeautifulSoup(f"<pre>{html}</pre>", "html.parser").get_text()
    assert shown == code.strip("\n").replace("\n", "¶")


def test_colours_come_with_few_spans() -> None:
    [line] = coloured_lines("tmp1 = tl.load(in_ptr0 + x, 600, other=None)  # one row", "python")
    assert line_html(line) == (
        'tmp1 = tl.load(in_ptr0 + x, <span class="mi">600</span>, other='
        '<span class="kc">None</span>)  <span class="c1"># one row</span>'
    )


def test_the_page_shows_the_start_and_offers_everything(
    record: Json, pages: dict[str, BeautifulSoup]
) -> None:
    page = pages["en"]
    shown = page.select_one(".fs-panels .fs-panel[open]:not([hidden])")
    assert shown
    assert shown.summary.get_text() == "Triton · NVIDIA H200 65 lines"
    wanted = gpus.kernel("triton_per_fused_softmax_0", "inference", "h200").texts["triton"]
    assert shown.pre.get_text() == wanted
    options = page.select("select[data-pick=program] option")
    assert [option["value"] for option in options] == ["softmax", "wide-softmax"]
    stages = page.select("input[data-pick=stage]")
    assert [radio["value"] for radio in stages] == list(gpus.stages_of("nvidia"))
    assert [radio["value"] for radio in stages if radio.has_attr("checked")] == ["triton"]
    gpu_names = [radio.parent.span.get_text() for radio in page.select("[data-pick=target]")]
    assert gpu_names == ["H200", "A100", "RTX 4090", "B200", "MI300X"]


def test_every_control_has_a_label(pages: dict[str, BeautifulSoup]) -> None:
    for page in pages.values():
        selects = page.select("select")
        assert len(selects) == 3
        for select in selects:
            assert page.select_one(f"label[for={select['id']}]").get_text()
        for radio in page.select("input[type=radio]"):
            assert radio.find_parent("label").get_text()
            assert radio.find_parent("fieldset").legend.get_text()
        ids = [tag["id"] for tag in page.select("[id]") if isinstance(tag, Tag)]
        assert sorted(set(ids)) == sorted(ids)


def test_code_and_table_scroll_by_keyboard_and_have_names(pages: dict[str, BeautifulSoup]) -> None:
    page = pages["es"]
    regions = page.select(".fs-panel:not([hidden]) [role=region], .fs-resources [role=region]")
    assert len(regions) == 9  # eight stages and the table
    for region in regions:
        assert region["tabindex"] == "0"
        label = region.get("aria-label") or page.find(id=region["aria-labelledby"]).get_text()
        assert label
    assert page.select_one("[role=status]")


def test_the_table_marks_the_gpu_that_is_seen(pages: dict[str, BeautifulSoup]) -> None:
    table = pages["en"].select_one(".fs-resources table")
    marked = table.select(".fs-picked")
    assert [cell.get_text() for cell in marked[:1]] == ["H200"]
    assert len(marked) == 1 + len(table.select("tbody tr"))
    assert all(cell["aria-current"] == "true" for cell in marked)
    resources = gpus.kernel("triton_per_fused_softmax_0", "inference", "h200").resources
    assert marked[2].get_text() == str(resources.registers)
    assert marked[-1].get_text() == resources.limited_by


def test_a_kernel_that_a_card_lacks_leaves_its_column_empty(voices: dict[str, Voice]) -> None:
    start = Place("wide-softmax", "mi300x", "triton")
    record = gpus.explorer("wide-softmax", start=start).to_json()
    page = BeautifulSoup(explorer_html(record, voices["en"]), "html.parser")
    rows = page.select(".fs-resources tbody tr")
    assert all(
        [cell.get_text() == "—" for cell in row.select("td")] == [True] * 4 + [False]
        for row in rows
    )
    shown = page.select_one(".fs-shown").get_text()
    assert shown == "H200, A100, RTX 4090, and B200: the program is cut into other kernels."
    names = [option.get_text() for option in page.select("select[data-pick=kernel] option")]
    assert names == [f"triton_red_split_{i}" for i in range(3)]
    [sass] = page.select("input[value=sass]")
    assert sass.has_attr("disabled")
    assert page.select_one("input[value=assembly] + span").get_text() == "amdgcn"


def test_phases_are_named_where_a_program_has_several(voices: dict[str, Voice]) -> None:
    record = gpus.explorer("dropout").to_json()
    page = BeautifulSoup(explorer_html(record, voices["es"]), "html.parser")
    names = [option.get_text() for option in page.select("select[data-pick=kernel] option")]
    assert [name.partition(": ")[0] for name in names] == ["hacia delante", "hacia atrás"]


def test_without_scripts_every_stage_can_be_unfolded(pages: dict[str, BeautifulSoup]) -> None:
    page = pages["en"]
    folded = page.select("noscript .fs-panel")
    assert not any(panel.has_attr("open") for panel in folded)
    texts = gpus.kernel("triton_per_fused_softmax_0", "inference", "h200").texts
    others = [text for stage, text in texts.items() if stage != "triton"]
    assert [panel.pre.get_text() for panel in folded] == others
    sentence = page.select_one("noscript > p").get_text()
    assert "among 2 programs and 5 GPUs" in sentence
    assert "softmax on NVIDIA H200" in sentence


def test_the_spanish_page_says_nothing_in_english(
    record: Json, pages: dict[str, BeautifulSoup]
) -> None:
    msgids = [stage["about"]["msgid"] for s in record["stages"].values() for stage in s]
    msgids += [r["title"]["msgid"] for r in record["resources"] if r["title"]["msgid"] != "Warps"]
    msgids += ["Stage", "Compare with", "no other GPU", "With scripts", "Loading", "Beside it"]
    # What stands before code, quotes and values.
    phrases = {re.split("[`'{]", msgid)[0] for msgid in msgids if msgid[0].isalpha()}

    def said(language: str) -> str:
        data = {**page_data(pages[language]), "start": {}, "programs": []}
        return pages[language].get_text(" ") + json.dumps(list(data.items()), ensure_ascii=False)

    assert {phrase for phrase in phrases if phrase not in said("en")} == set()
    assert {phrase for phrase in phrases if phrase in said("es")} == set()


def test_the_page_keeps_to_its_budget(everything: Json, voices: dict[str, Voice]) -> None:
    assert len(everything["programs"]) == 12
    assert len(everything["targets"]) == 5
    for voice in voices.values():
        assert within(PAGE_BUDGET, explorer_html(everything, voice))
    # All texts of one program alone would be too much for a page.
    assert not within(PAGE_BUDGET, "".join(everything["texts"][:40]))


def test_data_files_keep_to_their_budget(files: dict[str, str]) -> None:
    assert all(within(FILE_BUDGET, file) for file in files.values())
    together = files["explorer/softmax-1.js"] + files["explorer/wide-softmax-1.js"]
    assert not within(FILE_BUDGET, together)


def test_lines_that_gpus_share_make_files_smaller(record: Json, files: dict[str, str]) -> None:
    """Or the lines needn't be taken apart at all: gzip alone doesn't look back far enough."""
    kernel = record["programs"][0]["kernels"][0]
    own = {index for view in kernel["views"].values() for index in view["texts"].values()}
    plain = gzipped(json.dumps([record["texts"][index] for index in own]))
    assert gzipped(files["explorer/softmax-1.js"]) < plain  # and the colours are in it
