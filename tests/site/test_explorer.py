"""An explorer on a page of a toy book, in a real browser. Oracle: the texts that went into it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from fuseshard.show.explorer.programs import Stage
from tests.book.toy.kit.toykit import gpus
from tests.book.toybook import PACKAGE, Project
from tests.site.conftest import Visit, watched
from tests.site.site import served

pytestmark = [pytest.mark.browser]

PROGRAMS = ("softmax", "wide-softmax", "layernorm-train")
TRANSFER_BUDGET = 60_000
"""bytes, compressed, that an explorer may add to a page before the reader touches it"""
PAGE = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
description: Code for GPUs.
---
# GPUs

## Look

```{code-cell} ipython3
from toykit import gpus

gpus.explorer%s
```

A last paragraph.
"""
SPANISH = {
    "Programs on GPUs": "Programas en GPU",
}


def build(folder: Path) -> Path:
    """Build a toy book whose one page shows an explorer; return the folder of its HTML."""
    project = Project.make(folder)
    project.drop_page("part/outputs")
    project.drop_page("part/boxes")
    project.replace_in_both("index", "](part/outputs.md)", "](part/gpus.md)")
    with (folder / "_toc.yml").open("a", encoding="utf-8") as contents:
        contents.write("      - file: part/gpus\n")
    for edition in ("", "es/"):
        project.page(f"{edition}part/gpus").write_text(PAGE % (PROGRAMS,), "utf-8")
    words = folder / "locale" / "es" / "LC_MESSAGES" / "fuseshard.po"
    words.write_text(words.read_text("utf-8") + spanish_words(words.read_text("utf-8")), "utf-8")
    done = project.build("-W")
    assert done.status == 0, done.output[-3000:]
    return folder / "book" / "_build" / "html"


def spanish_words(known: str) -> str:
    """Return the package's own words for explorers, and the toy's, as entries of a catalog."""
    catalog = (PACKAGE / "locale" / "es" / "LC_MESSAGES" / "fuseshard.po").read_text("utf-8")
    entries = [entry for entry in catalog.split("\n\n") if "fuseshard/show/explorer/" in entry]
    entries += [f'msgid "{english}"\nmsgstr "{text}"' for english, text in SPANISH.items()]
    heads = (re.search('^msgid ".*', entry, re.MULTILINE) for entry in entries)
    new = [e for e, head in zip(entries, heads, strict=True) if head and head[0] not in known]
    return "\n" + "\n\n".join(new) + "\n"


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built toy book, which no test may change."""
    return build(tmp_path_factory.mktemp("explorer") / "toy")


@pytest.fixture(scope="module")
def toy(html: Path) -> Iterator[str]:
    """The address of the toy book's root."""
    with served(html) as address:
        yield address


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A window of a desktop's size."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def visit(context: BrowserContext, toy: str) -> Iterator[Visit]:
    """A fresh page; at the end, nothing may have gone wrong on it."""
    visit = watched(context, toy)
    yield visit
    assert visit.complaints == []


@pytest.fixture
def page(visit: Visit) -> Page:
    """The page with the explorer."""
    return visit.open("part/gpus.html")


def text(gpu: str, stage: Stage, kernel: str = "triton_per_fused_softmax_0") -> str:
    """The text that must be seen."""
    return gpus.kernel(kernel, "inference", gpu).texts[stage].strip("\n")


def pick(page: Page, what: str, value: str) -> None:
    """Pick as a reader does with a mouse."""
    select = page.locator(f"select[data-pick={what}]")
    if select.count():
        select.select_option(value)
    else:
        page.locator(f".fs-chip:has([data-pick={what}][value={value}])").click()


def code(page: Page, index: int = 0) -> Locator:
    """The text on the left, or the one beside it."""
    return page.locator(".fs-panels pre").nth(index)


