"""What breaks cost. Oracles: the uncut chain in eager mode, and Dynamo's count of graphs.

One measurement on small tensors in a module-scoped fixture: three compiles.
"""

import functools

import pytest
import torch

from fuseshard.compiler.breaks.cost import (
    GRAPHS,
    OPERATIONS,
    break_cost,
    chain,
    cpu_break_cost,
    dissect,
    gpu_break_cost,
)
from fuseshard.compiler.breaks.lifetimes import alive_at_breaks
from fuseshard.compiler.breaks.observe import observe
from fuseshard.compiler.breaks.records import BreakCost
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read


def seven() -> tuple[torch.Tensor]:
    return (torch.linspace(-3, 4, 7),)


@pytest.fixture(scope="module")
def measured() -> BreakCost:
    return break_cost((7, 12), graphs=(1, 2), budget_s=0.4)


@pytest.mark.parametrize("count", GRAPHS)
def test_a_chain_is_cut_into_so_many_equal_graphs_and_stays_the_same_function(count: int) -> None:
    trial = observe(chain(count), seven, reference=chain(1))
    assert trial.operations == (OPERATIONS // count,) * count
    assert trial.is_same


@pytest.mark.parametrize("count", [0, 3, 32])
def test_a_chain_that_cannot_be_cut_evenly_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"num_graphs is {count}, must divide 16"):
        chain(count)


def test_every_size_is_timed_at_every_number_of_graphs(measured: BreakCost) -> None:
    assert measured.elements == (7, 12)
    for sweep in measured.sweeps:
        assert sweep.sizes == (1, 2)
        for point in sweep.points:
            assert [timing.name for timing in point.comparison.timings] == ["eager", "compiled"]


def test_a_measurement_survives_its_recording(measured: BreakCost) -> None:
    assert read(BreakCost, to_json(measured), "recording") == measured


def test_a_break_adds_a_kernel_a_table_and_guards() -> None:
    one, two = (dissect(count, elements=100) for count in (1, 2))
    assert (one.graphs, one.kernels, one.written_bytes) == (1, 1, 400)
    assert (two.graphs, two.kernels, two.written_bytes) == (2, 2, 800)
    assert two.guards > one.guards
    assert "__resume_at_" in two.bytecode
    assert "__resume_at_" not in one.bytecode


def test_breaks_keep_alive_what_they_passed_on_and_eager_mode_does_not() -> None:
    compiled = functools.partial(torch.compile, backend="eager")
    assert alive_at_breaks(lambda fn: fn) == (1, 1, 1, 1)
    assert alive_at_breaks(compiled) == (1, 2, 3, 4)


def test_the_experiments_say_what_they_need() -> None:
    assert (cpu_break_cost.needs, gpu_break_cost.needs) == ("cpu", "cuda")
