"""MiniGPT, the small language model that the chapters share.

B = sequences in the batch, T = tokens in a sequence, D = width, H = heads, V = vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True, kw_only=True)
class MiniGPTConfig:
    """The sizes of one MiniGPT; checked when it is made."""

    vocabulary: int = 600
    """tokens that the model knows, V"""
    width: int = 64
    """features of one token, D; a multiple of `num_heads`"""
    num_layers: int = 4
    """transformer blocks"""
    num_heads: int = 4
    """attention heads in a block, H"""
    context: int = 128
    """longest sequence in tokens"""

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        for name in ("vocabulary", "width", "num_layers", "num_heads", "context"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"MiniGPTConfig: {name} is {value!r}, must be a whole number of at least 1; "
                    f"pass {name}=1 or more."
                )
        if self.width % self.num_heads:
            raise ValueError(
                f"MiniGPTConfig: width is {self.width}, must be a multiple of num_heads "
                f"{self.num_heads} (each head takes an equal part of the features); "
                f"use width {self.width - self.width % self.num_heads + self.num_heads}."
            )

    @property
    def num_parameters(self) -> int:
        """Parameters of the model: embeddings, blocks, last norm and head, by formula."""
        width, vocabulary = self.width, self.vocabulary
        attention = 4 * width * width + 4 * width
        feed_forward = 8 * width * width + 5 * width
        norms = 4 * width
        block = attention + feed_forward + norms
        embeddings = (vocabulary + self.context) * width
        head = width * vocabulary + vocabulary
        return embeddings + self.num_layers * block + 2 * width + head


class Attention(nn.Module):
    """Causal self-attention: each token looks at itself and at earlier ones."""

    def __init__(self, config: MiniGPTConfig) -> None:
        """Make the two projections, D to 3D and D to D."""
        super().__init__()
        self.num_heads = config.num_heads
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix tokens: [B, T, D] to [B, T, D]."""
        batch, tokens, width = x.shape
        heads = (batch, tokens, 3, self.num_heads, width // self.num_heads)
        q, k, v = self.qkv(x).view(heads).permute(2, 0, 3, 1, 4)  # each [B, H, T, D/H]
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))


class FeedForward(nn.Module):
    """Two linear layers with GELU between them, applied to each token alone."""

    def __init__(self, config: MiniGPTConfig) -> None:
        """Make the layers, D to 4D and back."""
        super().__init__()
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Transform tokens: [B, T, D] to [B, T, D]."""
        return self.down(functional.gelu(self.up(x)))


class Block(nn.Module):
    """One transformer block: attention and feed-forward, each added to its input."""

    def __init__(self, config: MiniGPTConfig) -> None:
        """Make both halves and the norm before each."""
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = Attention(config)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.feed_forward = FeedForward(config)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the block: [B, T, D] to [B, T, D]."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.feed_forward_norm(x))


class MiniGPT(nn.Module):
    """A GPT small enough for two CPU cores.

    Args:
        config: sizes; None means `MiniGPTConfig()`.
        seed: of the initial parameters; the global generator is left as it was.
    """

    def __init__(self, config: MiniGPTConfig | None = None, *, seed: int = 0) -> None:
        """Make the layers with parameters that depend on `seed` alone."""
        super().__init__()
        self.config = config or MiniGPTConfig()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.token_embedding = nn.Embedding(self.config.vocabulary, self.config.width)
            self.position_embedding = nn.Embedding(self.config.context, self.config.width)
            self.blocks = nn.ModuleList(Block(self.config) for _ in range(self.config.num_layers))
            self.norm = nn.LayerNorm(self.config.width)
            self.head = nn.Linear(self.config.width, self.config.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score every token of the vocabulary as the next one.

        Args:
            tokens: [B, T] token numbers, int64, T at most `config.context`.

        Returns:
            [B, T, V] logits; those at position t depend on tokens 0 to t only.

        Raises:
            ValueError: the sequence is longer than the context.
        """
        length = tokens.shape[-1]
        if length > self.config.context:
            raise ValueError(
                f"MiniGPT: the sequence has {length} tokens, must have at most "
                f"{self.config.context} (one position embedding each); shorten it or pass "
                f"MiniGPTConfig(context={length})."
            )
        positions = torch.arange(length, device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))
