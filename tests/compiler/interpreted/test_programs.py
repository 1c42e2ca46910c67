"""A GPU's wrappers on CPU tensors. Oracle: the same programs by torch's CPU kernels in float64."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from fuseshard.compiler.gpu_code.records import GpuGraph, KernelSource
from fuseshard.compiler.gpu_code.worker.parent import Worker
from fuseshard.compiler.interpreted.records import Interpreted
from fuseshard.compiler.rounding import relative_difference, softmax_bound
from tests.compiler.interpreted import programs
from tests.compiler.interpreted.conftest import Write
from tests.compiler.interpreted.oracle import (
    distance,
    excesses,
    flattened,
    numbers,
    results,
    seeded,
    tangents,
    tokens,
)

BFLOAT16_ROUNDOFF = 2.0**-8
Program = tuple[Any, tuple[torch.Tensor, ...]]
WORDS = (tokens(3, 20, vocabulary=101), tokens(3, 20, vocabulary=100))
TRAINED: dict[str, Program] = {
    "softmax": (programs.softmax, (seeded(37, 600, grad=True),)),
    "layer norm": (nn.LayerNorm(768), (seeded(37, 768, grad=True),)),
    "RMS norm": (nn.RMSNorm(768), (seeded(37, 768, grad=True),)),
    "cross-entropy": (
        programs.cross_entropy,
        (seeded(37, 600, grad=True), tokens(37, vocabulary=600)),
    ),
    "GELU": (programs.gelu, (seeded(37, 768, grad=True),)),
    "GELU by tanh": (programs.gelu_tanh, (seeded(37, 768, grad=True),)),
    "embedding": (programs.embed, (seeded(50, 20, grad=True), tokens(7, 9, vocabulary=50))),
    "batch norm": (programs.Normalized(), (seeded(30, 12, grad=True),)),
    "MiniGPT": (programs.LanguageLoss(), WORDS),
}
INFERRED: dict[str, Program] = {
    "prefixes": (programs.prefixes, (seeded(5, 600),)),
    "statistics": (programs.statistics, (seeded(5, 60),)),
    "arctangent": (programs.arctangent, (30 * seeded(5, 60),)),
    "constant": (programs.times_constant, (seeded(5, 20),)),
}


def run(
    child: Worker,
    graphs: Sequence[GpuGraph],
    program: Program,
    *,
    block: int | None = None,
    fn: Any = None,
) -> Interpreted:
    """Run in the child, with the tangents that the oracle takes."""
    own, args = program
    upstream = None
    if any(graph.phase == "backward" for graph in graphs):
        found = own(*args)
        upstream = tangents(found if isinstance(found, tuple) else [found])
    return child.ask("run_graphs", graphs, numbers(fn or own, args), upstream, block)


@pytest.mark.parametrize("name", TRAINED)
def test_outputs_and_gradients_are_torchs_to_rounding(
    child: Worker, write: Write, name: str
) -> None:
    program = TRAINED[name]
    found = run(child, write(*program, backward=True), program)
    assert max(excesses(found, *program)) <= 1


@pytest.mark.parametrize("name", INFERRED)
def test_outputs_are_torchs_to_rounding(child: Worker, write: Write, name: str) -> None:
    program = INFERRED[name]
    assert max(excesses(run(child, write(*program), program), *program)) <= 1


def test_one_part_in_a_hundred_thousand_is_more_than_rounding(child: Worker, write: Write) -> None:
    """Must-fail twin: what the limits let pass is far below a real difference."""
    fn, (x,) = TRAINED["layer norm"]
    program = (fn, (x,))
    found = run(child, write(*program, backward=True), program)
    other = nn.LayerNorm(768, eps=1e-5 + 2e-5)
    assert all(e > 1 for e in excesses(found, *program, oracle=other)[:2])


@pytest.mark.parametrize(("rows", "columns"), [(37, 600), (3, 50257)])
def test_softmax_keeps_to_the_bound_of_its_sum(
    child: Worker, write: Write, rows: int, columns: int
) -> None:
    x = seeded(rows, columns)
    (actual,) = run(child, write(programs.softmax, (x,)), (programs.softmax, (x,))).outputs
    assert actual is not None
    expected = torch.softmax(x, -1)
    assert relative_difference(actual, expected) <= softmax_bound(columns)
    shifted = torch.softmax(x * (1 + 2**-8), -1)
    assert relative_difference(actual, shifted) > softmax_bound(columns)


def test_what_is_exact_on_a_gpu_is_exact(child: Worker, write: Write) -> None:
    """Order, places, neighbours and whole numbers: not a bit may differ."""
    x = seeded(4, 100) * 7
    program = (programs.exact_functions, (x,))
    found = run(child, write(*program), program)
    for actual, expected in zip(found.outputs, programs.exact_functions(x), strict=True):
        assert torch.equal(actual, expected)


TILED: dict[str, Program] = {
    "softmax": (programs.softmax, (seeded(9, 600, grad=True),)),
    "layer norm": (nn.LayerNorm(96), (seeded(9, 96, grad=True),)),
    "cross-entropy": (
        programs.cross_entropy,
        (seeded(9, 600, grad=True), tokens(9, vocabulary=600)),
    ),
    "GELU without masks": (programs.gelu, (seeded(3, 4096, grad=True),)),
    "embedding": TRAINED["embedding"],
}


@pytest.mark.parametrize("name", TILED)
def test_larger_tiles_are_fewer_and_change_no_bit(child: Worker, write: Write, name: str) -> None:
    program = TILED[name]
    graphs = write(*program, backward=True)
    inductors = run(child, graphs, program, block=1)
    for block in (4, None):
        larger = run(child, graphs, program, block=block)
        pairs = zip(flattened(larger, *program), flattened(inductors, *program), strict=True)
        assert all(torch.equal(x, y) for x, y in pairs)
        assert count(larger) <= count(inductors)
    assert count(larger) < count(inductors)


def count(found: Interpreted) -> int:
    return sum(launch.programs for launch in found.launches)


def test_without_a_mask_a_tile_ends_where_the_tensor_does(child: Worker, write: Write) -> None:
    """3 * 4096 numbers: 4096 is the largest block that needs no mask."""
    program = TILED["GELU without masks"]
    graphs = write(*program, backward=True)
    assert "xmask = tl.full" in graphs[0].kernels[0].triton
    (launch, _) = run(child, graphs, program).launches
    assert (launch.blocks, launch.programs) == ({"XBLOCK": 4096}, 3)


def test_another_tile_along_the_sum_changes_bits(child: Worker, write: Write) -> None:
    """Must-fail twin: R0_BLOCK decides the order of a sum, and so it isn't raised."""
    program = (programs.total, (seeded(64, 5000),))
    (graph,) = write(*program)
    halved = replace(graph, kernels=tuple(map(with_half_rows, graph.kernels)))
    found = [run(child, [g], program) for g in (graph, halved)]
    assert [f.launches[0].blocks["R0_BLOCK"] for f in found] == [2048, 1024]
    own, other = (flattened(f, *program)[0] for f in found)
    assert not torch.equal(own, other)
    assert max(excesses(found[1], *program)) <= 1


