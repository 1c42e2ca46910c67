"""The cheat sheet's tables: every recipe and setting has its words. Oracle: the shelf itself."""

from fuseshard.compiler.recipes.records import Setting
from fuseshard.compiler.recipes.shelf import SECTIONS, SETTINGS
from fuseshard.show.chapters.cheatsheet.tables import (
    MEANINGS,
    WANTS,
    recipes_table,
    settings_table,
)


def test_every_recipe_says_what_it_is_for():
    ids = [recipe.id for recipes in SECTIONS.values() for recipe in recipes]
    assert sorted(WANTS) == sorted(ids)


def test_a_row_shows_the_line_that_ran():
    table = recipes_table(SECTIONS["start"], "start")
    assert table.name == "recipes-start"
    assert [row[1].code for row in table.rows] == [r.code for r in SECTIONS["start"]]


def test_every_setting_says_what_it_decides():
    assert sorted(MEANINGS) == sorted(path.rpartition(".")[2] for path in SETTINGS)
    table = settings_table([Setting("torch._dynamo.config.recompile_limit", 8)])
    assert [str(cell) for cell in table.rows[0][1:2]] == ["8"]
