"""The cheat sheet's lines. Oracle: the function itself in eager mode, and Dynamo's count of graphs.

Every section is run and proved when the page is built; here, what must fail fails.
"""

import pytest
import torch._dynamo.config

from fuseshard.compiler.recipes.records import Recipe
from fuseshard.compiler.recipes.run import (
    RecipeError,
    known_logs,
    read_settings,
    run_recipe,
    run_section,
)
from fuseshard.compiler.recipes.shelf import SECTIONS


def test_a_section_proves_its_lines():
    recipes = run_section("breaks")
    assert [recipe.id for recipe in recipes] == [recipe.id for recipe in SECTIONS["breaks"]]


def test_a_line_that_fails_is_named_and_quoted():
    broken = Recipe("gone", "torch.compile_everything()", "pass")
    with pytest.raises(
        RecipeError, match=r"'gone': torch.compile_everything\(\) failed with Attri"
    ):
        run_recipe(broken)


def test_a_line_that_runs_but_does_something_else_is_refused():
    honest = Recipe("abs", "f = torch.abs", "close(f(x), x.abs())")
    run_recipe(honest)
    lying = Recipe("abs", "f = torch.neg", honest.proof)
    with pytest.raises(RecipeError, match=r"'abs': f = torch\.neg failed with AssertionError"):
        run_recipe(lying)


def test_a_proof_that_expects_an_error_fails_without_one():
    harmless = Recipe("quiet", "y = x", "raises(lambda: x + 1)")
    with pytest.raises(RecipeError, match="it ran, must be refused"):
        run_recipe(harmless)


def test_settings_are_read_from_torch():

    found = {setting.path: setting.value for setting in read_settings()}
    assert (
        found["torch._dynamo.config.recompile_limit"] == torch._dynamo.config.recompile_limit == 8
    )


def test_ids_stand_once():
    ids = [recipe.id for recipes in SECTIONS.values() for recipe in recipes]
    assert sorted(set(ids)) == sorted(ids)


def test_a_log_that_torch_does_not_know_is_refused():
    assert known_logs("guards,recompiles") == ("guards", "recompiles")
    with pytest.raises(ValueError, match="guardz"):
        known_logs("guardz")
