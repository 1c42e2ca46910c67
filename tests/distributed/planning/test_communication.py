"""Links and traffic: pure data. Oracles: `distributed.traffic`, ranks listed one by one."""

import itertools
from dataclasses import replace

import pytest

from fuseshard.distributed import traffic as counted
from fuseshard.distributed.planning import communication, shape
from fuseshard.distributed.planning.memory import layer_input_bytes
from fuseshard.distributed.planning.presets import model_preset
from fuseshard.distributed.planning.records import Degrees
from tests.distributed.planning.shapes import LAB, SMALL

MINI = model_preset("minigpt")
PARAMETERS = shape.num_parameters(MINI)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_ddp_sends_what_the_ring_sends(ranks: int) -> None:
    sent = communication.traffic(MINI, Degrees(ranks, 1, 1, 1, 1, False))
    assert sent.replicate_bytes == counted.all_reduce_bytes(4 * PARAMETERS, ranks)
    assert (sent.shard_bytes, sent.tensor_bytes, sent.pipeline_bytes) == (0, 0, 0)


@pytest.mark.parametrize("micro_batches", [1, 4])
def test_fsdp_gathers_twice_and_scatters_once_a_micro_batch(micro_batches: int) -> None:
    sent = communication.traffic(MINI, Degrees(1, 4, 1, 1, micro_batches, False))
    once = 2 * counted.all_gather_bytes(4 * PARAMETERS, 4)
    once += counted.reduce_scatter_bytes(4 * PARAMETERS, 4)
    assert sent.shard_bytes == micro_batches * once
    ddp = communication.traffic(MINI, Degrees(4, 1, 1, 1, micro_batches, False))
    assert sent.shard_bytes == 1.5 * micro_batches * ddp.replicate_bytes


def test_replicas_of_shards_average_only_their_shard() -> None:
    sent = communication.traffic(MINI, Degrees(2, 4, 1, 1, 1, False))
    assert sent.replicate_bytes == counted.all_reduce_bytes(PARAMETERS, 2)


@pytest.mark.parametrize(("recomputes", "sums"), [(False, 4), (True, 6)])
def test_tp_sums_activations_in_every_layer(recomputes: bool, sums: int) -> None:
    sent = communication.traffic(SMALL, Degrees(1, 1, 3, 1, 4, recomputes))
    once = counted.all_reduce_bytes(int(layer_input_bytes(SMALL, 3)), 3)
    assert sent.tensor_bytes == pytest.approx(4 * 6 * sums * once)


def test_a_stage_sends_each_micro_batch_on_and_its_gradient_back() -> None:
    sent = communication.traffic(SMALL, Degrees(1, 1, 1, 3, 4, False))
    assert sent.pipeline_bytes == 4 * 2 * layer_input_bytes(SMALL, 3)


def groups(stride: int, degree: int, num_ranks: int) -> list[list[int]]:
    """List an axis's groups: ranks that differ in nothing but their place along it."""
    own = {rank: (rank % stride, rank // (stride * degree)) for rank in range(num_ranks)}
    return [[rank for rank in own if own[rank] == place] for place in sorted(set(own.values()))]


@pytest.mark.parametrize(
    ("per_node", "nodes", "stride", "degree"),
    [
        (8, 2, 1, 8),
        (8, 2, 1, 16),
        (8, 2, 4, 2),
        (8, 4, 4, 4),
        (8, 2, 8, 2),
        (6, 2, 1, 4),
        (3, 2, 1, 3),
        (3, 2, 6, 1),
    ],
)
def test_a_link_is_between_nodes_if_some_group_is(
    per_node: int, nodes: int, stride: int, degree: int
) -> None:
    cluster = replace(LAB, gpus_per_node=per_node, num_nodes=nodes)
    spans = [
        len({rank // per_node for rank in group})
        for group in groups(stride, degree, per_node * nodes)
    ]
    assert communication.link(cluster, stride, degree).is_between == (max(spans) > 1)


def test_members_that_share_a_node_share_its_cards() -> None:
    cluster = replace(LAB, gpus_per_node=4, num_nodes=4)
    alone = communication.link(cluster, 4, 4)
    pairs = communication.link(cluster, 2, 8)
    together = communication.link(cluster, 1, 16)
    assert (alone.bytes_per_s, pairs.bytes_per_s, together.bytes_per_s) == (5e8, 1e9, 2e9)
    fast = replace(cluster, between_bytes_per_s=3e9)
    # No group is faster than the links inside.
    assert communication.link(fast, 1, 16).bytes_per_s == cluster.inside_bytes_per_s


def test_a_rings_latency_is_that_of_its_hops() -> None:
    cluster = replace(LAB, gpus_per_node=4, num_nodes=2)
    inside = communication.link(cluster, 1, 4)
    assert inside.latency_s == pytest.approx(3 * 2e-6)
    # Eight ranks in two nodes: seven hops, one of them between the nodes.
    assert communication.link(cluster, 1, 8).latency_s == pytest.approx(6 * 2e-6 + 3e-5)


def test_an_all_reduce_is_two_passes_of_latency_and_bytes() -> None:
    over = communication.Link(1e9, 5e-6, False)
    sent = counted.all_reduce_bytes(3_000_000, 3)
    expected = 2 * 5e-6 + sent / 1e9
    assert communication.all_reduce_s(3_000_000, 3, over) == pytest.approx(expected)


def test_one_node_has_no_links_between_nodes() -> None:
    lone = replace(LAB, gpus_per_node=6, num_nodes=1)
    for stride, degree in itertools.product((1, 2, 3), (1, 2, 4)):
        assert not communication.link(lone, stride, degree).is_between
