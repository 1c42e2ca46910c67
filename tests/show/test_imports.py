"""What importing costs, in a process of its own: no torch, and plotly only to draw."""

import subprocess
import sys
from pathlib import Path

import pytest

import fuseshard.show

MODULES = sorted(
    path.relative_to(Path(fuseshard.show.__path__[0])).with_suffix("").as_posix().replace("/", ".")
    for path in Path(fuseshard.show.__path__[0]).rglob("*.py")
    if path.name != "__init__.py"
)
REPORT = "import sys; print(*sorted({'torch', 'plotly', 'sphinx'} & set(sys.modules)))"


def loaded_after(code):
    command = [sys.executable, "-c", f"{code}\n{REPORT}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout.split()


def test_no_module_of_show_loads_torch_or_plotly():
    assert {"words", "records", "figures", "charts.sweep"} <= set(MODULES)
    code = "\n".join(f"import fuseshard.show.{module}" for module in MODULES)
    assert loaded_after(code) == []


@pytest.mark.parametrize("module", ["fuseshard.palette", "fuseshard.checks.common"])
def test_palette_and_checks_need_neither(module):
    assert loaded_after(f"import {module}") == []


def test_the_report_would_show_what_is_loaded():
    assert loaded_after("import plotly") == ["plotly"]
