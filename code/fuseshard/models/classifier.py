"""A small Transformer that tells what a text is about.

B = texts in the batch, T = tokens in a text, D = width, H = heads, C = classes.
"""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

PADDING = 0
"""token number that stands for no token"""


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig:
    """The sizes of one classifier; checked when it is made."""

    num_classes: int
    """classes to choose from, C"""
    vocabulary: int = 1024
    """token numbers, `PADDING` included"""
    width: int = 64
    """features of one token, D; a multiple of `num_heads`"""
    num_layers: int = 4
    """encoder layers"""
    num_heads: int = 4
    """attention heads in a layer, H"""
    context: int = 64
    """longest text in tokens"""
    dropout: float = 0.0
    """probability that a feature is zeroed in training, after each half of a layer"""

    def __post_init__(self) -> None:
        """Refuse sizes that no model can have."""
        if self.width % self.num_heads:
            raise ValueError(
                f"ClassifierConfig: width is {self.width}, must be a multiple of num_heads "
                f"{self.num_heads} (each head takes an equal part of the features); "
                f"use width {self.width - self.width % self.num_heads + self.num_heads}."
            )
        if not 0 <= self.dropout < 1:
            raise ValueError(
                f"ClassifierConfig: dropout is {self.dropout}, must be from 0 to below 1 "
                "(a probability; at 1 nothing is left); pass dropout=0.1, for example."
            )


class Encoder(nn.Module):
    """One encoder layer: attention over the whole text and feed-forward, each added to its input.

    The same as `nn.TransformerEncoderLayer(norm_first=True)`, written out so that every operation
    that the compiler meets can be seen.
    """

    def __init__(self, config: ClassifierConfig) -> None:
        """Make both halves and the norm before each."""
        super().__init__()
        self.num_heads = config.num_heads
        self.dropout = config.dropout
        self.attention_norm = nn.LayerNorm(config.width)
        self.qkv = nn.Linear(config.width, 3 * config.width)
        self.out = nn.Linear(config.width, config.width)
        self.feed_forward_norm = nn.LayerNorm(config.width)
        self.up = nn.Linear(config.width, 4 * config.width)
        self.down = nn.Linear(4 * config.width, config.width)

    def forward(self, x: torch.Tensor, is_token: torch.Tensor) -> torch.Tensor:
        """Apply the layer.

        Args:
            x: [B, T, D] features.
            is_token: [B, 1, 1, T] bool, False where there is only padding.

        Returns:
            [B, T, D].
        """
        x = x + self._dropped(self.out(self._mixed(self.attention_norm(x), is_token)))
        hidden = functional.gelu(self.up(self.feed_forward_norm(x)))
        return x + self._dropped(self.down(hidden))

    def _mixed(self, x: torch.Tensor, is_token: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        heads = (batch, tokens, 3, self.num_heads, width // self.num_heads)
        q, k, v = self.qkv(x).view(heads).permute(2, 0, 3, 1, 4)  # each [B, H, T, D/H]
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=is_token)
        return mixed.transpose(1, 2).reshape(batch, tokens, width)

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        return functional.dropout(x, self.dropout, self.training)


class Classifier(nn.Module):
    """A Transformer encoder, the mean over a text's tokens, and a linear layer to the classes.

    Args:
        config: sizes.
        seed: of the initial parameters; the global generator is left as it was.
    """

    def __init__(self, config: ClassifierConfig, *, seed: int = 0) -> None:
        """Make the layers with parameters that depend on `seed` alone."""
        super().__init__()
        self.config = config
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.token_embedding = nn.Embedding(
                config.vocabulary, config.width, padding_idx=PADDING
            )
            self.position_embedding = nn.Embedding(config.context, config.width)
            self.layers = nn.ModuleList(Encoder(config) for _ in range(config.num_layers))
            self.norm = nn.LayerNorm(config.width)
            self.head = nn.Linear(config.width, config.num_classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score every class.

        Args:
            tokens: [B, T] token numbers, int64, T at most `config.context`; texts shorter than T
                end in `PADDING`, which changes no result. A text has at least one token.

        Returns:
            [B, C] logits.
        """
        is_token = tokens != PADDING
        positions = torch.arange(tokens.shape[-1], device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for layer in self.layers:
            x = layer(x, is_token[:, None, None, :])
        weights = is_token / is_token.sum(dim=-1, keepdim=True)
        mean = (self.norm(x) * weights[:, :, None]).sum(dim=1)
        return self.head(mean)
