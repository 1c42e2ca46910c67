"""A partitioner by hand. Oracles: torch's own partitioner, networkx, and eager gradients.

Traces small functions of odd sizes, a second each; one test compiles with Inductor.
"""

from collections.abc import Callable
from dataclasses import replace

import networkx
import pytest
import torch

from fuseshard.compiler.joint import examples, mincut
from fuseshard.compiler.joint.graphs import results_of, split
from fuseshard.compiler.joint.records import BACKWARD, SOURCE, Value
from fuseshard.compiler.joint.trace import MIN_CUT, Traced, differences_from_eager, trace
from fuseshard.compiler.stages import capture
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

Fn = Callable[..., torch.Tensor]


def numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).requires_grad_()


def attention_like(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x @ x.t(), dim=-1) @ x


def waist(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Spread one number a row over six columns: what is narrow is worth keeping."""
    return torch.sin(x.sum(dim=-1, keepdim=True) + weight).sum(dim=0)


def block_of(width: int, *, spelled: bool) -> Fn:
    block = MiniGPT(MiniGPTConfig(num_layers=1, width=width)).blocks[0]
    return (examples.spelled_half if spelled else examples.library_half)(block)


CASES: dict[str, tuple[Fn, tuple[torch.Tensor, ...]]] = {
    "rms_norm": (examples.rms_norm, (numbers(7, 12), numbers(12))),
    "wave": (examples.wave, (numbers(7, 5), numbers(5, 3))),
    "ladder": (examples.ladder, (numbers(7, 5),)),
    "attention": (attention_like, (numbers(7, 5),)),
    "waist": (waist, (numbers(7, 12), numbers(1, 6))),
    "library half": (block_of(20, spelled=False), (numbers(3, 7, 20),)),
    "spelled half": (block_of(20, spelled=True), (numbers(7, 20),)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_saved_is_what_torchs_partitioner_saves(name: str) -> None:
    fn, args = CASES[name]
    traced = trace(fn, *args, partitioners={"torch": MIN_CUT, "own": mincut.partitioner()})
    saved = {way: [t.name for t in made.saved] for way, made in traced.halves.items()}
    assert saved["own"] == saved["torch"]


@pytest.mark.parametrize("name", ["rms_norm", "attention", "waist"])
def test_the_gradients_are_those_of_eager_mode(name: str) -> None:
    fn, args = CASES[name]
    exact = [arg.detach().double() for arg in args]
    tangent = torch.linspace(-1, 1, fn(*exact).numel(), dtype=torch.float64).view_as(fn(*exact))
    found = differences_from_eager(
        fn, exact, tangent, cuts={"own": mincut.partitioner()}, by_hand={}
    )
    # float64 keeps 16 digits; gradients here are sums of at most 12 numbers below 100.
    assert found["own"] < 1e-11


def test_inductor_receives_the_same_halves() -> None:
    fn, args = CASES["rms_norm"]
    forward = capture(fn, *args, backward=True).forward[0]
    assert "return (mul_1, primals_1, primals_2, rsqrt)" in forward


@pytest.fixture(scope="module")
def tower() -> Traced:
    stacked, _ = examples.tower(3, width=20)
    return trace(stacked, numbers(7, 20))


def tower_values(traced: Traced) -> list[Value]:
    joint = mincut.merged(traced.joint)
    return mincut.values_of(joint, traced.num_outputs, static=traced.static_inputs)


def test_the_cut_costs_what_networkx_says(tower: Traced) -> None:
    values = tower_values(tower)
    saved, flow = mincut.cheapest_cut(values)
    graph = networkx.DiGraph()
    for (start, end), capacity in mincut.network(values).items():
        graph.add_edge(start, end, capacity=capacity)
    assert flow.amount == networkx.minimum_cut(graph, SOURCE, BACKWARD)[0]
    assert flow.amount == sum(value.capacity for value in values if value.name in saved)


def test_longer_graphs_are_cut_alike_without_the_rule_that_ours_leaves_out() -> None:
    stacked, _ = examples.tower(3, width=20)
    with torch._functorch.config.patch(ban_recompute_used_far_apart=False):
        traced = trace(
            stacked,
            numbers(7, 20),
            partitioners={"torch": MIN_CUT, "own": mincut.partitioner()},
        )
    saved = {way: [t.name for t in made.saved] for way, made in traced.halves.items()}
    assert saved["own"] == saved["torch"]


@pytest.fixture(scope="module")
def narrow() -> list[Value]:
    fn, args = CASES["waist"]
    traced = trace(fn, *args)
    return mincut.values_of(mincut.merged(traced.joint), traced.num_outputs)


def test_the_narrow_tensor_is_kept(narrow: list[Value]) -> None:
    assert mincut.cheapest_cut(narrow)[0] == ("primals_2", "sum_1")


def test_wrong_weights_lead_to_another_cut(narrow: list[Value]) -> None:
    """Must-fail twin: if what is large were cheap, another tensor would be kept."""
    upside_down = [replace(value, capacity=10_000 // value.num_bytes) for value in narrow]
    (kept,) = mincut.cheapest_cut(upside_down)[0]
    assert next(value.shape for value in narrow if value.name == kept) == (7, 6)


def test_without_pins_only_inputs_are_kept() -> None:
    fn, args = CASES["rms_norm"]
    traced = trace(fn, *args)
    values = mincut.values_of(mincut.merged(traced.joint), traced.num_outputs, pin=False)
    assert mincut.cheapest_cut(values)[0] == ("primals_1", "primals_2")


def test_what_is_no_cut_is_refused() -> None:
    fn, args = CASES["rms_norm"]
    traced = trace(fn, *args)
    with pytest.raises(ValueError, match=r"can't be computed from \['primals_1', 'tangents_1'\]"):
        split(traced.joint, ["primals_1"], traced.num_outputs)


def test_both_halves_compute_what_both_need() -> None:
    fn, args = CASES["rms_norm"]
    traced = trace(fn, *args)
    forward, backward = split(traced.joint, ["primals_1", "primals_2", "rsqrt"], 1)
    names = [{node.name for node in half.graph.nodes} for half in (forward, backward)]
    assert "mul" in names[0] & names[1]
    assert len(results_of(forward)) == 1 + 3
    assert len(results_of(backward)) == len(args)


def test_the_list_of_cheap_operators_is_torchs() -> None:
    assert mincut.num_cheap_operators() > 100
