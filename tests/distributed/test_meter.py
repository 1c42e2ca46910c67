"""What `CommMeter` counts. 2 to 4 gloo ranks, one run each.

Oracles: closed formulas, and the kernel's count of the bytes that each process gave to TCP.
"""

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Replicate, Shard, distribute_tensor, init_device_mesh
from torch.nn.parallel import DistributedDataParallel

from fuseshard.distributed import traffic
from fuseshard.distributed.collectives import ring_all_reduce
from fuseshard.distributed.launcher import run
from fuseshard.distributed.meter import _OPERATORS, CommMeter

pytestmark = pytest.mark.ranks

NUM_ELEMENTS = 250_003  # no multiple of 2, 3 or 4; large against the transport's headers


def summary(meter):
    return {
        "ops": [call.op for call in meter.calls],
        "payload": meter.payload_bytes,
        "sent": meter.sent_bytes_per_rank,
        "wire": meter.wire_bytes,
    }


def mlp():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(100, 701), nn.ReLU(), nn.Linear(701, 701), nn.Linear(701, 7))


def measured(action, num_before=1):
    """Count an action after others of its kind: the first one connects the ranks."""
    for _ in range(num_before):
        action()
    dist.barrier()
    with CommMeter() as meter:
        action()
    dist.barrier()
    return summary(meter)


def count_everything(rank, size):
    x = torch.ones(NUM_ELEMENTS)
    parts = [torch.empty_like(x) for _ in range(size)]
    at_root, together = (parts if rank == 0 else None), torch.empty(size * NUM_ELEMENTS)
    ddp = DistributedDataParallel(mlp(), bucket_cap_mb=1, broadcast_buffers=False)
    samples = torch.ones(8, 100) * rank
    found = {
        "all_reduce": measured(lambda: dist.all_reduce(x)),
        "all_gather": measured(lambda: dist.all_gather(parts, x)),
        "reduce_scatter": measured(lambda: dist.reduce_scatter(parts[0], [x] * size)),
        "broadcast": measured(lambda: dist.broadcast(x, 0)),
        "all_to_all": measured(lambda: dist.all_to_all_single(together, x.repeat(size))),
        "gather": measured(lambda: dist.gather(x, at_root, 0)),
        "scatter": measured(lambda: dist.scatter(x, at_root, 0)),
        "reduce": measured(lambda: dist.reduce(x, 0)),
        "barrier": measured(dist.barrier),
        "ring": measured(lambda: ring_all_reduce(x)),
        "ddp's second step": measured(lambda: ddp(samples).sum().backward()),
        "ddp": measured(lambda: ddp(samples).sum().backward()),
        "coalesced": measured(lambda: coalesced(x)),
        "functional": measured(lambda: functional.all_reduce(x, "sum", dist.group.WORLD).wait()),
        "uneven": measured(lambda: uneven_all_to_all(rank, size)),
    }
    found["subgroup"] = in_a_subgroup(rank)
    return found


def count_libraries(rank, size):
    return with_dtensor(), with_fsdp(), when_compiled(), when_nested(), by_operator(rank)


def coalesced(x):
    dist.all_gather_object([None] * dist.get_world_size(), "a")
    with dist._coalescing_manager():
        dist.all_reduce(x)
        dist.all_reduce(x[:10].clone())


def uneven_all_to_all(rank, size):
    splits = [1 + index for index in range(size)]
    received = torch.empty(size * (1 + rank), 5)
    dist.all_to_all_single(received, torch.ones(sum(splits), 5), [1 + rank] * size, splits)


def in_a_subgroup(rank):
    group = dist.new_group([0, 1])
    with CommMeter() as meter:
        if rank < 2:
            dist.all_reduce(torch.ones(6), group=group)
    return [(call.group_size, call.sent_bytes) for call in meter.calls]


def with_dtensor():
    mesh = init_device_mesh("cpu", (2,))
    left = distribute_tensor(torch.ones(4, 6), mesh, [Shard(1)])
    right = distribute_tensor(torch.ones(6, 8), mesh, [Shard(0)])
    with CommMeter() as meter:
        (left @ right).redistribute(mesh, [Replicate()]).to_local()
        left.full_tensor()
    return summary(meter)


def with_fsdp():
    model, mesh = mlp(), init_device_mesh("cpu", (2,))
    for layer in model:
        if list(layer.parameters()):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    with CommMeter() as meter:
        model(torch.ones(3, 100)).sum().backward()
    return summary(meter)


