"""The cheat sheet's lines for two ranks. Oracle: one process with the whole batch, and torchrun."""

import pytest

from fuseshard.distributed.launcher import DistributedError
from fuseshard.distributed.recipes import run, shelf
from fuseshard.distributed.recipes.records import RankRecipe, RankRecipeError
from fuseshard.show.chapters.cheatsheet.ranks import WANTS_OF_RANKS
from fuseshard.show.chapters.cheatsheet.tables import WANTS

pytestmark = pytest.mark.ranks


@pytest.mark.parametrize("section", sorted(shelf.SECTIONS))
def test_a_section_proves_its_lines_on_both_ranks(section: str) -> None:
    assert run.run_section(section) == shelf.SECTIONS[section]


def test_a_line_that_runs_but_does_something_else_is_named_and_quoted() -> None:
    (honest,) = (recipe for recipe in shelf.SECTIONS["groups"] if recipe.id == "mean")
    lying = RankRecipe("mean", "dist.all_reduce(x, op=dist.ReduceOp.MAX)", honest.proof)
    with pytest.raises(DistributedError, match=r"recipe 'mean': dist\.all_reduce.*AssertionError"):
        run.run_recipes((lying,))


def test_a_model_that_is_not_wrapped_has_other_gradients() -> None:
    (honest,) = (recipe for recipe in shelf.SECTIONS["replicas"] if recipe.id == "ddp")
    bare = RankRecipe("ddp", "model = model", honest.proof)
    with pytest.raises(DistributedError, match="recipe 'ddp': model = model failed on rank"):
        run.run_recipes((bare,))


def test_each_line_has_a_purpose_and_each_purpose_a_line() -> None:
    ids = [recipe.id for recipes in shelf.SECTIONS.values() for recipe in recipes]
    assert sorted(ids) == sorted(WANTS_OF_RANKS)
    assert not set(ids) & set(WANTS)


def test_a_section_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="section is 'ranks', must be one of groups, replicas"):
        run.run_section("ranks")


def test_torchrun_reads_the_launches_and_refuses_an_option_it_does_not_know(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run.parsed_launches() == shelf.LAUNCHES
    monkeypatch.setattr(run, "LAUNCHES", ("torchrun --nproc-per-host 2 train.py",))
    with pytest.raises(RankRecipeError, match=r"launch 'torchrun --nproc-per-host 2 train\.py'"):
        run.parsed_launches()
