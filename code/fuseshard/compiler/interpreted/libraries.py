"""What CUDA runs as library calls and a CPU build of torch has no answer to: fused attention.

Matrix products, convolutions and most other calls go to torch's own CPU functions. Attention has
three operators of its own on CUDA, forward and backward; here all of them are the plain formula.

B = batch, H = heads, T = queries, S = keys, D = features of a head.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

LSE_ALIGNMENT = 32
"""to a multiple of this the efficient kernels pad the saved logarithms of each row"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Everything besides the tensors that decides what attention computes."""

    is_causal: bool = False
    scale: float | None = None
    """factor of the scores; None means 1/sqrt(D)"""
    dropout: float = 0.0
    """share of the weights that is set to zero, between 0 and 1"""
    seed: torch.Tensor | None = None
    """[] or [2] integers from which the dropout mask is drawn, the same in forward and backward"""


@contextmanager
def attention_operators() -> Iterator[None]:
    """Register answers to CUDA's attention operators for the CPU while the block runs."""
    answers = {
        "_scaled_dot_product_flash_attention": flash,
        "_scaled_dot_product_flash_attention_backward": flash_backward,
        "_scaled_dot_product_efficient_attention": efficient,
        "_scaled_dot_product_efficient_attention_backward": efficient_backward,
        "_scaled_dot_product_cudnn_attention": cudnn,
        "_scaled_dot_product_cudnn_attention_backward": cudnn_backward,
    }
    library = torch.library.Library("aten", "IMPL")
    for name, answer in answers.items():
        library.impl(name, answer, "CPU")
    try:
        yield
    finally:
        # Private, checked on torch 2.11 and 2.13: the only way to take a registration back.
        library._destroy()


