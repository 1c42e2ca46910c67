"""Run the cheat sheet: a line that no longer does what the sheet says fails here."""

import importlib
import logging
from typing import Any

import torch

# Private modules that recipes and settings name, checked on torch 2.13.
import torch._dynamo
import torch._functorch.config
import torch._inductor.utils
import torch._logging._internal
from torch import nn

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.recipes.records import Recipe, Setting
from fuseshard.compiler.recipes.shelf import SECTIONS, SETTINGS

SETTING = """
def f(x):
    return (x.sin() + 1).relu()


def branches(x):
    y = x.sin()
    if y.sum() > 0:
        y = y + 1
    return y.cos()


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x).tanh()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(3))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


torch.manual_seed(0)
x = torch.randn(5, 8)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
"""What each recipe starts from: two functions, an input, a model and its optimizer. The model has
a class of its own: one put together from torch's classes alone would not be compiled in place."""


class RecipeError(AssertionError):
    """A line of the cheat sheet doesn't do what the sheet says."""


def run_section(section: str) -> tuple[Recipe, ...]:
    """Run and prove the recipes of one section.

    Args:
        section: one of the keys of `shelf.SECTIONS`.

    Returns:
        The recipes, all proved in this process.

    Raises:
        RecipeError: a recipe failed; the message names it and quotes its line.
    """
    recipes = SECTIONS[section]
    for recipe in recipes:
        run_recipe(recipe)
    return recipes


def run_recipe(recipe: Recipe) -> None:
    """Run one recipe in names of its own, then its proof.

    Args:
        recipe: the line and what has to hold after it.

    Raises:
        RecipeError: the line or the proof raised.
    """
    names: dict[str, Any] = {
        "torch": torch,
        "nn": nn,
        "close": torch.testing.assert_close,
        "graphs": graphs_captured,
        "raises": _raises,
    }
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)  # limits and optimizers are warned of; the proof judges
    try:
        for part in (SETTING, recipe.code, recipe.proof):
            exec(part, names)
    except Exception as error:
        raise RecipeError(
            f"recipe {recipe.id!r}: {recipe.code} failed with {type(error).__name__}: {error}; "
            "the sheet must show only lines that work on this release; correct the recipe"
        ) from error
    finally:
        torch.compiler.set_stance("default")
        logging.disable(before)


def read_settings() -> tuple[Setting, ...]:
    """Read the settings of the cheat sheet from this torch.

    Returns:
        One setting a path of `shelf.SETTINGS`.
    """
    found = []
    for path in SETTINGS:
        module, _, name = path.rpartition(".")
        found.append(Setting(path, getattr(importlib.import_module(module), name)))
    return tuple(found)


def known_logs(names: str) -> tuple[str, ...]:
    """Parse a value of TORCH_LOGS as torch does at import.

    Args:
        names: logs and artifacts, separated by commas.

    Returns:
        The artifacts among them, sorted.

    Raises:
        ValueError: torch knows no log or artifact of one of the names.
    """
    parsed = torch._logging._internal._parse_log_settings(names)
    return tuple(sorted(parsed.artifact_names))


def _raises(call: Any) -> None:
    """Require that a call fails in Dynamo."""
    try:
        call()
    except (torch._dynamo.exc.TorchDynamoException, RuntimeError):
        return
    raise AssertionError("it ran, must be refused")
