"""How these tests run a script of this folder in a process of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuseshard.compiler.child import run_script

HERE = Path(__file__).parent


def run_cases(module: str, **variables: str) -> Any:
    """Run `main` of a module of this folder, and read what it reports."""
    script = f"import sys; sys.path.insert(0, {str(HERE)!r}); import {module}; {module}.main()"
    done = run_script(script, variables=variables)
    assert done.exit_code == 0, done.error
    return json.loads(done.output)


@pytest.fixture(scope="session")
def interpreted() -> Callable[[str], Any]:
    """Runs cases with Triton's interpreter, on the CPU."""
    return lambda module: run_cases(module, TRITON_INTERPRET="1")


@pytest.fixture(scope="session")
def compiled() -> Callable[[str], Any]:
    """Runs cases with Triton's compiler."""
    return lambda module: run_cases(module, TRITON_INTERPRET="0")