def attention(
    tensors: Sequence[torch.Tensor], bias: torch.Tensor | None, options: Options
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute softmax(scale q k^T + bias) v in at least float32, and round once.

    Args:
        tensors: q [B, H, T, D], k and v [B, H', S, D]; H' divides H, and each head of k and v
            serves H/H' heads of q in a row. Not modified.
        bias: added to the scores, broadcast to [B, H, T, S]; None for none.
        options: what else there is to say.

    Returns:
        [B, H, T, D] in q's type, and the logarithm of each row's sum, [B, H, T].
    """
    q, k, v = _widened(tensors)
    scores = _scores(q, k, bias, options)
    weights = torch.softmax(scores, -1) * _kept(scores, options)
    return (weights @ v).to(tensors[0].dtype), torch.logsumexp(scores, -1)


def attention_backward(
    grad: torch.Tensor,
    tensors: Sequence[torch.Tensor],
    bias: torch.Tensor | None,
    options: Options,
) -> tuple[torch.Tensor | None, ...]:
    """Differentiate `attention` by its formula.

    With P the weights, M what dropout multiplies them with and dO the output's gradient:
    dV = (P M)^T dO,  dP = M (dO V^T),  dS = P (dP - rowsum(P dP)),  dQ = scale dS K,
    dK = scale dS^T Q.

    Args:
        grad: dO, [B, H, T, D].
        tensors: q, k and v, as `attention` takes them.
        bias: as `attention` takes it.
        options: with the forward pass's seed, where there is dropout.

    Returns:
        Gradients of q, k, v and the bias, each in its tensor's shape and type; None for a bias
        that isn't there.
    """
    q, k, v = _widened(tensors)
    (upstream,) = _widened([grad])
    scores = _scores(q, k, bias, options)
    weights, kept = torch.softmax(scores, -1), _kept(scores, options)
    of_weights = kept * (upstream @ v.mT)
    of_scores = weights * (of_weights - (weights * of_weights).sum(-1, keepdim=True))
    scaled = _scale(q, options) * of_scores
    gradients = (scaled @ k, scaled.mT @ q, (kept * weights).mT @ upstream)
    shaped = [_heads_summed(g, x).to(x.dtype) for g, x in zip(gradients, tensors, strict=True)]
    of_bias = None if bias is None else of_scores.sum_to_size(bias.shape).to(bias.dtype)
    return *shaped, of_bias


def flash(*operands: Any, **settings: Any) -> tuple[Any, ...]:
    """Answer aten::_scaled_dot_product_flash_attention."""
    query, key, value, *rest = operands
    dropout_p = _at(rest, 0)
    seed = _drawn(dropout_p, (2,)).to(torch.uint64)
    options = Options(is_causal=_at(rest, 1), dropout=dropout_p, seed=seed, **settings)
    output, sums = attention((query, key, value), None, options)
    unused = torch.zeros((), dtype=torch.uint64)
    return output, sums, None, None, query.shape[2], key.shape[2], seed, unused, None


def flash_backward(grad: torch.Tensor, *operands: Any, **settings: Any) -> tuple[Any, ...]:
    """Answer aten::_scaled_dot_product_flash_attention_backward."""
    query, key, value, *_, dropout_p, is_causal, seed, _ = operands
    options = Options(is_causal=is_causal, dropout=dropout_p, seed=seed, **settings)
    return tuple(attention_backward(grad, (query, key, value), None, options)[:3])


def efficient(*operands: Any, **settings: Any) -> tuple[Any, ...]:
    """Answer aten::_scaled_dot_product_efficient_attention."""
    query, key, value, bias, with_sums, *rest = operands
    dropout_p = _at(rest, 0)
    seed = _drawn(dropout_p, ())
    options = Options(is_causal=_at(rest, 1), dropout=dropout_p, seed=seed, **settings)
    output, sums = attention((query, key, value), bias, options)
    padded = torch.nn.functional.pad(sums, (0, -sums.shape[-1] % LSE_ALIGNMENT))
    kept = padded if with_sums else sums.new_empty((*sums.shape[:2], 0))
    return output, kept, seed, torch.zeros_like(seed)


def efficient_backward(grad: torch.Tensor, *operands: Any, **settings: Any) -> tuple[Any, ...]:
    """Answer aten::_scaled_dot_product_efficient_attention_backward."""
    query, key, value, bias, _, _, seed, _, dropout_p, wanted, *rest = operands
    options = Options(is_causal=_at(rest, 0), dropout=dropout_p, seed=seed, **settings)
    found = attention_backward(grad, (query, key, value), bias, options)
    return tuple(x if is_wanted else None for x, is_wanted in zip(found, wanted, strict=True))


def cudnn(*operands: Any, **settings: Any) -> tuple[Any, ...]:
    """Answer aten::_scaled_dot_product_cudnn_attention."""
    query, key, value, bias, _, *rest = operands
    dropout_p = _at(rest, 0)
    seed = _drawn(dropout_p, ())
    options = Options(is_causal=_at(rest, 1), dropout=dropout_p, seed=seed, **settings)
    output, sums = attention((query, key, value), bias, options)
    lengths = query.shape[2], key.shape[2]
    return output, sums.unsqueeze(-1), None, None, *lengths, seed, torch.zeros_like(seed), None


def cudnn_backward(grad: torch.Tensor, *operands: Any, **settings: Any) -> tuple[Any, ...]:
    """Answer aten::_scaled_dot_product_cudnn_attention_backward."""
    query, key, value, _, _, seed, _, bias, *_, dropout_p, is_causal = operands
    options = Options(is_causal=is_causal, dropout=dropout_p, seed=seed, **settings)
    return tuple(attention_backward(grad, (query, key, value), bias, options)[:3])


def _widened(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Take tensors to float32 or more, and repeat heads until all have as many as the first."""
    wide = [x if x.dtype == torch.float64 else x.float() for x in tensors]
    return [x.repeat_interleave(wide[0].shape[1] // x.shape[1], dim=1) for x in wide]


def _heads_summed(gradient: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """Add up what several heads of q asked of one head of k or v."""
    num_heads = tensor.shape[1]
    return gradient.unflatten(1, (num_heads, -1)).sum(2)


def _scale(q: torch.Tensor, options: Options) -> float:
    return q.shape[-1] ** -0.5 if options.scale is None else options.scale


def _scores(
    q: torch.Tensor, k: torch.Tensor, bias: torch.Tensor | None, options: Options
) -> torch.Tensor:
    """Compute scale q k^T + bias, with minus infinity for every key after the query."""
    scores = _scale(q, options) * (q @ k.mT)
    if options.is_causal:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    return scores if bias is None else scores + bias


def _kept(scores: torch.Tensor, options: Options) -> torch.Tensor:
    """Draw what dropout multiplies each weight with: 0, or 1/(1 - p) for those that stay."""
    if not options.dropout:
        return torch.ones(())
    assert options.seed is not None
    source = torch.Generator().manual_seed(int(options.seed.reshape(-1)[0]))
    is_kept = torch.rand(scores.shape, generator=source) >= options.dropout
    return is_kept / (1 - options.dropout)


def _at(values: Sequence[Any], index: int) -> Any:
    """Read an argument that may have been left out; each of them is then 0 or False."""
    return values[index] if index < len(values) else 0


def _drawn(dropout_p: float, shape: tuple[int, ...]) -> torch.Tensor:
    """Draw a seed where one is needed; without dropout no random number is spent."""
    return torch.randint(2**31, shape) if dropout_p else torch.zeros(shape, dtype=torch.int64)
