"""Our own compile cache. Oracles: torch.compile's result, and answers counted by hand.

Two compiles of one kernel each; the rest takes from the folder.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from fuseshard.compiler.caches.by_hand import CompileCache, key_of, key_without_shapes
from fuseshard.compiler.caches.clinic import Renamed
from fuseshard.models.stack import HalfLayer, rows


def first_call(backend: Callable[..., object], model: nn.Module, x: torch.Tensor) -> torch.Tensor:
    torch.compiler.reset()
    result: torch.Tensor = torch.compile(model, backend=backend, dynamic=False)(x)
    return result


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cache")
    cache = CompileCache(folder)
    first_call(cache, HalfLayer(), rows(7))
    assert cache.answers == ["miss"]
    return folder


def test_another_cache_on_the_folder_finds_the_program_and_computes_the_same(filled: Path) -> None:
    cache = CompileCache(filled)
    x = rows(7, seed=3)
    found = first_call(cache, HalfLayer(), x)
    assert cache.answers == ["hit"]
    torch.compiler.reset()
    assert torch.equal(found, torch.compile(HalfLayer(), dynamic=False)(x))
    assert torch.allclose(found, HalfLayer()(x))


def test_other_weights_are_a_hit_and_are_used(filled: Path) -> None:
    cache = CompileCache(filled)
    found = first_call(cache, HalfLayer(seed=7), rows(7))
    assert cache.answers == ["hit"]
    assert torch.allclose(found, HalfLayer(seed=7)(rows(7)))
    assert not torch.allclose(found, HalfLayer()(rows(7)), atol=0.1)


def test_a_key_without_shapes_returns_a_module_for_another_shape(filled: Path) -> None:
    """Must-fail twin: the program runs into the check that Inductor wrote for its own shape."""
    (module,) = filled.glob("*.py")
    careless = filled / "careless"
    careless.mkdir()
    keys: list[str] = []
    first_call(keeping(keys, key_without_shapes), HalfLayer(), rows(7))
    (careless / f"{keys[0]}.py").write_text(module.read_text())
    cache = CompileCache(careless, key_without_shapes)
    with pytest.raises(AssertionError, match="expected size 12==7"):
        first_call(cache, HalfLayer(), rows(12))
    assert cache.answers == ["hit"]


def keeping(keys: list[str], key: Callable[..., str]) -> Callable[..., object]:
    """Make a backend that notes keys and runs the graph as it is."""

    def backend(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable[..., object]:
        keys.append(key(graph, inputs))
        return graph.forward

    return backend


@pytest.mark.parametrize(
    ("model", "x", "is_same"),
    [
        (HalfLayer(), rows(7, seed=5), True),
        (HalfLayer(seed=9), rows(7), True),
        (HalfLayer(), rows(12), False),
        (HalfLayer(), rows(10)[:7].clone(), True),
        (HalfLayer(), rows(10, 7).t(), False),  # the same shape as [7, 10], other strides
        (HalfLayer().double(), rows(7).double(), False),
        (Renamed(), rows(7), False),
        (nn.Sequential(HalfLayer(), HalfLayer()), rows(7), False),
    ],
)
def test_the_key_is_the_same_where_the_code_is(
    model: nn.Module, x: torch.Tensor, is_same: bool
) -> None:
    keys: list[str] = []
    first_call(keeping(keys, key_of), HalfLayer(), rows(7))
    first_call(keeping(keys, key_of), model, x)
    assert (keys[0] == keys[1]) == is_same
