"""Writing tokens with MiniGPT one at a time, with a cache that grows and with one that doesn't.

B = sequences, P = tokens of the prompt, C = places in a fixed cache, L = layers, H = heads,
E = features of one head, V = vocabulary. Everything is greedy: the likeliest token comes next.
"""

from collections.abc import Callable

import torch
from torch.nn import functional

from fuseshard.models.minigpt import Attention, Block, MiniGPT

KeysValues = tuple[torch.Tensor, torch.Tensor]
"""keys and values of one layer, each [B, H, tokens, E]"""

GrowingCache = list[KeysValues]
"""one pair a layer, of as many tokens as have been read"""

Keep = Callable[[int, torch.Tensor, torch.Tensor], KeysValues]
NextLogits = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def recompute(model: MiniGPT, prompt: torch.Tensor, num_tokens: int) -> torch.Tensor:
    """Write tokens without a cache: read the whole sequence anew for each of them.

    Args:
        model: which one.
        prompt: [B, P], int64.
        num_tokens: how many to write; P + num_tokens at most the model's context.

    Returns:
        [B, num_tokens]: the oracle of the other ways.
    """
    tokens = prompt
    for _ in range(num_tokens):
        likeliest = model(tokens)[:, -1].argmax(dim=-1, keepdim=True)
        tokens = torch.cat([tokens, likeliest], dim=1)
    return tokens[:, prompt.shape[1] :]


def prefill(model: MiniGPT, prompt: torch.Tensor) -> tuple[torch.Tensor, GrowingCache]:
    """Read a prompt in one pass, and keep the keys and values of its tokens.

    Args:
        model: which one.
        prompt: [B, P], int64.

    Returns:
        The first token to write, [B, 1], and the cache.
    """
    cache: GrowingCache = []

    def keep(layer: int, k: torch.Tensor, v: torch.Tensor) -> KeysValues:
        # Copied, because a view has other strides than what a concatenation makes of it later,
        # and a compiled step is guarded on strides.
        cache.append((k.contiguous(), v.contiguous()))
        return cache[-1]

    length = prompt.shape[1]
    causal = torch.ones(length, length, dtype=torch.bool, device=prompt.device).tril()
    positions = torch.arange(length, device=prompt.device)
    logits = _logits(model, prompt, positions, keep=keep, mask=causal)
    return logits.argmax(dim=-1, keepdim=True), cache


def growing_step(
    model: MiniGPT, token: torch.Tensor, position: torch.Tensor, cache: GrowingCache
) -> tuple[torch.Tensor, GrowingCache]:
    """Read one token with a cache of exactly as many places as there are tokens before it.

    Args:
        model: which one.
        token: [B, 1], int64.
        position: [1], int64: how many tokens came before.
        cache: of those tokens; not modified.

    Returns:
        [B, V] logits of the next token, and a cache that is one token longer.
    """
    grown: GrowingCache = []

    def keep(layer: int, k: torch.Tensor, v: torch.Tensor) -> KeysValues:
        before_k, before_v = cache[layer]
        # Concatenation copies the whole cache, and its result has another shape at every step.
        grown.append((torch.cat([before_k, k], dim=2), torch.cat([before_v, v], dim=2)))
        return grown[-1]

    return _logits(model, token, position, keep=keep, mask=None), grown


def static_cache(model: MiniGPT, cache: GrowingCache, places: int) -> torch.Tensor:
    """Copy a prompt's keys and values into a cache of fixed size.

    Args:
        model: which one.
        cache: from `prefill`.
        places: C, tokens of prompt and answer together at most.

    Returns:
        [L, 2, B, H, C, E], zeros where no token has been read.
    """
    batch, heads, length, features = cache[0][0].shape
    fixed = cache[0][0].new_zeros(len(model.blocks), 2, batch, heads, places, features)
    for layer, keys_values in enumerate(cache):
        fixed[layer, :, :, :, :length] = torch.stack(keys_values)
    return fixed


def static_step(
    model: MiniGPT, token: torch.Tensor, position: torch.Tensor, cache: torch.Tensor
) -> torch.Tensor:
    """Read one token with a cache of fixed size: every shape is the same at every step.

    Args:
        model: which one.
        token: [B, 1], int64.
        position: [1], int64: how many tokens came before. A tensor, because a Python number
            would be a constant of the graph, and each position would compile anew.
        cache: [L, 2, B, H, C, E]; place `position` is written.

    Returns:
        [B, V] logits of the next token.
    """

    def keep(layer: int, k: torch.Tensor, v: torch.Tensor) -> KeysValues:
        cache[layer, 0].index_copy_(2, position, k)
        cache[layer, 1].index_copy_(2, position, v)
        return cache[layer, 0], cache[layer, 1]

    seen = torch.arange(cache.shape[4], device=cache.device) <= position  # [C]
    return _logits(model, token, position, keep=keep, mask=seen[None])


def greedy(
    next_logits: NextLogits, first: torch.Tensor, start: int, num_tokens: int
) -> torch.Tensor:
    """Write tokens with a step that remembers what it has read.

    Args:
        next_logits: token [B, 1] and position [1] to the logits of the next token, [B, V].
        first: [B, 1]: the first token to write.
        start: its position.
        num_tokens: how many to write, the first included.

    Returns:
        [B, num_tokens].
    """
    written = [first]
    for position in range(start, start + num_tokens - 1):
        logits = next_logits(written[-1], torch.tensor([position], device=first.device))
        written.append(logits.argmax(dim=-1, keepdim=True))
    return torch.cat(written, dim=1)


def _logits(
    model: MiniGPT,
    tokens: torch.Tensor,
    positions: torch.Tensor,
    *,
    keep: Keep,
    mask: torch.Tensor | None,
) -> torch.Tensor:
    """MiniGPT's forward pass, with `keep` between a layer's new keys and those it looks at."""
    x = model.token_embedding(tokens) + model.position_embedding(positions)
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        q, k, v = _heads(block.attention, block.attention_norm(x))
        keys, values = keep(layer, k, v)
        mixed = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        x = x + block.attention.out(mixed.transpose(1, 2).flatten(2))
        x = x + block.feed_forward(block.feed_forward_norm(x))
    return model.head(model.norm(x[:, -1]))


def _heads(attention: Attention, x: torch.Tensor) -> torch.Tensor:
    """Project tokens: [B, tokens, D] to queries, keys and values, [3, B, H, tokens, E]."""
    batch, tokens, width = x.shape
    heads = (batch, tokens, 3, attention.num_heads, width // attention.num_heads)
    return attention.qkv(x).view(heads).permute(2, 0, 3, 1, 4)
