"""Step times: pure data. Oracles: sums by hand, the bubble's closed form, limits of no network."""

from dataclasses import replace

import pytest

from fuseshard.distributed.planning import shape
from fuseshard.distributed.planning.records import Degrees, Times
from fuseshard.distributed.planning.step_time import limit, times
from tests.distributed.planning.shapes import LAB, SMALL

NO_NETWORK = replace(
    LAB,
    inside_bytes_per_s=1e30,
    between_bytes_per_s=1e30,
    inside_latency_s=0.0,
    between_latency_s=0.0,
)
RATE = LAB.peak_flop_per_s * LAB.efficiency


@pytest.mark.parametrize("recomputes", [False, True])
def test_one_gpu_computes_all_flop_and_nothing_else(recomputes: bool) -> None:
    found = times(SMALL, LAB, Degrees(1, 1, 1, 1, 4, recomputes))
    assert found.step_s == pytest.approx(shape.step_flop(SMALL, recomputes=recomputes) / RATE)
    assert found.compute_s == found.step_s


@pytest.mark.parametrize("mesh", [(6, 1, 1, 1), (1, 6, 1, 1), (1, 2, 3, 1), (2, 1, 3, 1)])
def test_without_a_network_all_gpus_share_the_flop(mesh) -> None:
    found = times(SMALL, NO_NETWORK, Degrees(*mesh, 2, False))
    assert found.step_s == pytest.approx(shape.step_flop(SMALL) / RATE / 6)


@pytest.mark.parametrize(("stages", "count"), [(2, 4), (3, 1), (3, 12)])
def test_the_bubble_is_that_of_the_closed_form(stages: int, count: int) -> None:
    found = times(SMALL, NO_NETWORK, Degrees(1, 1, 1, stages, count, False))
    assert found.bubble_s / found.compute_s == pytest.approx((stages - 1) / count)
    assert times(SMALL, NO_NETWORK, Degrees(1, 1, 1, 1, count, False)).bubble_s == 0


def test_a_step_by_hand() -> None:
    # DP 2 (between nodes, one card each), TP 3 (inside), two micro-batches of three sequences.
    found = times(SMALL, LAB, Degrees(2, 1, 3, 1, 2, False))
    compute = shape.step_flop(replace(SMALL, global_batch=3)) / 3 / RATE
    moved = 2 * 3 * 20 * 96
    one_sum = 2 * (2 * 2e-6 + 2 / 3 * moved / 4e9)
    gradients = 2 * shape.num_parameters(SMALL) / 3
    average = 2 * (3e-5 + 1 / 2 * gradients / 5e8)
    assert found.compute_s == pytest.approx(2 * compute)
    assert found.tensor_s == pytest.approx(2 * 6 * 4 * one_sum)
    assert found.replicate_s == pytest.approx(average - 2 / 3 * compute)
    assert found.replicate_s > 0
    assert found.step_s == pytest.approx(2 * compute + 48 * one_sum + average - 2 / 3 * compute)


def test_gathers_hide_behind_computing_or_show() -> None:
    degrees = Degrees(1, 6, 1, 1, 2, False)
    slow = times(SMALL, LAB, degrees)
    fast = times(SMALL, replace(LAB, efficiency=1e-6), degrees)
    assert slow.shard_s > 0
    assert fast.shard_s == 0
    parameters = shape.num_parameters(SMALL)
    # Units: six layers and one more. 5 hops, one between nodes; three cards a node.
    latency = 4 * 2e-6 + 3e-5
    gathers = 7 * 3 * latency + 5 / 6 * (2 + 2 + 2) * parameters / 1.5e9
    compute = shape.step_flop(replace(SMALL, global_batch=1)) / RATE
    assert slow.shard_s == pytest.approx(2 * (gathers - compute))


def test_a_stage_waits_for_its_neighbours_messages() -> None:
    found = times(SMALL, LAB, Degrees(3, 1, 1, 2, 4, False))
    moved = 2 * 1 * 20 * 96
    assert found.pipeline_s == pytest.approx(4 * 2 * (3e-5 + moved / 5e8))
    inside = times(SMALL, replace(LAB, num_nodes=1), Degrees(1, 1, 1, 3, 12, False))
    assert inside.pipeline_s == pytest.approx(12 * 2 * (2e-6 + moved / 4e9))


def spent(**seconds: float) -> Times:
    """Times of which all but some are zero."""
    parts = ("compute_s", "tensor_s", "pipeline_s", "shard_s", "replicate_s", "bubble_s")
    return Times(**{part: seconds.get(part, 0.0) for part in parts})


@pytest.mark.parametrize(
    ("found", "name"),
    [
        (spent(compute_s=1.0, tensor_s=0.04), "compute"),
        (spent(compute_s=1.0, tensor_s=0.06), "tensor inside"),
        (spent(compute_s=1.0, tensor_s=0.06, bubble_s=0.07), "bubble"),
        (spent(compute_s=1.0, replicate_s=2.0, shard_s=1.0), "replicate between"),
        (spent(compute_s=1.0, shard_s=0.5), "shard inside"),
        (spent(compute_s=1.0, pipeline_s=0.5), "pipeline inside"),
    ],
)
def test_the_largest_loss_is_named_with_its_links(found: Times, name: str) -> None:
    assert limit(found, LAB, Degrees(2, 1, 3, 1, 1, False)) == name


def test_computing_hides_one_message_at_a_time() -> None:
    # FSDP's gathers take all that computing could hide, so the average over replicas shows whole.
    found = times(SMALL, LAB, Degrees(2, 3, 1, 1, 1, False))
    assert found.shard_s > 0
    gradients = 2 * shape.num_parameters(SMALL) / 3
    assert found.replicate_s == pytest.approx(2 * (3e-5 + 1 / 2 * gradients / 5e8))