def when_compiled():
    graphs = []

    def keep(graph, example_inputs):
        graphs.append(graph)
        return graph

    def double(x):
        return functional.all_reduce(2 * x, "sum", dist.group.WORLD) + 1

    compiled = torch.compile(double, backend=keep)
    with CommMeter() as meter:
        result = compiled(torch.ones(4))
    return summary(meter), len(graphs), result.tolist()


def when_nested():
    with CommMeter() as outer:
        dist.all_reduce(torch.ones(3))
        with CommMeter() as inner:
            dist.broadcast(torch.ones(3), 0)
    dist.barrier()
    return summary(outer)["ops"], summary(inner)["ops"]


def by_operator(rank):
    """Operators that only compiled code or GPUs call by themselves."""
    x, name = torch.ones(2, 4), dist.group.WORLD.group_name
    peers, ops = [1 - rank] * 2, torch.ops._c10d_functional
    with CommMeter() as meter:
        ops.wait_tensor(torch.ops._dtensor.shard_dim_alltoall(x, 0, 1, name))
        for work in ops.batch_p2p_ops(
            ["isend", "irecv"], peers, [0, 0], [x, torch.empty(2, 4)], name
        ):
            ops.wait_tensor(work)
        dist.monitored_barrier()
    refusal = ""
    with meter:  # a second time: both count, also on the wire
        dist.all_reduce(x)
        try:
            dist.all_reduce(x.to_sparse())
        except ValueError as error:
            refusal = str(error)
    return summary(meter), refusal


@pytest.fixture(scope="module", params=[2, 3, 4])
def counted(request):
    return request.param, run(count_everything, request.param, timeout=60)


def test_each_collective_is_counted_once_under_torchs_name(counted):
    _, ranks = counted
    names = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "gather")
    for name in (*names, "scatter", "reduce", "barrier"):
        assert [found[name]["ops"] for found in ranks] == [[name]] * len(ranks)


def test_counted_bytes_equal_the_formulas(counted):
    size, ranks = counted
    one, whole = 4 * NUM_ELEMENTS, 4 * NUM_ELEMENTS * size
    for name, payload, formula in (
        ("all_reduce", one, traffic.all_reduce_bytes),
        ("functional", one, traffic.all_reduce_bytes),
        ("all_gather", whole, traffic.all_gather_bytes),
        ("reduce_scatter", whole, traffic.reduce_scatter_bytes),
        ("all_to_all", whole, traffic.all_to_all_bytes),
        ("broadcast", one, traffic.broadcast_bytes),
        ("reduce", one, traffic.reduce_bytes),
    ):
        for found in ranks:
            assert found[name]["payload"] == payload, name
            assert found[name]["sent"] == formula(payload, size), name
    assert [found["barrier"]["sent"] for found in ranks] == [0] * size


def test_the_buckets_of_ddps_reducer_are_counted(counted):
    """They are sent from C++ during backward: the last layers fill 1 MiB, the first one follows."""
    size, ranks = counted
    gradient_bytes = sum(4 * param.numel() for param in mlp().parameters())
    for found in ranks:
        assert found["ddp"]["ops"] == ["all_reduce", "all_reduce"]
        assert found["ddp"]["payload"] == gradient_bytes
        assert found["ddp"]["sent"] == traffic.all_reduce_bytes(gradient_bytes, size)


def test_ddps_second_step_also_agrees_on_the_order_of_its_buckets(counted):
    _, ranks = counted
    for found in ranks:
        assert found["ddp's second step"]["ops"] == ["broadcast"] * 2 + ["all_reduce"] * 2


def test_the_ring_by_hand_sends_what_the_formula_says(counted):
    """Each rank's count is of its own sends, so only their mean is the formula's."""
    size, ranks = counted
    sent = [found["ring"]["sent"] for found in ranks]
    assert sum(sent) / size == traffic.all_reduce_bytes(4 * NUM_ELEMENTS, size)
    assert ranks[0]["ring"]["ops"].count("send") == 2 * (size - 1)


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "broadcast", "all_to_all", "gather"])
def test_gloo_gives_tcp_what_the_formula_says(counted, name):
    """The kernel's count has gloo's message headers on top: a few hundred bytes a megabyte."""
    size, ranks = counted
    wire = sum(found[name]["wire"] for found in ranks) / size
    sent = ranks[0][name]["sent"]
    assert sent < wire < 1.002 * sent


