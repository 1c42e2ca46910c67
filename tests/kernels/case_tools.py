"""What the scripts of this folder share: inputs, units of rounding, kernels with one mistake."""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

U = 2.0**-24
"""half the distance from 1 to the next float32: relative error of one operation"""
STORE = {
    torch.float32: U,
    torch.float16: 2.0**-11,
    # Twice that of rounding to nearest, as a GPU does: Triton's interpreter cuts bits off.
    torch.bfloat16: 2.0**-7,
}
"""relative error of a result's storage"""
TINY = {torch.float32: 2.0**-149, torch.float16: 2.0**-24, torch.bfloat16: 2.0**-133}
"""its absolute error where numbers are too small for their full length"""
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in STORE}


def drawn(*shape: int, dtype: torch.dtype, seed: int, spread: float = 1.0) -> torch.Tensor:
    """Draw normal numbers that the type can hold."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(*shape, generator=generator) * spread).to(dtype)


def excess(got: torch.Tensor, expected: torch.Tensor, bound: torch.Tensor) -> float:
    """The largest error in units of its bound; infinite where something isn't a number."""
    ratio = (got.double() - expected).abs() / bound
    return float("inf") if ratio.isnan().any() else ratio.max().item()


def with_mistake(module: ModuleType, right: str, wrong: str) -> ModuleType:
    """Load a module again with one piece of its text replaced, from a file as Triton needs it."""
    text = Path(str(module.__file__)).read_text("utf-8")
    assert text.count(right) == 1, (right, text.count(right))
    return loaded(text.replace(right, wrong))


def loaded(text: str) -> ModuleType:
    """Load a module from a new file in the working folder, which is a temporary one."""
    name = f"mistake_{len(list(Path.cwd().glob('mistake_*.py')))}"
    path = Path.cwd() / f"{name}.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def refusal(call: Callable[[], Any]) -> str:
    """The message with which a call refuses its arguments."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return "accepted"


def report(found: Any) -> None:
    """Hand the results over."""
    print(json.dumps(found))
