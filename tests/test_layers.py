"""Who may import whom. Oracle: the table in codecheck/layers.py, and imports in bare processes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from codecheck import layers, syntax
from codecheck.syntax import Module

MODULES = syntax.package_modules()


def toy(name: str, text: str, *, is_package: bool = False) -> Module:
    return Module(name, Path("__init__.py" if is_package else f"{name}.py"), text)


def test_the_package_keeps_to_the_table() -> None:
    assert len(MODULES) > len(layers.LAYERS)
    found = layers.problems(MODULES)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        (
            "fuseshard.measure.a",
            "import fuseshard.compiler.stages",
            "measure imports fuseshard.com",
        ),
        (
            "fuseshard.models.a",
            "from fuseshard.measure import clock",
            "models imports fuseshard.me",
        ),
        (
            "fuseshard.compiler.a",
            "from fuseshard import distributed",
            "compiler imports fuseshard.d",
        ),
        ("fuseshard.show.a", "from fuseshard.book.render import x", "show imports fuseshard.book"),
        ("fuseshard.palette", "import numpy", "palette imports numpy"),
        ("fuseshard.kernels.a", "import plotly", "kernels imports plotly"),
        ("fuseshard.show.a", "import torch", "show imports torch"),
        ("fuseshard.other.a", "", "layer 'other' isn't in the table"),
        ("fuseshard.models.a", "from . import b", "a relative import"),
        ("fuseshard.models.a", "def f():\n    import json", "imports json inside a function"),
        (
            "fuseshard.show.a",
            "def f():\n    from fuseshard.show.records import x",
            "imports fuseshard.show.records inside a function",
        ),
        ("fuseshard.measure.clock", "import os\nos.environ['A']", "touches the environment"),
        ("fuseshard.measure.clock", "from os import getenv", "touches the environment"),
        ("fuseshard.distributed.a", "import torch._dynamo  # 2.13", "touched in compiler/ only"),
        ("fuseshard.measure.a", "import torch\ntorch._C.x()  # 2.13", "touched in compiler/ only"),
        ("fuseshard.compiler.a", "import torch._dynamo", "has to name the release"),
        (
            "fuseshard.distributed.a",
            "from torch.distributed.x import _f",
            "has to name the release",
        ),
        ("fuseshard.models.a", "import torch\ntorch.manual_seed(0)", "importing the module runs"),
        ("fuseshard.models.a", "for x in []:\n    pass", "importing the module runs a For block"),
    ],
)
def test_a_breach_is_named(name: str, text: str, complaint: str) -> None:
    known = [
        toy("fuseshard.compiler.stages", ""),
        toy("fuseshard.distributed", "", is_package=True),
    ]
    found = layers.problems(
        [*known, toy("fuseshard.measure", "", is_package=True), toy(name, text)]
    )
    assert any(complaint in line for line in found), found


def test_a_package_file_that_holds_code_is_named() -> None:
    found = layers.problems([toy("fuseshard.models", "X = 1", is_package=True)])
    (line,) = found
    assert line.startswith("fuseshard.models:1: a sub-package's __init__.py is empty")


def test_what_the_table_allows_passes() -> None:
    allowed = [
        toy("fuseshard.compiler.a", "# Checked on torch 2.13.\nimport torch._dynamo\n"),
        toy("fuseshard.distributed.launcher", "import os\nCOPY = os.environ\n"),
        toy("fuseshard.show.a", "def f():\n    import plotly\n"),
        toy("fuseshard.compiler.b", "from fuseshard.measure.records import Timing\n"),
        toy("fuseshard.measure.records", "import json\n"),
        toy("fuseshard.show.b", "from fuseshard.measure.records import Timing\n"),
    ]
    assert layers.problems(allowed) == []


def test_a_chain_that_ends_in_torch_is_spelt_out() -> None:
    modules = [
        toy("fuseshard.show.a", "from fuseshard.measure.records import x\n"),
        toy("fuseshard.measure.records", "from fuseshard.measure.clock import y\n"),
        toy("fuseshard.measure.clock", "import torch\n"),
    ]
    found = layers.problems(modules)
    chain = "fuseshard.show.a -> fuseshard.measure.records -> fuseshard.measure.clock -> torch"
    assert any(chain in line for line in found), found


def test_an_import_for_types_only_is_no_chain_to_torch() -> None:
    guarded = "if TYPE_CHECKING:\n    from fuseshard.measure.c import C\n"
    text = f"from typing import TYPE_CHECKING\n{guarded}"
    modules = [toy("fuseshard.show.a", text), toy("fuseshard.measure.c", "import torch\n")]
    assert layers.problems(modules) == []


def test_show_and_book_load_without_torch() -> None:
    """The static chain sees our modules only; a real process sees what others import as well."""
    names = [m.name for m in MODULES if layers.layer_of(m.name) in {"show", "book", "palette"}]
    assert names
    run_bare(names, "'torch' not in sys.modules")


def test_importing_everything_changes_nothing() -> None:
    """Positive control: the process did load torch."""
    names = [m.name for m in MODULES if not m.name.endswith("__main__")]
    check = (
        "'torch' in sys.modules and before == (dict(os.environ), threading.active_count(), "
        "builtins.print, sorted(os.listdir('.')))"
    )
    # Importing Inductor sets TORCHINDUCTOR_CACHE_DIR: that is torch's doing, so it comes first.
    run_bare(names, check, first="import torch._inductor.graph")


def run_bare(names: list[str], check: str, first: str = "") -> None:
    """Import modules in a process of their own, which prints nothing, and check a condition."""
    program = (
        "import builtins, importlib, os, sys, threading\n"
        f"{first}\n"
        "before = (dict(os.environ), threading.active_count(), builtins.print, "
        "sorted(os.listdir('.')))\n"
        f"for name in {names!r}: importlib.import_module(name)\n"
        f"assert {check}, 'an import left something behind'\n"
    )
    command = [sys.executable, "-c", program]
    # Torch's CUDA build warns of a toolkit without a GPU.
    env = {**os.environ, "TORCH_LOGS": "-torch.utils.cpp_extension"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=100, env=env
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout + done.stderr == ""