def test_ddps_and_the_rings_bytes_are_really_on_the_wire(counted):
    _, ranks = counted
    for name in ("ddp", "ring"):
        wire = sum(found[name]["wire"] for found in ranks)
        sent = sum(found[name]["sent"] for found in ranks)
        assert sent < wire < 1.01 * sent, name


def test_gloos_reduce_scatter_sends_an_all_reduce(counted):
    """Checked on torch 2.11 and 2.13; when this fails, gloo has learnt better."""
    size, ranks = counted
    wire = sum(found["reduce_scatter"]["wire"] for found in ranks) / size
    assert wire / ranks[0]["reduce_scatter"]["sent"] == pytest.approx(2.0, rel=0.01)


def test_an_uneven_all_to_all_is_counted_by_its_parts(counted):
    size, ranks = counted
    for rank, found in enumerate(ranks):
        parts = [20 * (1 + index) for index in range(size)]
        assert found["uneven"]["payload"] == sum(parts)
        assert found["uneven"]["sent"] == sum(parts) - parts[rank]


def test_an_all_to_all_of_lists_is_counted_by_its_parts():
    """gloo of torch 2.13 has it, with equal parts only; that of 2.11 refuses."""

    def work(rank, size):
        with CommMeter() as meter:
            dist.all_to_all([torch.empty(3) for _ in range(size)], [torch.ones(3)] * size)
        return meter.payload_bytes, meter.sent_bytes_per_rank

    assert run(work, 3) == [(36, 24.0)] * 3


def test_coalesced_calls_count_together_and_objects_as_bytes(counted):
    _, ranks = counted
    assert ranks[0]["coalesced"]["ops"] == ["all_gather", "all_gather", "all_reduce"]


def test_a_call_counts_for_its_own_group(counted):
    size, ranks = counted
    assert [found["subgroup"] for found in ranks] == [[(2, 24.0)]] * 2 + [[]] * (size - 2)


@pytest.fixture(scope="module")
def libraries():
    return run(count_libraries, 2)[0]


def test_dtensors_hidden_collectives_are_counted(libraries):
    found = libraries[0]
    # A product of shards is a partial sum of [4, 8]; then [4, 6] is gathered along dim 1.
    assert found["ops"] == ["all_reduce", "all_gather"]
    assert found["payload"] == 4 * (4 * 8 + 4 * 6)


def test_fsdps_collectives_are_counted(libraries):
    """Parameters are gathered for forward and again for backward, gradients are scattered."""
    found = libraries[1]
    assert sorted(found["ops"]) == ["all_gather"] * 6 + ["reduce_scatter"] * 3
    # Rows are split over 2 ranks: 701 of them count as 702, 7 as 8. Three trips of 4 bytes each.
    num_padded = 702 * (100 + 1) + 702 * (701 + 1) + 8 * (701 + 1)
    assert found["payload"] == 3 * 4 * num_padded


def test_compiled_code_is_compiled_and_counted(libraries):
    found, num_graphs, result = libraries[2]
    assert num_graphs == 1
    assert (found["ops"], found["payload"]) == (["all_reduce"], 16)
    assert result == [5.0] * 4


def test_meters_nest_and_count_only_while_open(libraries):
    outer, inner = libraries[3]
    assert (outer, inner) == (["all_reduce", "broadcast"], ["broadcast"])


def test_operators_that_only_compiled_code_or_gpus_call_are_counted(libraries):
    found, _ = libraries[4]
    assert found["ops"] == ["all_to_all", "send", "recv", "barrier", "all_reduce"]
    assert found["payload"] == 4 * 32
    assert found["sent"] == 32 / 2 + 32 + 32


def test_a_meter_that_is_opened_again_goes_on_counting_the_wire(libraries):
    found, _ = libraries[4]
    assert found["wire"] > found["sent"]


def test_sparse_tensors_are_refused(libraries):
    _, refusal = libraries[4]
    assert refusal.startswith("CommMeter: all_reduce got a sparse tensor, required are dense ones")


MOVE_NOTHING = {
    "wait_tensor",
    "check_for_nan",
    "mesh_get_process_group",
    "_wrap_tensor_autograd",
}


def test_no_operator_of_torchs_passes_unseen():
    """Or a new release sends bytes that no page counts."""
    spaces = ("c10d::", "_c10d_functional::", "_dtensor::")
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith(spaces)]
    found = {name.partition("::")[2].partition(".")[0] for name in names}
    assert found - MOVE_NOTHING - {"batch_p2p_ops"} <= set(_OPERATORS)
    assert len(found) > 30
