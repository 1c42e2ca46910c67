"""Kernels that multiply tiles, run by Triton's interpreter; a script for test_tiles.py.

Bounds: one operation in float32 errs by u = 2**-24 of its result, a sum of n numbers by n u of the
sum of their sizes, whatever the order. Products of two 16-bit numbers are exact in float32.
"""

from types import ModuleType
from typing import Any

import torch
from case_tools import DTYPES, STORE, TINY, U, drawn, excess, refusal, report, with_mistake

from fuseshard.kernels import (
    flash_attention,
    linear_cross_entropy,
    logit_gradient,
    products,
    reference,
)
from fuseshard.kernels.plans import TilePlan

Tensors = tuple[torch.Tensor, ...]
KEYS_AT_A_TIME = 16
WORDS_AT_A_TIME = 64
RESCALE = 6
"""errors, in u, of one exp and one product: what a step of an online sum adds"""


def attention_tiles(head_size: int) -> TilePlan:
    """Tiles small enough that 33 positions are several of them."""
    depth = max(16, 1 << (head_size - 1).bit_length())
    return TilePlan(rows=32, columns=KEYS_AT_A_TIME, depth=depth, num_warps=4, num_stages=2)


LINEAR_TILES = TilePlan(rows=16, columns=WORDS_AT_A_TIME, depth=32, num_warps=4, num_stages=2)


def heads(length: int, head_size: int, dtype: torch.dtype) -> Tensors:
    """Draw q, k and v for 2 x 1 heads."""
    shape = (2, 1, length, head_size)
    return tuple(drawn(*shape, dtype=dtype, seed=seed, spread=2.0) for seed in (1, 2, 3))


def attention_excess(module: ModuleType, qkv: Tensors, *, is_causal: bool) -> dict[str, float]:
    """A score errs by D u of its products' sizes, a probability by as much, and by its storage."""
    q, k, v = (t.double() for t in qkv)
    length, head_size = q.shape[-2:]
    store, tiny = STORE[qkv[0].dtype], TINY[qkv[0].dtype]
    expected, lse = reference.attention(*qkv, is_causal=is_causal)
    scale = head_size**-0.5
    score = ((q.abs() @ k.abs().transpose(-1, -2)).amax() * scale * (head_size + 6) * U).item()
    steps = (length + RESCALE * (length / KEYS_AT_A_TIME + 2) + 10) * U
    # Twice the scores' error: in the probabilities and in their sum.
    absolute, _ = reference.attention(*qkv[:2], qkv[2].abs(), is_causal=is_causal)
    bound = absolute * (2 * score + store + steps) + expected.abs() * store
    bound += length * tiny * v.abs().amax() + tiny
    got, got_lse = module.flash_attention(
        *qkv, is_causal=is_causal, tiles=attention_tiles(head_size)
    )
    return {
        "out": excess(got, expected, bound),
        "lse": excess(got_lse, lse, score + steps + lse.abs() * 4 * U),
    }


def attention_cases() -> dict[str, float]:
    """Lengths and head sizes that fill no tile, causal and not; in every type one of them."""
    found = {}
    for name, dtype in DTYPES.items():
        more = ((1, 16), (70, 128)) if dtype == torch.float32 else ()
        for length, head_size in ((33, 40), *more):
            for is_causal in (False, True):
                qkv = heads(length, head_size, dtype)
                errors = attention_excess(flash_attention, qkv, is_causal=is_causal)
                case = f"{name} {length} {head_size} {is_causal}"
                found |= {f"{which} {case}": value for which, value in errors.items()}
    return found


def layer(dtype: torch.dtype) -> Tensors:
    """Draw hidden states of 33 tokens, weights of 601 words, and targets; no size fills a tile."""
    hidden = drawn(33, 50, dtype=dtype, seed=4)
    weight = drawn(601, 50, dtype=dtype, seed=5, spread=0.2)
    target = torch.randint(601, (33,), generator=torch.Generator().manual_seed(6))
    target[:3] = torch.tensor([0, 600, 64])  # first and last word, and the first of a tile
    return hidden, weight, target


def loss_excess(module: ModuleType, data: Tensors, *, num_splits: int) -> float:
    """Two logits' errors, and those of a sum of V terms that is rescaled at every tile."""
    hidden, weight, _ = data
    score = (hidden.double().abs() @ weight.double().abs().T).amax() * (hidden.shape[1] + 1) * U
    words = weight.shape[0]
    steps = (words + RESCALE * (words / WORDS_AT_A_TIME + 2) + 10) * U
    expected = reference.linear_cross_entropy(*data)
    got, lse = module.token_losses(*data, tiles=LINEAR_TILES, num_splits=num_splits)
    return excess(got, expected, 2 * score + steps + 4 * U * (lse.abs() + expected))


