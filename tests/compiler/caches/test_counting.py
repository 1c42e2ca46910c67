"""What torch's caches said. Oracles: an empty folder, and what must be in it afterwards."""

import logging

import torch

# Private, checked on torch 2.11 and 2.13: an empty cache folder for the time of a block.
from torch._inductor.utils import fresh_inductor_cache

from fuseshard.compiler.caches.clinic import CHANGES, visit
from fuseshard.compiler.caches.counting import dropped_guards, look_up
from fuseshard.measure.clock import warm_compiler


def test_without_inductor_no_cache_is_asked() -> None:
    torch.compiler.reset()
    compiled = torch.compile(lambda x: x + 1, backend="eager")
    found = look_up(lambda: compiled(torch.ones(3)))
    assert (found.dynamo, found.autograd, found.graph) == ("not asked",) * 3
    assert (found.graphs, found.compiler_runs) == (1, 0)
    assert found.first_call_s > 0


def test_an_empty_folder_misses_and_a_filled_one_hits() -> None:
    changes = {change.name: change for change in CHANGES}
    warm_compiler()
    with fresh_inductor_cache():
        missed = visit(changes["nothing"])
        found = visit(changes["weights"])
        renamed = visit(changes["variable"])
    answers = [(case.lookup.autograd, case.lookup.graph) for case in (missed, found, renamed)]
    assert answers == [("miss", "miss"), ("hit", "hit"), ("miss", "hit")]
    assert missed.lookup.compiler_runs >= 1
    assert (found.lookup.compiler_runs, renamed.lookup.compiler_runs) == (0, 0)
    assert missed.key_by_hand == found.key_by_hand != renamed.key_by_hand


def test_dropped_guards_are_kept_and_other_lines_are_not() -> None:
    logger = logging.getLogger("torch._dynamo.guards")
    with dropped_guards() as dropped:
        logger.warning("MODULE_MATCH guard on %s is dropped with caching_precompile=True.", "G")
        logger.debug("something else")
    assert dropped == ["MODULE_MATCH guard on G is dropped with caching_precompile=True."]
    assert not logger.filters
