"""What N replicas cost. Oracle: every bucket of a step played with a clock; hops of a ring counted
one by one; the two rules that the chapter states. No ranks."""

import dataclasses

import pytest

from fuseshard.distributed.network.predict import predict_ring_all_reduce, predict_tree_all_reduce
from fuseshard.distributed.network.records import Link
from fuseshard.distributed.replicas.scaling import (
    Network,
    Workload,
    all_reduces_s,
    efficiency,
    step_s,
)

FAST = Link.stated(2.0**-18, 2.0**38)
SLOW = Link.stated(2.0**-16, 2.0**34)
NETWORK = Network(inside=FAST, between=SLOW, gpus_per_node=8)
RANKS = (1, 2, 8, 9, 16, 64, 1024)


def workload(num_buckets: int, **changes: float) -> Workload:
    """Forward 1 s, backward 2 s, 2^33 bytes of gradients."""
    numbers = {"forward_s": 1.0, "backward_s": 2.0, "gradient_bytes": 2.0**33} | changes
    return Workload(**numbers, bucket_bytes=numbers["gradient_bytes"] / num_buckets)


def played(work: Workload, one_s: float) -> float:
    """End of a step: buckets become ready evenly, and leave one after another."""
    free_at = 0.0
    for bucket in range(1, work.num_buckets + 1):
        ready = work.forward_s + work.backward_s * bucket / work.num_buckets
        free_at = max(free_at, ready) + one_s
    return free_at


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("num_buckets", [1, 2, 7, 320])
def test_a_step_takes_as_long_as_its_buckets_played_with_a_clock(num_buckets, ranks) -> None:
    work = workload(num_buckets)
    link = NETWORK.ring_link(ranks)
    one_s = predict_ring_all_reduce(link, 2.0**33 / num_buckets, ranks).value
    assert step_s(work, NETWORK, ranks) == pytest.approx(played(work, one_s), rel=1e-12)
    assert all_reduces_s(work, NETWORK, ranks) == pytest.approx(num_buckets * one_s, rel=1e-12)


def test_without_overlap_a_step_would_take_longer() -> None:
    """The must-fail twin: the clock tells hidden transfers from ones at the end."""
    work = workload(7)
    sequential = work.compute_s + all_reduces_s(work, NETWORK, 64)
    assert step_s(work, NETWORK, 64) < 0.9 * sequential


def test_one_gpu_sends_nothing_and_computes_all_the_time() -> None:
    work = workload(4)
    assert all_reduces_s(work, NETWORK, 1) == 0
    assert step_s(work, NETWORK, 1) == work.compute_s == 3.0
    assert efficiency(work, NETWORK, 1) == 1.0
    assert efficiency(work, NETWORK, 64) < 1.0


@pytest.mark.parametrize(("ranks", "crossings"), [(9, 1), (16, 1), (17, 2), (64, 7), (1024, 127)])
def test_latencies_of_a_ring_add_up_hop_by_hop(ranks: int, crossings: int) -> None:
    hops = [SLOW if hop % 8 == 0 else FAST for hop in range(1, ranks)]
    assert hops.count(SLOW) == crossings
    mean_s = sum(hop.alpha_s.value for hop in hops) / len(hops)
    link = NETWORK.ring_link(ranks)
    assert link.alpha_s.value == pytest.approx(mean_s, rel=1e-12)
    assert link.bandwidth_bytes_per_s == SLOW.bandwidth_bytes_per_s


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_a_ring_inside_a_node_knows_nothing_of_the_network(ranks: int) -> None:
    assert NETWORK.ring_link(ranks) == NETWORK.slowest_link(ranks) == FAST
    assert NETWORK.ring_link(9) != FAST
    assert NETWORK.slowest_link(9) == SLOW


def test_a_card_faster_than_the_inside_does_not_speed_up_the_ring() -> None:
    odd = dataclasses.replace(NETWORK, between=Link.stated(2.0**-16, 2.0**40))
    assert odd.ring_link(16).bandwidth_bytes_per_s == FAST.bandwidth_bytes_per_s


def test_a_dense_step_counts_two_operations_a_parameter_and_token_and_twice_that_back() -> None:
    work = Workload.dense(1e9, 1000, 1e14, bytes_per_gradient=4, bucket_bytes=2.5e8)
    assert (work.forward_s, work.backward_s) == (0.02, 0.04)
    assert (work.gradient_bytes, work.num_buckets) == (4e9, 16)
    assert Workload.dense(1e9, 1000, 1e14).num_buckets == 77  # 2e9 bytes in 25 MiB


@pytest.mark.parametrize("num_parameters", [1e8, 7e9, 1e11])
def test_bytes_hide_from_as_many_tokens_as_operations_a_byte(num_parameters: float) -> None:
    """The chapter's first rule, whatever the model's size: here 4096 tokens."""
    no_latency = Network(inside=Link.stated(0, 2.0**38), between=Link.stated(0, 2.0**34))
    flops_per_s = 4096 * 2.0**34
    # So many buckets that the last one alone weighs nothing, and a ring so long that
    # (N - 1)/N is 1 up to a thousandth.
    for tokens, is_hidden in ((4096, True), (3500, False)):
        work = Workload.dense(
            num_parameters, tokens, flops_per_s, bucket_bytes=num_parameters / 1000
        )
        assert (efficiency(work, no_latency, 1024) > 0.99) == is_hidden


def test_rounds_cost_as_much_as_bytes_at_a_bucket_over_alpha_times_bandwidth() -> None:
    """The chapter's second rule, for one node of 64 so that all hops are alike."""
    network = dataclasses.replace(NETWORK, gpus_per_node=64)
    ranks = 64
    bucket_bytes = ranks * FAST.balance_bytes
    work = dataclasses.replace(workload(1), bucket_bytes=bucket_bytes)
    free = dataclasses.replace(network, inside=Link.stated(0, FAST.bandwidth_bytes_per_s))
    bytes_s = all_reduces_s(work, free, ranks)
    assert all_reduces_s(work, network, ranks) == pytest.approx(2 * bytes_s, rel=1e-3)


def test_another_algorithm_can_predict_the_transfers() -> None:
    work = workload(1, gradient_bytes=2.0**10)
    ring = all_reduces_s(work, NETWORK, 1024)
    assert all_reduces_s(work, NETWORK, 1024, predict=predict_tree_all_reduce) < ring / 10


@pytest.mark.parametrize("name", ["forward_s", "backward_s", "gradient_bytes"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan")])
def test_an_impossible_workload_is_refused(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{name} is {value}, required is a finite number"):
        workload(2, **{name: value})