def expect_code(page: Page, wanted: str, index: int = 0) -> None:
    """Wait for a text and compare every character of it."""
    panel = page.locator(".fs-panels .fs-panel").nth(index)
    lines = wanted.split("\n")
    expect(panel.locator(".fs-line")).to_have_count(len(lines))
    expect(panel.locator(".fs-line").last).to_have_text(lines[-1])
    shown = code(page, index).evaluate("pre => pre.textContent")
    assert shown.strip("\n") == wanted


def picked(page: Page) -> dict[str, str]:
    """What the controls say."""
    return page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll('[data-pick]')]
          .filter(control => control.type !== 'radio' || control.checked)
          .filter(control => !control.parentElement.hidden)
          .map(control => [control.dataset.pick, control.value]))"""
    )


def test_every_stage_of_every_gpu_can_be_picked(page: Page) -> None:
    seen = set()
    for gpu in gpus.NAMES:
        pick(page, "target", gpu)
        for stage in gpus.stages_of(gpus.target(gpu).vendor):
            pick(page, "stage", stage)
            expect_code(page, text(gpu, stage))
            seen.add(text(gpu, stage))
    # Or one text could stand for another: only ATen, TTIR and LLVM IR are shared by several GPUs.
    assert len(seen) == 1 + 5 + 5 + 2 + 5 + 3 + 5 + 4


def test_nothing_is_loaded_before_a_reader_picks(visit: Visit, toy: str) -> None:
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    page = visit.open("part/gpus.html")
    page.wait_for_load_state("networkidle")
    assert [address for address in asked if "/explorer/" in address] == []
    pick(page, "stage", "sass")
    expect_code(page, text("h200", "sass"))
    pick(page, "target", "b200")
    expect_code(page, text("b200", "sass"))
    data = [address for address in asked if "/explorer/" in address]
    assert [urlsplit(address).path for address in data] == [
        f"{urlsplit(toy).path}explorer/part/gpus/explorer/softmax-1.js"
    ]


def test_an_explorer_adds_little_to_what_a_page_transfers(browser: Browser, toy: str) -> None:
    first = transferred(browser, f"{toy}index.html")
    with_explorer = transferred(browser, f"{toy}part/gpus.html")
    assert 0 < with_explorer - first < TRANSFER_BUDGET
    # The measure sees what is loaded when a reader picks.
    picked_at_once = transferred(browser, f"{toy}part/gpus.html#explorer=softmax,b200,sass")
    assert picked_at_once - first > TRANSFER_BUDGET


def transferred(browser: Browser, address: str) -> int:
    """Bytes that a page of the toy book transfers to a browser that has seen nothing yet."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address, wait_until="networkidle")
    size: int = page.evaluate(
        """() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
          .reduce((sum, entry) => sum + entry.transferSize, 0)"""
    )
    context.close()
    return size


def test_the_keyboard_reaches_and_picks_everything(page: Page) -> None:
    page.locator("select[data-pick=program]").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".fs-kernel-name")).to_have_text("triton_per_fused_wide_softmax_0")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.pick") == "target"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.pick") == "compare"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.pick") == "stage"
    page.keyboard.press("ArrowRight")
    expect_code(page, text("a100", "ttir"))
    assert picked(page)["target"] == "a100"
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.tagName") == "PRE":
            break
    page.keyboard.press("End")
    page.wait_for_function("document.querySelector('.fs-code').scrollTop > 0")


def test_focus_can_be_seen(page: Page) -> None:
    outline = """() => getComputedStyle(
      document.querySelector('[data-pick=stage]:checked + span')).outlineStyle"""
    assert page.evaluate(outline) == "none"
    page.locator("select[data-pick=compare]").focus()
    page.keyboard.press("Tab")
    assert page.evaluate(outline) == "solid"


