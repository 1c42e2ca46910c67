"""A build with fresh doctrees, warnings being errors. Oracle: Sphinx's count and exit status."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.site.site import Site, jb_build

pytestmark = pytest.mark.build


@pytest.mark.timeout(300)
def test_a_fresh_build_warns_of_nothing_and_executes_nothing(site: Site, tmp_path: Path) -> None:
    """An incremental build doesn't repeat the warnings of pages that it doesn't read again."""
    build = tmp_path / "_build"
    shutil.copytree(site.build / ".jupyter_cache", build / ".jupyter_cache")
    done = jb_build("-W", "--keep-going", "--path-output", str(tmp_path))
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-8000:]
    assert [line for line in said.splitlines() if "WARNING" in line or "ERROR" in line] == []
    timings = json.loads((build / "timings.json").read_text("utf-8"))
    assert {page["execution"] for page in timings["en"]["pages"].values()} == {"cached"}
    assert {page["execution"] for page in timings["es"]["pages"].values()} == {""}
    assert (build / "html" / "es" / "index.html").is_file()
