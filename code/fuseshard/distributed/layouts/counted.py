"""Bytes that a step sends along each axis of a mesh: by formula, and as the meter counted them.

N = ranks along an axis, D = width, V = vocabulary, L = blocks, M = tokens that a rank computes.
"""

from collections.abc import Sequence
from fractions import Fraction

from fuseshard.distributed.layouts.records import AxisBytes, Layout
from fuseshard.distributed.layouts.workload import Workload
from fuseshard.distributed.tensor.costs import step_bytes
from fuseshard.distributed.traffic import CollectiveCall, all_reduce_bytes, reduce_scatter_bytes
from fuseshard.models.minigpt import MiniGPTConfig


def held_parameters(config: MiniGPTConfig, tp_degree: int) -> tuple[int, int]:
    """Count the parameters that a rank holds if only matrices are cut.

    Args:
        config: sizes of the model.
        tp_degree: N along "tp"; divides heads and vocabulary.

    Returns:
        of one block; of both ends together, embeddings, last norm and output head.
    """
    width, vocabulary = config.width, config.vocabulary
    cut = 12 * width * width + 7 * width  # qkv and up with biases, out and down without
    block = cut // tp_degree + 6 * width  # two norms, two biases
    ends = (2 * vocabulary * width + vocabulary) // tp_degree + (config.context + 2) * width
    return block, ends


def formula_bytes(
    workload: Workload, layout: Layout, *, element_bytes: int = 4
) -> dict[str, float]:
    """Compute what a rank sends along each axis in one step, as the mean over all ranks.

    tp      an all-reduce of an activation four times a block and twice for the ends; the loss
    pp      an activation across each border between stages, and its gradient back
    fsdp    the weights held, gathered once or twice, and their gradients, reduce-scattered
    dp      an all-reduce of the gradients held

    Args:
        workload: the step.
        layout: how it is split.
        element_bytes: of one number.

    Returns:
        axis -> bytes.
    """
    config = workload.config
    num_tokens = workload.num_sequences * workload.num_tokens // layout.num_shares
    block, ends = held_parameters(config, layout.tp)
    blocks_bytes = config.num_layers * block * element_bytes / layout.pp
    ends_bytes = ends * element_bytes / layout.pp
    held = blocks_bytes + ends_bytes
    num_gathers = 2 if layout.pp == 1 else 1  # a pipeline keeps the blocks whole
    moved = (num_gathers + 1) * blocks_bytes + 2 * ends_bytes
    activation = num_tokens * config.width * element_bytes
    tensor = step_bytes(config, num_tokens, layout.tp, element_bytes=element_bytes)
    found = {
        "pp": 2 * (layout.pp - 1) / layout.pp * activation,
        "dp": all_reduce_bytes(1, layout.dp) * held / layout.fsdp,
        "fsdp": reduce_scatter_bytes(1, layout.fsdp) * moved,
        "tp": sum(tensor.values()) / layout.pp,
    }
    return {axis: found[axis] for axis in layout.degrees}


def count_axes(
    layout: Layout, calls: Sequence[Sequence[CollectiveCall]], formulas: dict[str, float]
) -> tuple[AxisBytes, ...]:
    """Sort what was counted by the axis along which it went.

    Args:
        layout: how the step was split.
        calls: of each rank, in rank order.
        formulas: axis -> bytes, from `formula_bytes`.

    Raises:
        ValueError: a call went to ranks that are no group of the layout.
    """
    sent = dict.fromkeys(layout.degrees, Fraction(0))
    numbers = dict.fromkeys(layout.degrees, 0)
    for rank, own in enumerate(calls):
        axis_of = {layout.group(rank, axis): axis for axis in layout.degrees}
        for call in own:
            if call.group_ranks not in axis_of:
                raise ValueError(
                    f"count_axes: rank {rank} called {call.op} with the ranks {call.group_ranks}, "
                    f"required is one of {sorted(axis_of)} (each call goes along one axis); run "
                    "the step on the mesh of the same layout"
                )
            sent[axis_of[call.group_ranks]] += call.exact_sent_bytes
            numbers[axis_of[call.group_ranks]] += rank == 0 and call.op != "recv"
    return tuple(
        AxisBytes(
            axis=axis,
            counted=float(total / layout.world_size),
            formula=formulas[axis],
            num_calls=numbers[axis],
        )
        for axis, total in sent.items()
    )