def test_the_place_is_kept_when_only_the_gpu_changes(page: Page) -> None:
    pick(page, "program", "layernorm-train")
    pick(page, "kernel", "2")
    pick(page, "stage", "llir")
    name = "triton_per_fused_layernorm_train_2"
    expect_code(page, text("h200", "llir", name))
    code(page).evaluate("pre => pre.scrollTo(0, 9000)")
    pick(page, "target", "b200")
    expect_code(page, text("b200", "llir", name))
    assert code(page).evaluate("pre => pre.scrollTop") == 9000
    assert picked(page) == {
        "program": "layernorm-train",
        "kernel": "2",
        "target": "b200",
        "compare": "",
        "stage": "llir",
    }
    pick(page, "stage", "ttir")  # another stage is read from its first line
    expect_code(page, text("b200", "ttir", name))
    assert code(page).evaluate("pre => pre.scrollTop") == 0


def test_amd_has_no_sass_and_sass_comes_back_after_it(page: Page) -> None:
    pick(page, "stage", "sass")
    pick(page, "target", "mi300x")
    expect_code(page, text("mi300x", "assembly"))
    expect(page.locator("[data-pick=stage][value=sass]")).to_be_disabled()
    expect(page.locator("[data-pick=stage]:checked + span")).to_have_text("amdgcn")
    pick(page, "target", "a100")
    expect_code(page, text("a100", "sass"))
    expect(page.locator("[data-pick=stage][value=assembly] + span")).to_have_text("PTX")


def test_a_program_that_is_cut_in_another_way_is_told(page: Page) -> None:
    pick(page, "program", "wide-softmax")
    expect_code(page, text("h200", "triton", "triton_per_fused_wide_softmax_0"))
    expect(page.locator("select[data-pick=kernel]")).to_be_hidden()
    shown = page.locator(".fs-shown")
    expect(shown).to_contain_text("MI300X: the program is cut into other kernels.")
    pick(page, "target", "mi300x")
    expect_code(page, text("mi300x", "triton", "triton_red_split_0"))
    expect(page.locator("select[data-pick=kernel]")).to_be_visible()
    pick(page, "kernel", "3")
    expect_code(page, text("mi300x", "triton", "triton_red_split_2"))
    expect(page.locator(".fs-resources td.fs-picked").first).to_have_text("4")
    expect(page.locator(".fs-resources tbody td:not(.fs-picked)").first).to_have_text("—")
    pick(page, "target", "h200")
    expect_code(page, text("h200", "triton", "triton_per_fused_wide_softmax_0"))


def test_the_table_follows_the_kernel_and_marks_the_gpu(page: Page) -> None:
    pick(page, "program", "layernorm-train")
    pick(page, "kernel", "1")
    pick(page, "target", "rtx4090")
    name = "triton_per_fused_layernorm_train_1"
    expect_code(page, text("rtx4090", "triton", name))
    registers = page.locator(".fs-resources tbody tr").nth(1).locator("td")
    wanted = [gpus.kernel(name, "backward", gpu).resources.registers for gpu in gpus.NAMES]
    assert registers.all_inner_texts() == [str(number) for number in wanted]
    marked = page.locator(".fs-resources .fs-picked")
    expect(marked.first).to_have_text("RTX 4090")
    expect(marked.nth(2)).to_have_text(str(wanted[2]))
    expect(page.locator(".fs-resources [aria-current=true]")).to_have_count(marked.count())
    expect(page.locator(".fs-settings")).to_contain_text("RTX 4090: XBLOCK=1")


def test_what_is_shown_is_said(page: Page) -> None:
    status = page.get_by_role("status")
    pick(page, "stage", "ttir")
    expect(status).to_contain_text("softmax, TTIR, NVIDIA H200: 62 lines.")
    expect(status).to_contain_text("A100, RTX 4090, and B200: the same text, letter for letter.")
    pick(page, "stage", "sass")
    expect(status).to_contain_text("softmax, SASS, NVIDIA H200: 480 lines.")
    expect(status).to_contain_text("Every other GPU is given another text.")


