"""Parameters and FLOP of a transformer, counted from its shape.

h = width, k = width of keys and values, f = width of the feed-forward part, V = vocabulary,
s = tokens in a sequence, b = sequences in a micro-batch, L = layers. The widget of the book
(static/fuseshard/planner-model.js) has the same functions.
"""

from __future__ import annotations

from fuseshard.distributed.planning.records import ModelShape


def kv_width(model: ModelShape) -> int:
    """Return k, the features of a token's keys: h where each head has its own.

    Args:
        model: the shape.
    """
    return model.width // model.num_heads * model.num_kv_heads


def layer_matrix_parameters(model: ModelShape) -> int:
    """Count the parameters of a layer that stand in matrices: 2hh + 2hk + 2hf, or 3hf with a gate.

    Args:
        model: the shape.
    """
    width = model.width
    attention = 2 * width * width + 2 * width * kv_width(model)
    return attention + (3 if model.is_gated else 2) * width * model.feed_forward_width


def layer_parameters(model: ModelShape) -> int:
    """Count the parameters of one layer: its matrices, their biases and two norms.

    Args:
        model: the shape.
    """
    width = model.width
    norms = 2 * width
    if not model.has_bias:
        return layer_matrix_parameters(model) + norms
    attention = 2 * width + 2 * kv_width(model)
    feed_forward = (2 if model.is_gated else 1) * model.feed_forward_width + width
    return layer_matrix_parameters(model) + 2 * norms + attention + feed_forward


def embedding_parameters(model: ModelShape) -> int:
    """Count the parameters of the embeddings of tokens and of learned positions.

    Args:
        model: the shape.
    """
    return (model.vocabulary + model.num_positions) * model.width


def head_parameters(model: ModelShape) -> int:
    """Count the parameters of the head; 0 where it shares those of the embedding.

    Args:
        model: the shape.
    """
    if model.is_tied:
        return 0
    return model.vocabulary * model.width + (model.vocabulary if model.has_bias else 0)


def num_parameters(model: ModelShape) -> int:
    """Count all parameters: embeddings, layers, last norm and head.

    Args:
        model: the shape.
    """
    last_norm = (2 if model.has_bias else 1) * model.width
    layers = model.num_layers * layer_parameters(model)
    return embedding_parameters(model) + layers + last_norm + head_parameters(model)


def stage_parameters(model: ModelShape, pp: int) -> tuple[float, float]:
    """Count the parameters of the first and the last of `pp` stages.

    A head that shares the embedding's weights needs a copy of them where it stands alone.

    Args:
        model: the shape.
        pp: stages, a divisor of the number of layers.

    Returns:
        first stage, last stage; the same number where there is one stage.
    """
    if pp == 1:
        return num_parameters(model), num_parameters(model)
    layers = model.num_layers // pp * layer_parameters(model)
    last_norm = (2 if model.has_bias else 1) * model.width
    copy = model.vocabulary * model.width if model.is_tied else 0
    last = layers + last_norm + head_parameters(model) + copy
    return layers + embedding_parameters(model), last


def largest_unit(model: ModelShape) -> int:
    """Count the parameters of the largest part that FSDP gathers: a layer, embedding or head.

    Finer units are possible; then less is whole at a time, and more collectives are sent.

    Args:
        model: the shape.
    """
    parts = (layer_parameters(model), embedding_parameters(model), head_parameters(model))
    return max(parts)


def layer_flop(model: ModelShape, micro_batch: float) -> float:
    """Count the FLOP of one layer's forward pass: 2 a parameter and token, and the attention.

    Scores and their use cost 4 b s s h; as usual, the causal mask's half isn't taken off.

    Args:
        model: the shape.
        micro_batch: b, sequences.

    Source:
        Narayanan et al. 2021, appendix, arXiv:2104.04473: 24 b s h² + 4 b s² h with f = 4h.
    """
    tokens = micro_batch * model.sequence
    products = 2.0 * tokens * layer_matrix_parameters(model)
    return products + 4.0 * tokens * model.sequence * model.width


def head_flop(model: ModelShape, micro_batch: float) -> float:
    """Count the FLOP of the head's forward pass: 2 b s h V.

    Args:
        model: the shape.
        micro_batch: b, sequences.
    """
    return 2.0 * micro_batch * model.sequence * model.width * model.vocabulary


def step_flop(model: ModelShape, *, recomputes: bool = False) -> float:
    """Count the FLOP of a training step: the backward pass costs twice the forward pass.

    Args:
        model: the shape.
        recomputes: whether layers run forward a second time.
    """
    layers = model.num_layers * layer_flop(model, model.global_batch)
    again = layers if recomputes else 0.0
    return 3.0 * (layers + head_flop(model, model.global_batch)) + again
