"""The cheat sheet's tables: what a reader wants, and the line that gets it."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.recipes.records import Recipe, Setting
from fuseshard.distributed.recipes.records import RankRecipe
from fuseshard.show.chapters.cheatsheet.ranks import WANTS_OF_RANKS
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

WANTS: dict[str, Word] = {
    "function": word("Compile a function; the first call does it"),
    "module": word("Compile a module in place: the names in its state dict stay as they are"),
    "one-graph": word("Refuse graph breaks: one graph or an error"),
    "leave-out": word("Keep a function out of every graph"),
    "am-i-compiled": word("Ask whether this code is being compiled right now"),
    "switch-off": word("Run everything in eager mode for a while (as a `with` block)"),
    "forget": word("Throw away all compiled code of this process"),
    "count-graphs": word("Read how many graphs were captured so far: if it doesn't grow, none was"),
    "count-breaks": word("Count graphs and breaks, with reasons: `report.break_reasons`"),
    "elementwise-if": word("Choose element by element"),
    "branch": word("Branch on the value of a tensor inside the graph"),
    "item": word("Take `.item()` into the graph (as a `with` block)"),
    "print": word("Keep `print` from breaking the graph: it runs at the end (as a `with` block)"),
    "error-here": word("Make a graph break an error in one stretch of code (as a `with` block)"),
    "mark": word("Say beforehand that a size will vary"),
    "unbacked": word("Say so with one graph for sizes 0 and 1 as well"),
    "dynamic": word("Make all sizes symbols from the first call on"),
    "static": word("Compile each shape for itself"),
    "no-recompile": word("Make a recompilation an error, once everything has warmed up"),
    "limit": word("Change how many versions of a function are kept"),
    "loss": word("Compile forward and loss together; `backward` is called outside"),
    "optimizer": word("Compile the optimizer's step"),
    "tensor-rate": word("Let a scheduler change the learning rate without a recompilation"),
    "fused": word("Update all parameters in one kernel, without compiling"),
    "budget": word("Keep fewer activations and compute more of them again"),
    "modes": word("List what each mode switches"),
    "mode": word("Pick a mode"),
    "options": word("Set single options instead of a mode"),
    "artifacts": word("Take the caches along to another process or machine"),
    "bring-artifacts": word("Bring saved caches in; the data may come from a file"),
    "region": word("Compile a repeated block once instead of the whole model"),
    "export": word("Export the whole program, for use without `torch.compile`"),
    "first-half": word("Leave Inductor out: is Dynamo or AOTAutograd to blame?"),
    "only-dynamo": word("Leave AOTAutograd out as well: is Dynamo to blame?"),
    "written-code": word("Read the code that Inductor wrote"),
    "roundings": word("Round low precision after each operation, as eager mode does"),
    "repeatable": word("Draw the random numbers that eager mode draws"),
}
"""what each recipe is for, by its id"""

MEANINGS: dict[str, Word] = {
    "recompile_limit": word("compiled versions of one function; one more runs without compiling"),
    "accumulated_recompile_limit": word("the same, for all versions that share their code"),
    "capture_scalar_outputs": word("whether `.item()` goes into the graph"),
    "suppress_errors": word("whether an error of the compiler falls back to eager mode"),
    "specialize_float": word("whether a Python float is burned in as a constant"),
    "fx_graph_cache": word("whether compiled graphs are kept on disk"),
    "max_autotune": word("whether several kernels are timed while compiling"),
    "fallback_random": word("whether random numbers come from eager mode's generator"),
    "activation_memory_budget": word("share of the activations that may be kept"),
}
"""what each setting decides, by its last name"""


def recipes_table(recipes: Sequence[Recipe] | Sequence[RankRecipe], name: str) -> Table:
    """Show what is wanted and what to write.

    Args:
        recipes: recipes that ran while the page was built.
        name: of the section they belong to; part of the table's id.
    """
    table = TableBuilder(f"recipes-{name}", word("Each line ran while this page was built."))
    wants = WANTS | WANTS_OF_RANKS
    table.texts(word("You want to"), [wants[recipe.id] for recipe in recipes])
    table.code(word("You write"), [recipe.code for recipe in recipes])
    return table.build()


def settings_table(settings: Sequence[Setting]) -> Table:
    """Show settings with the values that this torch starts with.

    Args:
        settings: read from torch while the page was built.
    """
    table = TableBuilder("settings", word("What this release of PyTorch starts with."))
    table.code(word("Setting"), [setting.path for setting in settings])
    table.texts(word("Value"), [plain(setting.value) for setting in settings])
    names = [setting.path.rpartition(".")[2] for setting in settings]
    table.texts(word("It decides"), [MEANINGS[name] for name in names])
    return table.build()
