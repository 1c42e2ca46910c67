"""Checks of the chapter on Triton: the worked answers of the page pass, listed wrong ones don't.

Oracles: Triton's compiler for the widths of loads, the occupancy calculator, the data sheet's
figures, torch.log_softmax for kernels.
"""

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from fuseshard.checks.compile.triton import (
    WIDTH_CASES,
    check_log_softmax,
    check_occupancy,
    check_ridge,
    check_widths,
    widest_load,
)
from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu import interpret_triton
from fuseshard.compiler.gpu_code.store import shared_store
from fuseshard.compiler.gpu_code.worker.workers import interpreter, writer
from fuseshard.compiler.gpu_study.records import Dtype
from fuseshard.compiler.gpu_study.tiles import row_kernel
from fuseshard.kernels.softmax import softmax_kernel

PAGE = Path(__file__).parents[3] / "book" / "compile" / "triton.md"
TYPES: dict[int, Dtype] = {4: "float32", 2: "bfloat16"}


@pytest.fixture(scope="module", autouse=True)
def workers() -> Iterator[None]:
    """Start them, which takes seconds, before the tests; leave none behind."""
    row_kernel(softmax_kernel, rows=1, columns=16).compiled("h200", 4)
    interpret_triton(torch.neg, torch.ones(1))
    yield
    shared_store.cache_clear()
    for worker in (writer(target("h200")), interpreter()):
        worker.close()


def worked(name: str) -> str:
    """Return the worked answer of the page that defines a name."""
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        if re.search(rf"def {name}\b", code):
            return str(code)
    raise AssertionError(f"no worked answer defines {name}")


def module_of(code: str, folder: Path, name: str) -> ModuleType:
    """Import code from a file, since Triton reads a kernel's source."""
    file = folder / f"{name}.py"
    file.write_text(code, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.task("triton-widths")
def test_the_formula_for_widths_is_what_the_compiler_does() -> None:
    for columns, item_bytes in WIDTH_CASES:
        kernel = row_kernel(softmax_kernel, rows=1, columns=columns, dtype=TYPES[item_bytes])
        found = kernel.compiled("h200", 4).resources.load_bits
        assert max(found) == widest_load(columns, item_bytes)


@pytest.mark.task("triton-widths")
def test_the_worked_formula_for_widths_is_right(tmp_path: Path) -> None:
    answer = module_of(worked("widest_load"), tmp_path, "widths")
    assert check_widths(answer.widest_load).state == "right"


@pytest.mark.task("triton-widths")
@pytest.mark.parametrize(
    "formula",
    [
        lambda columns, item_bytes: 128,
        lambda columns, item_bytes: 128 if columns * item_bytes % 16 == 0 else 8 * item_bytes,
        lambda columns, item_bytes: 8 * item_bytes * (4 if columns % 4 == 0 else 1),
        lambda columns, item_bytes: 8 * (columns * item_bytes & -(columns * item_bytes)),
        lambda columns, item_bytes: min(128, 8 * item_bytes * (columns & -columns)) / 8,
    ],
)
def test_wrong_formulas_for_widths_are_rejected(formula) -> None:
    assert check_widths(formula).state == "wrong"


@pytest.mark.task("triton-occupancy")
def test_the_worked_occupancy_is_right(tmp_path: Path) -> None:
    answer = module_of(worked("occupancy"), tmp_path, "warps")
    assert check_occupancy(answer.occupancy).state == "right"


def warps_of(blocks: int, num_warps: int) -> float:
    return blocks * num_warps / 64


@pytest.mark.task("triton-occupancy")
@pytest.mark.parametrize(
    "formula",
    [
        # registers not rounded up
        lambda r, w: warps_of(min(4 * (16384 // (32 * r)) // w, 64 // w, 32), w),
        # no limit on blocks
        lambda r, w: warps_of(min(4 * (16384 // (-(-32 * r // 256) * 256)) // w, 64 // w), w),
        # all schedulers share their registers
        lambda r, w: warps_of(min(65536 // (-(-32 * r // 256) * 256) // w, 64 // w, 32), w),
        # parts of blocks
        lambda r, w: min(4 * (16384 // (-(-32 * r // 256) * 256)), 64, 32 * w) / 64,
        # no limit on warps
        lambda r, w: warps_of(min(4 * (16384 // (-(-32 * r // 256) * 256)) // w, 32), w),
    ],
)
def test_wrong_occupancies_are_rejected(formula) -> None:
    assert check_occupancy(formula).state == "wrong"


@pytest.mark.task("triton-ridge")
def test_the_worked_size_is_right() -> None:
    (size,) = re.findall(r"So n is about (\d+)\.", PAGE.read_text(encoding="utf-8"))
    assert check_ridge(int(size)).state == "right"


@pytest.mark.task("triton-ridge")
@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        (309, "two for each of them"),
        (1237, "a multiplication and an addition"),
        (206, "at which n are they"),
        (41.9, "tensor cores"),
        (700, "a little too large"),
        ("618", "needs one number"),
    ],
)
def test_wrong_sizes_get_a_hint(answer: object, hint: str) -> None:
    check = check_ridge(answer)
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The worked kernel, and the same with one mistake each."""
    folder = tmp_path_factory.mktemp("kernels")
    right = worked("log_softmax_kernel")
    body = right[right.index("    rows =") :]
    edits = {
        "right": (body, body),
        "dots": (body, "    ...\n"),
        "plain softmax": ("x - tl.log(total)", "tl.exp(x) / total"),
        "log of each": ("x - tl.log(total)", "tl.log(tl.exp(x) / total)"),
        "no maximum": ("x = x - tl.max", "y = x - tl.max"),
        "no mask at the store": ("x - tl.log(total), inside", "x - tl.log(total)"),
        "no mask over rows": ("(rows < num_rows) & ", ""),
        "no mask at the load": (', inside, other=-float("inf")', ""),
        "base 2": ("tl.log(total)", "tl.log2(total)"),
        "misspelt": ("tl.log(total)", "tl.lgo(total)"),
    }
    made = {}
    for number, (name, (old, new)) in enumerate(edits.items()):
        assert old in right
        module = module_of(right.replace(old, new), folder, f"kernel_{number}")
        made[name] = module.log_softmax_kernel
    return made


@pytest.mark.task("triton-log-softmax")
def test_the_worked_kernel_is_right_and_dots_are_open(kernels: dict[str, Any]) -> None:
    assert check_log_softmax(kernels["right"]).state == "right"
    assert check_log_softmax(kernels["dots"]).state == "open"


@pytest.mark.task("triton-log-softmax")
@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("plain softmax", "This is the softmax"),
        ("log of each", "an exponential was 0"),
        ("no maximum", "subtract the maximum"),
        ("no mask at the store", "mask the store"),
        ("no mask over rows", "mask the store"),
        ("no mask at the load", "other numbers"),
        ("base 2", "other numbers"),
        ("misspelt", "doesn't run"),
    ],
)
def test_wrong_kernels_get_a_hint(kernels: dict[str, Any], name: str, hint: str) -> None:
    check = check_log_softmax(kernels[name])
    assert check.state == "wrong"
    assert hint in str(check.message)


@pytest.mark.task("triton-log-softmax")
def test_what_is_no_kernel_gets_a_hint() -> None:
    assert "triton.jit" in str(check_log_softmax(len).message)


@pytest.mark.parametrize("check", [check_log_softmax, check_occupancy, check_ridge, check_widths])
def test_dots_are_an_open_question(check) -> None:
    assert check(...).state == "open"