def gradient_excess(module: ModuleType, data: Tensors, *, chunk_words: int) -> dict[str, float]:
    """A gradient of a logit errs as a probability does, and by storage; products add theirs."""
    hidden, weight, target = data
    store, tiny = STORE[hidden.dtype], TINY[hidden.dtype]
    tokens, words = len(hidden), len(weight)
    hidden64, weight64 = (t.double().requires_grad_() for t in (hidden, weight))
    reference.linear_cross_entropy(hidden64, weight64, target).mean().backward()
    lse = (hidden.double() @ weight.double().T).logsumexp(-1)
    d_hidden, d_weight = module.mean_loss_gradients(
        *data, lse=lse.float(), tiles=LINEAR_TILES, chunk_words=chunk_words
    )
    with torch.no_grad():
        score = (hidden64.abs() @ weight64.abs().T).amax() * (hidden.shape[1] + 1) * U
        p = (hidden64 @ weight64.T - lse[:, None]).exp()
        d_logits = (p - torch.nn.functional.one_hot(target, words)).abs()
        # Stored once before the product and once after; the product sums up to V or N terms.
        size = d_logits * (2 * store + (words + 10) * U) + tiny
        size += p * (score + (lse.abs() * U)[:, None] + 10 * U)
        hidden_bound = size @ weight64.abs() / tokens + hidden64.grad.abs() * store
        weight_bound = size.T @ hidden64.abs() / tokens + weight64.grad.abs() * store + tiny
    return {
        "d_hidden": excess(d_hidden, hidden64.grad, hidden_bound),
        "d_weight": excess(d_weight, weight64.grad, weight_bound),
    }


def loss_cases() -> dict[str, float]:
    """Losses in every type and with any number of splits; gradients with any size of chunk."""
    found = {}
    for name, dtype in DTYPES.items():
        data = layer(dtype)
        for num_splits in (1, 3) if dtype == torch.float32 else (3,):
            value = loss_excess(linear_cross_entropy, data, num_splits=num_splits)
            found[f"loss {name} {num_splits}"] = value
        for chunk_words in (208, 8192) if dtype == torch.float32 else (208,):
            errors = gradient_excess(logit_gradient, data, chunk_words=chunk_words)
            found |= {f"{which} {name} {chunk_words}": value for which, value in errors.items()}
    return found


def attention_mistakes() -> dict[str, float]:
    """Attention with one mistake each, under the same bounds; and tiles from the last to the first.

    The order of tiles doesn't matter where all keys are seen. With a causal mask the last tile
    shows nothing to the first queries, and a sum that starts with nothing is no number.
    """

    def error(right: str, wrong: str, *, is_causal: bool) -> float:
        module = with_mistake(flash_attention, right, wrong)
        qkv = heads(40, 16, torch.float32)
        return attention_excess(module, qkv, is_causal=is_causal)["out"]

    walk = "        keys = start + tl.arange(0, BLOCK_K)\n"
    backwards = f"        start = (end - 1) // BLOCK_K * BLOCK_K - start\n{walk}"
    return {
        "total without rescaling": error("total * rescale +", "total +", is_causal=False),
        "values without rescaling": error("acc * rescale[:, None]", "acc", is_causal=False),
        "keys beyond the last": error(
            "length - 1, tl.int32", "length + BLOCK_K, tl.int32", is_causal=False
        ),
        "a key too late": error(
            "tl.minimum(last_key, queries)", "tl.minimum(last_key, queries + 1)", is_causal=True
        ),
        "last tile first, causal": error(walk, backwards, is_causal=True),
        "last tile first": error(walk, backwards, is_causal=False),
    }


def loss_mistakes() -> dict[str, float]:
    """Losses and their gradients with one mistake each, under the same bounds."""
    data = layer(torch.float32)
    no_rescale = with_mistake(
        linear_cross_entropy, "total *= tl.exp(largest - new_largest)", "total *= 1.0"
    )
    no_mask = with_mistake(
        linear_cross_entropy, "words[None, :] < num_words, logits", "True, logits"
    )
    next_word = with_mistake(
        logit_gradient, "words[None, :] == target", "words[None, :] + 1 == target"
    )
    no_chunks = with_mistake(logit_gradient, "d_hidden.add_(", "d_hidden.zero_().add_(")
    return {
        "total without rescaling": loss_excess(no_rescale, data, num_splits=1),
        "words beyond the last": loss_excess(no_mask, data, num_splits=1),
        "the word before the target": gradient_excess(next_word, data, chunk_words=208)["d_weight"],
        "the last chunk alone": gradient_excess(no_chunks, data, chunk_words=208)["d_hidden"],
    }


