"""What a page's key covers; oracle: a package written for the test, changed one file at a time."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fuseshard.book.run import digest
from fuseshard.book.run.digest import page_key, reachable, versions
from fuseshard.measure.provenance import visible_gpus

FILES = {
    "__init__.py": "",
    "direct.py": "from digestkit.sub import through\n",
    "sub/__init__.py": "",
    "sub/through.py": "from . import beside\n\n\ndef late():\n    import digestkit.lazy\n",
    "sub/beside.py": "WORKER = 'digestkit.spawned'\n",
    "lazy.py": "",
    "spawned.py": "",
    "unused.py": "",
    "recordings/gpu.json": "{}",
    "locale/words.json": "{}",
}
CELL = "import torch\nfrom digestkit.direct import through\n"


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of which one page reaches all but `unused.py`."""
    root = tmp_path / "digestkit"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    forget()
    yield root
    forget()


def forget() -> None:
    """Do as if another build started."""
    digest._package_root.cache_clear()
    digest._content.cache_clear()


def test_imports_are_followed_through_the_package(kit: Path) -> None:
    found = reachable(["digestkit", "digestkit.direct"], ["digestkit"])
    assert sorted(found) == [
        "digestkit",
        "digestkit.direct",
        "digestkit.lazy",
        "digestkit.spawned",
        "digestkit.sub",
        "digestkit.sub.beside",
        "digestkit.sub.through",
    ]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("direct.py", True),
        ("sub/beside.py", True),
        ("sub/__init__.py", True),
        ("lazy.py", True),
        ("spawned.py", True),
        ("recordings/gpu.json", True),
        ("unused.py", False),
        ("locale/words.json", False),
    ],
)
def test_a_key_changes_with_what_the_page_reaches(kit: Path, name: str, counts: bool) -> None:
    before = page_key([CELL], ["digestkit"])
    file = kit / name
    file.write_text(file.read_text("utf-8") + " \n", "utf-8")
    assert page_key([CELL], ["digestkit"]) == before  # steady while a build runs
    forget()
    assert (page_key([CELL], ["digestkit"]) != before) == counts


def test_a_page_without_the_package_depends_on_versions_alone(kit: Path) -> None:
    before = page_key(["import math"], ["digestkit"])
    (kit / "recordings/gpu.json").write_text("[]", "utf-8")
    (kit / "direct.py").write_text("", "utf-8")
    forget()
    assert page_key(["import math"], ["digestkit"]) == before
    assert page_key(["import math"], ["digestkit"], {"LC_ALL": "C"}) != before


RECORDED = "from fuseshard.measure import experiments\n"
ELSEWHERE = "from fuseshard import palette\n"


def test_a_readers_file_counts_for_the_pages_that_show_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keys() -> tuple[str, str]:
        forget()
        recorded, elsewhere = (page_key([cell], ["fuseshard"]) for cell in (RECORDED, ELSEWHERE))
        return recorded, elsewhere

    monkeypatch.delenv("RECORDINGS", raising=False)
    without = keys()
    mine, moved = tmp_path / "mine.json", tmp_path / "moved.json"
    mine.write_text("{}", "utf-8")
    monkeypatch.setenv("RECORDINGS", str(mine))
    with_file = keys()
    assert with_file[0] != without[0]
    assert with_file[1] == without[1]
    mine.rename(moved)
    monkeypatch.setenv("RECORDINGS", str(moved))
    assert keys() == with_file  # its content counts, not its place
    moved.write_text("{} ", "utf-8")
    assert keys()[0] not in (with_file[0], without[0])
    monkeypatch.setenv("RECORDINGS", "")
    assert keys() == without


def test_a_gpu_that_comes_or_goes_counts_for_the_pages_that_show_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def keys() -> list[str]:
        visible_gpus.cache_clear()
        return [page_key([cell], ["fuseshard"]) for cell in (RECORDED, ELSEWHERE)]

    monkeypatch.setenv("PATH", str(tmp_path))
    without = keys()
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho NVIDIA RTX 4090, 570.1\n", "utf-8")
    tool.chmod(0o755)
    with_gpu = keys()
    assert with_gpu[0] != without[0]
    assert with_gpu[1] == without[1]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert keys()[0] != with_gpu[0]
    tool.unlink()
    assert keys() == without
    visible_gpus.cache_clear()


def test_magics_hide_no_import(kit: Path) -> None:
    magic = "%matplotlib inline\nfrom digestkit import direct\n!ls\n"
    before = page_key([magic], ["digestkit"])
    (kit / "direct.py").write_text("X = 1\n", "utf-8")
    forget()
    assert page_key([magic], ["digestkit"]) != before


def test_versions_name_all_that_can_change_a_number() -> None:
    found = versions()
    assert set(found) >= {"python", "torch", "triton", "plotly", "numpy", "compiler", "cpu"}
    assert all(found[name] for name in ("python", "torch", "plotly", "numpy", "cpu"))


def test_the_compiler_is_the_one_that_cxx_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other++"
    other.write_text("#!/bin/sh\necho other 99.1.0\n", "utf-8")
    other.chmod(0o755)
    before = versions.__wrapped__()["compiler"]
    monkeypatch.setenv("CXX", str(other))
    assert versions.__wrapped__()["compiler"] == "other++ 99.1.0" != before


def test_another_version_is_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = page_key(["1"], [])
    other = {**versions(), "torch": "0.0"}
    monkeypatch.setattr(digest, "versions", lambda: other)
    assert page_key(["1"], []) != before