def with_half_rows(kernel: KernelSource) -> KernelSource:
    first, *others = kernel.configurations
    halved = {n: size // 2 if n == "R0_BLOCK" else size for n, size in first.blocks.items()}
    return replace(kernel, configurations=(replace(first, blocks=halved), *others))


def test_bfloat16_training_is_as_near_as_torchs(child: Worker, write: Write) -> None:
    """Autocast on both sides: at most twice torch's own distance from float64, and one rounding."""
    fn, args = nn.Sequential(nn.Linear(70, 96), nn.GELU(), nn.LayerNorm(96)), (seeded(37, 70),)
    graphs = write(fn, args, backward=True, autocast="bfloat16")
    assert "tl.bfloat16" in graphs[0].wrapper
    found = flattened(run(child, graphs, (fn, args)), fn, args)
    with torch.autocast("cpu", torch.bfloat16):
        by_torch = results(fn, args, torch.float32)
    for actual, other, exact in zip(found, by_torch, results(fn, args), strict=True):
        assert distance(actual, exact) <= 2 * distance(other, exact) + BFLOAT16_ROUNDOFF


def test_dropout_drops_its_share_and_the_same_in_both_passes(child: Worker, write: Write) -> None:
    """Oracle: a closed formula. The numbers are Inductor's; the mask must be one for both."""
    x = torch.ones(300, 40, requires_grad=True)
    graphs = write(programs.drop, (x,), backward=True)
    ones = child.ask("run_graphs", graphs, [x.detach()])
    again = child.ask("run_graphs", graphs, [x.detach()], None, 1)
    (output,), (gradient,) = ones.outputs, ones.gradients
    assert set(output.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    # 12000 draws: the share's standard deviation is 0.004, and this is five of them.
    assert abs(float((output == 0).float().mean()) - 0.25) < 0.02
    assert torch.equal(gradient, output)
    assert torch.equal(again.outputs[0], output)


def test_a_size_that_was_never_written_down_is_read_off_the_inputs(
    child: Worker, write: Write
) -> None:
    fn, written_for = nn.LayerNorm(96), (seeded(100, 96, grad=True),)
    graphs = write(fn, written_for, backward=True, dynamic=True)
    assert None in graphs[0].input_tensors
    for rows in (57, 130):
        program = (fn, (seeded(rows, 96, grad=True),))
        assert max(excesses(run(child, graphs, program), *program)) <= 1


def test_what_a_program_changes_in_place_comes_back(child: Worker, write: Write) -> None:
    fn, (x,) = programs.Normalized(), (seeded(30, 12, grad=True),)
    given = numbers(fn, (x,))
    found = child.ask("run_graphs", write(fn, (x,), backward=True), given)
    fn(x)
    left = [after for before, after in zip(given, found.inputs, strict=True) if after is not before]
    for buffer in (fn.norm.running_mean, fn.norm.running_var, fn.norm.num_batches_tracked):
        assert any(x.shape == buffer.shape and torch.allclose(x, buffer) for x in left)


def test_a_users_own_kernel_keeps_its_tiles(child: Worker, write: Write) -> None:
    x, y = seeded(300), seeded(300, seed=1)
    found = child.ask("run_graphs", write(programs.sine_of_own_sum, [x, y]), [x, y])
    torch.testing.assert_close(found.outputs[0], (x + y).sin())
    own, inductors = found.launches
    assert (own.blocks, own.programs) == ({"size": 64}, 5)
    assert (inductors.blocks, inductors.programs) == ({"XBLOCK": 512}, 1)


def test_strides_of_the_inputs_do_not_matter(child: Worker, write: Write) -> None:
    x = seeded(9, 600)
    graphs = write(programs.softmax, (x,))
    turned = x.t().contiguous().t()
    assert turned.stride() != x.stride()
    plain, other = (child.ask("run_graphs", graphs, [y]).outputs[0] for y in (x, turned))
    assert torch.equal(plain, other)
    assert torch.equal(turned, x)