def test_an_address_leads_to_its_view_also_after_a_reload(visit: Visit) -> None:
    page = visit.open("part/gpus.html")
    pick(page, "program", "layernorm-train")
    pick(page, "target", "a100")
    pick(page, "compare", "b200")
    pick(page, "kernel", "3")
    pick(page, "stage", "sass")
    name = "triton_per_fused_layernorm_train_3"
    expect_code(page, text("a100", "sass", name))
    expect(page).to_have_url(re.compile(r"#explorer=layernorm-train,a100\+b200,sass,4$"))
    page.reload()
    expect_code(page, text("a100", "sass", name))
    expect_code(page, text("b200", "sass", name), 1)
    other = visit.page.context.new_page()
    other.goto(page.url)
    expect_code(other, text("a100", "sass", name))
    expect(other.locator(".fs-explorer-label")).to_be_in_viewport()


def test_a_link_on_the_same_page_changes_the_view(page: Page) -> None:
    page.evaluate("location.hash = '#explorer=softmax,b200,ttgir'")
    expect_code(page, text("b200", "ttgir"))
    page.evaluate("location.hash = '#explorer=softmax%2Crtx4090%2Caten'")  # as chats rewrite it
    expect_code(page, text("rtx4090", "aten"))


def test_an_address_that_names_nothing_shows_the_start(visit: Visit) -> None:
    for address in ("nothing,h999,toString,x", "", "softmax", "look=1&a=b"):
        visit.page.goto("about:blank")
        page = visit.open(f"part/gpus.html#explorer={address}")
        expect_code(page, text("h200", "triton"))
    pick(page, "stage", "ttir")
    expect_code(page, text("h200", "ttir"))
    expect(page).to_have_url(re.compile("explorer=softmax,h200,ttir$"))


def test_the_other_language_shows_the_same_view(visit: Visit) -> None:
    page = visit.open("part/gpus.html#explorer=softmax,b200,ptx")
    pick(page, "stage", "assembly")
    expect_code(page, text("b200", "assembly"))
    page.locator("a.fs-language:visible").first.click()
    page.wait_for_url("**/es/part/gpus.html#explorer=softmax,b200,assembly")
    expect_code(page, text("b200", "assembly"))
    expect(page.locator(".fs-about:visible")).to_contain_text("Ensamblador para cualquier tarjeta")
    expect(page.locator("fieldset legend").last).to_have_text("Etapa")
    pick(page, "target", "a100")
    expect(page.get_by_role("status")).to_contain_text("PTX, NVIDIA A100-SXM4-80GB: 1101 líneas.")


def test_two_gpus_stand_side_by_side_and_scroll_together(page: Page) -> None:
    pick(page, "stage", "wrapper")
    pick(page, "compare", "a100")
    expect_code(page, text("a100", "wrapper"), 1)
    expect_code(page, text("h200", "wrapper"))
    left, right = (code(page, i).bounding_box() for i in (0, 1))
    assert left and right and left["x"] + left["width"] <= right["x"]
    assert left["y"] == right["y"]
    # The one line in which they differ, on either side.
    expect(page.locator(".fs-marked")).to_have_count(2)
    expect(page.locator(".fs-marked").first).to_contain_text("multi_processor_count=132")
    expect(page.locator(".fs-shown")).to_contain_text("Lines that the other text lacks are marked.")
    code(page).hover()
    page.mouse.wheel(0, 600)
    page.wait_for_function("document.querySelectorAll('.fs-code')[1].scrollTop > 0")
    tops = [code(page, i).evaluate("pre => pre.scrollTop") for i in (0, 1)]
    assert tops[0] == pytest.approx(tops[1], abs=2)
    pick(page, "target", "a100")  # the one on the right: they change places
    expect_code(page, text("h200", "wrapper"), 1)
    assert picked(page)["compare"] == "h200"
    pick(page, "compare", "")
    expect(code(page, 1)).to_be_hidden()


