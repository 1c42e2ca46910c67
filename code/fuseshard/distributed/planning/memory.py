"""Bytes that the fullest GPU of a layout holds.

h = width, k = width of keys and values, f = width of the feed-forward part, V = vocabulary,
s = tokens in a sequence, b = sequences in a micro-batch, e = bytes of an activation.
"""

from __future__ import annotations

from fuseshard.distributed.planning import shape
from fuseshard.distributed.planning.records import Degrees, Memory, ModelShape

LOGIT_BYTES = 4
"""bytes of a logit: the loss keeps them in float32"""
_GATHERED_AT_ONCE = 2
"""units that FSDP holds whole: the one in use and the one that is on its way"""


def state_bytes_per_parameter(model: ModelShape) -> int:
    """Return the bytes that training keeps for a parameter: 16 in mixed precision with Adam.

    Args:
        model: the shape.

    Source:
        Rajbhandari et al. 2020, section 3.1, arXiv:1910.02054: 2 + 2 + 12.
    """
    return model.weight_bytes + model.gradient_bytes + model.optimizer_bytes


def layer_input_bytes(model: ModelShape, micro_batch: float) -> float:
    """Return the bytes of a layer's input, e b s h: what recomputing keeps of a layer.

    Args:
        model: the shape.
        micro_batch: b, sequences.
    """
    return float(model.activation_bytes * micro_batch * model.sequence * model.width)


def layer_activation_bytes(model: ModelShape, micro_batch: float) -> float:
    """Return the bytes that one layer keeps for its backward pass, without scores.

    Kept are the inputs of both norms, of the projections in and out, queries, keys, values, and
    inside the feed-forward part 2 f numbers, or 4 f with a gate: 16 h numbers in a GPT, 34 b s h
    bytes with dropout's two masks. An attention that forms its scores again keeps none of them.

    Args:
        model: the shape.
        micro_batch: b, sequences.

    Source:
        Korthikanti et al. 2022, section 4.1, arXiv:2205.05198, without its term 5 a s/h.
    """
    inner = (4 if model.is_gated else 2) * model.feed_forward_width
    numbers = 6 * model.width + 2 * shape.kv_width(model) + inner
    masks = 2 * model.width if model.has_dropout else 0
    tokens = micro_batch * model.sequence
    return float(tokens * (model.activation_bytes * numbers + masks))


def head_activation_bytes(model: ModelShape, micro_batch: float) -> float:
    """Return the bytes kept by last norm, head and loss: b s (2 e h + 4 V).

    Args:
        model: the shape.
        micro_batch: b, sequences.

    Source:
        Korthikanti et al. 2022, section 4.3, arXiv:2205.05198.
    """
    numbers = 2 * model.activation_bytes * model.width + LOGIT_BYTES * model.vocabulary
    return float(micro_batch * model.sequence * numbers)


def micro_batch_size(model: ModelShape, degrees: Degrees) -> float:
    """Return b, the sequences in a micro-batch.

    Args:
        model: the shape.
        degrees: the layout; its shards of the batch must come out even.
    """
    return model.global_batch / (degrees.dp * degrees.fsdp) / degrees.num_micro_batches


def kept_bytes(model: ModelShape, degrees: Degrees, in_flight: int) -> float:
    """Return the bytes of a stage's layers for the micro-batches in flight, before tp divides.

    Args:
        model: the shape.
        degrees: the layout.
        in_flight: micro-batches whose backward pass is still to come.
    """
    micro_batch = micro_batch_size(model, degrees)
    layers = model.num_layers // degrees.pp
    whole = layer_activation_bytes(model, micro_batch)
    if degrees.recomputes:
        return in_flight * layers * layer_input_bytes(model, micro_batch) + whole
    return in_flight * layers * whole


def gathered_bytes(model: ModelShape, degrees: Degrees) -> float:
    """Return the bytes of what FSDP holds whole: two units' weights, one unit's gradients.

    Args:
        model: the shape.
        degrees: the layout.
    """
    if degrees.fsdp == 1:
        return 0.0
    per_parameter = _GATHERED_AT_ONCE * model.weight_bytes + model.gradient_bytes
    return per_parameter * shape.largest_unit(model) / degrees.tp


def memory(model: ModelShape, degrees: Degrees) -> Memory:
    """Return what the fullest GPU holds: one of the first stage, or one of the last.

    Under 1F1B the first stage keeps min(pp, micro-batches) micro-batches, the last stage one, and
    the head besides. Tensor parallelism is taken with sequence parallelism, which divides all
    activations by tp.

    Args:
        model: the shape.
        degrees: the layout.
    """
    first, last = shape.stage_parameters(model, degrees.pp)
    per_parameter = state_bytes_per_parameter(model) / (degrees.tp * degrees.fsdp)
    head = head_activation_bytes(model, micro_batch_size(model, degrees))
    in_flight = min(degrees.pp, degrees.num_micro_batches)
    kept_first = kept_bytes(model, degrees, in_flight) + (head if degrees.pp == 1 else 0.0)
    kept_last = kept_bytes(model, degrees, 1) + head
    gathered = gathered_bytes(model, degrees)
    of_first = Memory(first * per_parameter, gathered, kept_first / degrees.tp)
    of_last = Memory(last * per_parameter, gathered, kept_last / degrees.tp)
    return of_first if of_first.total_bytes >= of_last.total_bytes else of_last
