"""The ledger of one model, what each axis divides, and layouts side by side."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.distributed.planning import shape
from fuseshard.distributed.planning.communication import traffic
from fuseshard.distributed.planning.memory import (
    head_activation_bytes,
    layer_activation_bytes,
    layer_input_bytes,
    state_bytes_per_parameter,
)
from fuseshard.distributed.planning.records import Cluster, Degrees, ModelShape
from fuseshard.distributed.planning.step_time import limit, times
from fuseshard.show.planner.layouts import GIB
from fuseshard.show.planner.words import LIMITS, layout_name
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, plain, word


def ledger_table(model: ModelShape) -> Table:
    """List what training a model on one sequence keeps, undivided.

    Args:
        model: the shape.
    """
    count = model.num_layers
    parameters = shape.num_parameters(model)
    state = state_bytes_per_parameter(model) * parameters
    layers = count * layer_activation_bytes(model, 1)
    recomputing = count * layer_input_bytes(model, 1) + layer_activation_bytes(model, 1)
    rows: list[tuple[Text, float]] = [
        (word("weights"), model.weight_bytes * parameters),
        (word("gradients"), model.gradient_bytes * parameters),
        (word("optimizer: float32 copy and two moments"), model.optimizer_bytes * parameters),
        (word("all that a parameter needs"), state),
        (word("activations of all layers, one sequence"), layers),
        (word("the same, recomputing"), recomputing),
        (word("activations of norm, head and loss, one sequence"), head_activation_bytes(model, 1)),
    ]
    table = TableBuilder("ledger", word("What training keeps, before anything is divided."))
    table.texts(word("Part"), [name for name, _ in rows])
    table.numbers(word("Memory"), [num_bytes / GIB for _, num_bytes in rows], "GiB")
    return table.build()


def axis_table(model: ModelShape, num_ways: int) -> Table:
    """List what a GPU sends in a step if all GPUs belong to one axis.

    Args:
        model: the shape; its batch is cut into as many micro-batches as there are sequences on
            each rank that has data of its own.
        num_ways: GPUs, and the degree of that axis.
    """
    each = model.global_batch // num_ways
    layouts = {
        "DP": Degrees(num_ways, 1, 1, 1, each, False),
        "FSDP": Degrees(1, num_ways, 1, 1, each, False),
        "TP": Degrees(1, 1, num_ways, 1, model.global_batch, False),
        "PP": Degrees(1, 1, 1, num_ways, model.global_batch, False),
    }
    sent = [traffic(model, degrees) for degrees in layouts.values()]
    total = [t.tensor_bytes + t.pipeline_bytes + t.shard_bytes + t.replicate_bytes for t in sent]
    names = {
        "DP": word("the batch"),
        "FSDP": word("the batch, and between uses all state"),
        "TP": word("each layer's matrices and activations"),
        "PP": word("the list of layers"),
    }
    messages = {
        "DP": word("gradients, once a step"),
        "FSDP": word("weights twice and gradients once, for each micro-batch"),
        "TP": word("activations, four times for each layer and micro-batch"),
        "PP": word("activations and their gradients, for each micro-batch"),
    }
    table = TableBuilder(
        "axes", word("What each axis divides, and what one GPU then sends in a step.")
    )
    table.texts(word("Axis"), [plain(f"{name} {num_ways}") for name in layouts])
    table.texts(word("Divides"), list(names.values()))
    table.texts(word("Sends"), list(messages.values()))
    table.numbers(word("Sent"), [num_bytes / 1e9 for num_bytes in total], "GB")
    return table.build()


def side_by_side(
    model: ModelShape, cluster: Cluster, layouts: Sequence[Degrees], *, name: str
) -> Table:
    """Put layouts beside one another, with the seconds that each axis costs.

    Args:
        model: the shape.
        cluster: the machines.
        layouts: they needn't fit.
        name: unique on its page.
    """
    found = [times(model, cluster, degrees) for degrees in layouts]
    table = TableBuilder(name, word("Seconds of a step, by what they go to."))
    table.texts(word("Layout"), [layout_name(degrees) for degrees in layouts])
    table.numbers(word("computing"), [t.compute_s for t in found], "s")
    table.numbers(plain("TP"), [t.tensor_s for t in found], "s")
    table.numbers(plain("FSDP"), [t.shard_s for t in found], "s")
    table.numbers(plain("PP"), [t.pipeline_s for t in found], "s")
    table.numbers(word("bubble"), [t.bubble_s for t in found], "s")
    table.numbers(word("Step"), [t.step_s for t in found], "s")
    limits = [LIMITS[limit(t, cluster, d)] for t, d in zip(found, layouts, strict=True)]
    table.texts(word("Largest loss"), limits)
    return table.build()