def test_texts_without_a_line_in_common_are_not_marked_all_over(page: Page) -> None:
    pick(page, "stage", "sass")
    pick(page, "compare", "mi300x")
    expect_code(page, text("mi300x", "assembly"), 1)
    expect(page.locator(".fs-marked")).to_have_count(0)
    pick(page, "stage", "ttgir")
    expect_code(page, text("mi300x", "ttgir"), 1)
    assert page.locator(".fs-marked").count() > 0


def test_lines_are_numbered_through_long_texts(page: Page) -> None:
    pick(page, "stage", "llir")
    expect_code(page, text("h200", "llir"))
    code(page).evaluate("pre => pre.scrollTo(0, pre.scrollHeight)")
    # Generated content has no text: its width tells of its digits, its place of its line.
    chunks = page.locator(".fs-chunk > span")
    starts = chunks.evaluate_all("all => all.map(e => getComputedStyle(e).counterReset)")
    counts = [chunks.nth(i).locator(".fs-line").count() for i in range(chunks.count())]
    assert starts == [f"fs-line {sum(counts[:i])}" for i in range(len(counts))]
    assert sum(counts) == 1499


def test_the_copy_button_takes_the_text_that_is_shown(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    pick(page, "stage", "ttir")
    expect_code(page, text("h200", "ttir"))
    page.locator(".fs-panels .copybtn").first.click()
    page.wait_for_function("navigator.clipboard.readText().then(text => text.length > 0)")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.strip("\n") == text("h200", "ttir")


def test_the_last_pick_wins_however_slow_the_others_are(page: Page) -> None:
    held: list[Route] = []
    page.route("**/wide-softmax-1.js*", lambda route: held.append(route))  # noqa: PLW0108
    pick(page, "program", "wide-softmax")
    expect(page.get_by_role("status")).to_contain_text("Loading wide-softmax …")
    pick(page, "program", "layernorm-train")
    name = "triton_per_fused_layernorm_train_0"
    expect_code(page, text("h200", "triton", name))
    held[0].continue_()
    page.wait_for_timeout(300)
    expect_code(page, text("h200", "triton", name))


def test_a_file_that_cannot_be_loaded_is_told_and_asked_for_again(
    context: BrowserContext, toy: str
) -> None:
    visit = watched(context, toy)
    page = visit.open("part/gpus.html")
    page.route("**/wide-softmax-1.js*", lambda route: route.abort())
    pick(page, "program", "wide-softmax")
    expect(page.get_by_role("status")).to_contain_text("wide-softmax could not be loaded")
    assert picked(page)["program"] == "softmax"  # what is still shown
    expect_code(page, text("h200", "triton"))
    assert any("wide-softmax-1.js" in complaint for complaint in visit.complaints)
    page.unroute("**/wide-softmax-1.js*")
    pick(page, "program", "wide-softmax")
    expect_code(page, text("h200", "triton", "triton_per_fused_wide_softmax_0"))


def test_it_works_from_a_disk(browser: Browser, html: Path) -> None:
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    for path in ("part/gpus.html", "es/part/gpus.html"):
        page.goto(f"{(html / path).as_uri()}#explorer=softmax,a100,sass")
        expect_code(page, text("a100", "sass"))
        pick(page, "program", "layernorm-train")
        expect_code(page, text("a100", "sass", "triton_per_fused_layernorm_train_0"))
        assert page.url.endswith("#explorer=layernorm-train,a100,sass")
    assert errors == []
    context.close()


def test_without_scripts_the_stages_of_the_first_program_can_be_unfolded(
    browser: Browser, toy: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    for path, sentence in (("", "With scripts you can pick"), ("es/", "Con JavaScript puedes")):
        page.goto(f"{toy}{path}part/gpus.html")
        expect(page.locator(".fs-explorer > noscript > p")).to_contain_text(sentence)
        for control in page.locator("[data-pick]").all():
            expect(control).to_be_hidden()
        panels = page.locator(".fs-panel:visible")
        expect(panels).to_have_count(8)
        for panel, stage in zip(panels.all(), gpus.stages_of("nvidia"), strict=True):
            if stage != "triton":
                expect(panel.locator("pre")).to_be_hidden()
                panel.locator("summary").click()
            expect(panel.locator("pre")).to_be_visible()
            assert (panel.locator("pre").text_content() or "").strip("\n") == text("h200", stage)
        expect(page.locator(".fs-resources table")).to_be_visible()
    context.close()


def test_the_page_never_scrolls_sideways(browser: Browser, toy: str) -> None:
    for width in (360, 800, 1000, 1200, 1280, 1920):
        is_phone = width < 600
        context = browser.new_context(viewport={"width": width, "height": 800}, is_mobile=is_phone)
        address = f"{toy}es/part/gpus.html#explorer=layernorm-train,b200+mi300x,llir,3"
        page = context.new_page()
        page.goto(address)
        for i, gpu in enumerate(("b200", "mi300x")):
            expect_code(page, text(gpu, "llir", "triton_per_fused_layernorm_train_2"), i)
        measure = "document.documentElement.scrollWidth"
        assert page.evaluate(measure) == width
        left, right = (code(page, i).bounding_box() for i in (0, 1))
        assert left and right
        assert (left["x"] == right["x"]) == is_phone  # below one another where there is no room
        pick(page, "compare", "")
        expect(code(page, 1)).to_be_hidden()
        assert page.evaluate(measure) == width
        page.evaluate("document.querySelector('.fs-explorer').style.width = '200vw'")
        assert page.evaluate(measure) > width  # the measure can fail
        context.close()


def test_a_phone_shows_the_column_of_the_gpu_that_is_picked(browser: Browser, toy: str) -> None:
    context = browser.new_context(viewport={"width": 360, "height": 740}, is_mobile=True)
    page = watched(context, toy).open("part/gpus.html#explorer=softmax,mi300x,aten")
    expect_code(page, text("mi300x", "aten"))
    head = page.locator(".fs-resources thead .fs-picked")
    region = page.locator(".fs-resources .fs-scroll").bounding_box()
    box = head.bounding_box()
    assert region and box and box["x"] + box["width"] <= region["x"] + region["width"] + 1
    page.locator(".fs-resources .fs-scroll").evaluate("region => region.scrollTo(0, 0)")
    box = head.bounding_box()
    assert box and box["x"] > region["x"] + region["width"] - box["width"]  # it was out of sight
    context.close()


# The lowest contrast of any text in the explorer with what lies behind it, and the text.
CONTRAST = """() => {
  const channels = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = channels(colour).slice(0, 3).map(v => {
      v /= 255;
      return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = element => {
    const colour = getComputedStyle(element).backgroundColor;
    const alpha = channels(colour)[3] ?? 1;
    return alpha === 1 ? colour : ground(element.parentElement);
  };
  let worst = [21, ''];
  const root = document.querySelector('.fs-explorer');
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest('script, noscript, svg')) continue;
    const pair = [light(getComputedStyle(element).color), light(ground(element))];
    const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
    if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 200)];
  }
  return worst;
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(browser: Browser, toy: str, theme: str) -> None:
    context = browser.new_context(color_scheme="dark" if theme == "dark" else "light")
    visit = watched(context, toy)
    page = visit.open("part/gpus.html#explorer=softmax,h200+mi300x,triton")
    expect(page.locator("html")).to_have_attribute("data-theme", theme)
    for stage in gpus.stages_of("amd"):
        pick(page, "stage", stage)
        expect_code(page, text("mi300x", stage), 1)
        page.mouse.move(0, 0)
        ratio, element = page.evaluate(CONTRAST)
        assert ratio >= 4.5, (stage, element)
    page.evaluate("document.querySelector('.fs-about').style.color = '#777777'")
    assert page.evaluate(CONTRAST)[0] < 4.5  # the measure can fail
    context.close()
