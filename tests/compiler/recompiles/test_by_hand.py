"""The guard cache by hand. Oracle: torch.compile's, call by call and guard by guard."""

import random

import pytest
import torch

from fuseshard.compiler.recompiles.by_hand import LIMIT, GuardCache
from fuseshard.compiler.recompiles.recorder import Recorder
from fuseshard.compiler.recompiles.scenarios import rows

SIZES = ((0, 1, 2, 3), (2, 3, 4, 5, 6, 7, 8, 9), (1, 4, 5))


def one(x: torch.Tensor) -> torch.Tensor:
    return 2 * x


def with_number(x: torch.Tensor, n: int) -> torch.Tensor:
    return n * x


def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return x.sum() + y.sum()


def random_calls(rng: random.Random, fn: object, num_calls: int) -> list[tuple[object, ...]]:
    """Draw arguments: few sizes, so that they come back; now and then another dtype or a grad."""
    sizes = rng.choice(SIZES)

    def tensor() -> torch.Tensor:
        # The last size is never 0: strides would tell, and the cache by hand knows none.
        shape = (rng.choice(sizes), max(1, rng.choice(sizes)))
        dtype = rng.choice([torch.float32] * 4 + [torch.float64])
        return torch.ones(shape, dtype=dtype, requires_grad=rng.random() < 0.1)

    second = {one: list, with_number: lambda: [rng.choice([0, 1, 3, 4])], both: lambda: [tensor()]}
    return [(tensor(), *second[fn]()) for _ in range(num_calls)]


@pytest.mark.parametrize("seed", range(9))
def test_random_calls_end_as_with_torch(seed: int) -> None:
    rng = random.Random(seed)
    fn = (one, with_number, both)[seed % 3]
    dynamic = (None, True, False)[seed // 3]
    ours, torchs = GuardCache(fn, dynamic=dynamic), Recorder(fn, dynamic=dynamic)
    for args in random_calls(rng, fn, 9):
        assert torch.equal(ours(*args), torchs(*args))
    assert ours.history.decisions == torchs.history.decisions


def test_the_limit_is_torchs() -> None:
    assert torch.compiler.config.recompile_limit == LIMIT


def test_a_cache_without_the_rule_of_zero_and_one_differs() -> None:
    """Must-fail twin: the comparison above would see the missing rule."""
    ours = GuardCache(one, dynamic=True, specialise_below=0)
    torchs = Recorder(one, dynamic=True)
    for length in (5, 7, 1):
        ours(rows(length))
        torchs(rows(length))
    assert ours.history.decisions != torchs.history.decisions
    assert ours.history.decisions[:2] == torchs.history.decisions[:2]


def test_the_entry_used_last_is_tried_first() -> None:
    cache = GuardCache(one, dynamic=False)
    for length in (2, 3, 4, 2, 5):
        cache(rows(length))
    assert [wrong.entry for wrong in cache.history.calls[-1].failures] == [0, 2, 1]


def test_past_the_limit_nobody_asks_twice() -> None:
    cache = GuardCache(one, dynamic=False, limit=1)
    for length in (2, 3, 4, 2):
        cache(rows(length))
    assert [call.state for call in cache.history.calls] == ["compile", "eager", "eager", "hit"]
    assert [len(call.failures) for call in cache.history.calls] == [0, 1, 0, 0]