def autograd_case() -> dict[str, Any]:
    """A training step's view of the loss: a scalar times something, and two gradients."""
    hidden, weight, target = layer(torch.float32)
    leaves = [t.clone().requires_grad_() for t in (hidden, weight)]
    doubles = [t.double().requires_grad_() for t in (hidden, weight)]
    loss = linear_cross_entropy.linear_cross_entropy(*leaves, target, tiles=LINEAR_TILES)
    expected = reference.linear_cross_entropy(*doubles, target).mean()
    (3 * loss).backward()
    (3 * expected).backward()
    near = {"rtol": 1e-4, "atol": 1e-6}  # as gradient_excess says, roughly: V u and more
    return {
        "shape": list(loss.shape),
        "dtype": str(loss.dtype),
        "loss": abs(loss.item() - expected.item()) < 1e-5,
        "gradients": [
            torch.allclose(a.grad.double(), b.grad, **near)
            for a, b in zip(leaves, doubles, strict=True)
        ],
    }


def special_values() -> dict[str, Any]:
    """Logits and scores whose exp is infinite, and a target that isn't there."""
    hidden, weight, target = layer(torch.float32)
    losses, _ = linear_cross_entropy.token_losses(1e3 * hidden, weight, target, tiles=LINEAR_TILES)
    outside, _ = linear_cross_entropy.token_losses(
        hidden, weight, torch.full_like(target, 601), tiles=LINEAR_TILES
    )
    q, k, v = heads(33, 16, torch.float32)
    out, lse = flash_attention.flash_attention(1e4 * q, k, v, tiles=attention_tiles(16))
    return {
        "large logits": bool(losses.isfinite().all()),
        "target outside": bool((outside == float("inf")).all()),
        "large scores": bool(out.isfinite().all() and lse.isfinite().all()),
    }


def raw_product() -> dict[str, float]:
    """What tl.dot makes of bfloat16 in the interpreter, without add_product's way around it."""
    plain = with_mistake(products, "if INTERPRETED:", "if False:")
    qkv = heads(33, 16, torch.bfloat16)
    module = with_mistake(
        flash_attention,
        "from fuseshard.kernels.products import",
        f"from {plain.__name__} import",
    )
    return attention_excess(module, qkv, is_causal=False)


def refusals() -> dict[str, str]:
    """What launchers say of arguments that a kernel would misread."""
    q, k, v = heads(4, 16, torch.float32)
    hidden, weight, target = layer(torch.float32)
    attend, loss = flash_attention.flash_attention, linear_cross_entropy.linear_cross_entropy
    small = TilePlan(rows=16, columns=16, depth=16, num_warps=4, num_stages=2)
    large = torch.zeros(1, 1, 4, 129)
    wide = torch.zeros(1, 1, 4, 32)
    return {
        "dims": refusal(lambda: attend(q[0], k[0], v[0])),
        "head": refusal(lambda: attend(large, large, large)),
        "keys": refusal(lambda: attend(q, k[:, :, :3].contiguous(), v)),
        "scale": refusal(lambda: attend(q, k, v, scale=-1.0)),
        "depth": refusal(lambda: attend(wide, wide, wide, tiles=small)),
        "gradient": refusal(lambda: attend(q, k, v.clone().requires_grad_())),
        "tile": refusal(lambda: TilePlan(rows=24, columns=16, depth=16, num_warps=4, num_stages=2)),
        "hidden": refusal(lambda: loss(hidden[:, :49].contiguous(), weight, target)),
        "vocabulary": refusal(lambda: loss(hidden, weight[:0], target)),
        "target": refusal(lambda: loss(hidden, weight, target.int())),
        "targets": refusal(lambda: loss(hidden, weight, target[1:].clone())),
        "splits": refusal(lambda: loss(hidden, weight, target, num_splits=0)),
        "lse": refusal(
            lambda: logit_gradient.mean_loss_gradients(hidden, weight, target, lse=torch.zeros(32))
        ),
    }


def main() -> None:
    report(
        {
            "attention": attention_cases(),
            "loss": loss_cases(),
            "attention mistakes": attention_mistakes(),
            "loss mistakes": loss_mistakes(),
            "autograd": autograd_case(),
            "special": special_values(),
            "raw product": raw_product(),
            "refusals": refusals(),
        }
    )
