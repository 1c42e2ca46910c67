"""MiniGPT split by hand: attention by heads, feed-forward by features, vocabulary by tokens.

N = ranks, B = sequences, T = tokens, D = width, H = heads, V = vocabulary.
"""

from copy import deepcopy
from typing import Literal, get_args

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional

from fuseshard.distributed.tensor.assemble import check_untied
from fuseshard.distributed.tensor.exchange import Group
from fuseshard.distributed.tensor.placements import check_sizes, minigpt_placements
from fuseshard.distributed.tensor.sequence import (
    RegatheringLinear,
    gather_sequence,
    reduce_replicated_gradients,
    scatter_sequence,
)
from fuseshard.distributed.tensor.vocabulary import (
    VocabularyParallelEmbedding,
    check_tokens,
    vocabulary_parallel_cross_entropy,
)
from fuseshard.distributed.tensor_parallel import (
    ColumnParallelLinear,
    RowParallelLinear,
    copy_to_group,
    reduce_from_group,
)
from fuseshard.models.minigpt import Block, MiniGPT

Activations = Literal["whole", "sharded", "regathered"]
"""between parallel regions, a rank has all tokens, or T/N; "regathered" also saves only T/N"""


class Attention(nn.Module):
    """Causal self-attention with H/N heads on each rank."""

    def __init__(self, qkv: nn.Module, out: nn.Module, head_width: int) -> None:
        """Take both projections, already split.

        Args:
            qkv: [B, T, D] to this rank's queries, keys and values, [B, T, 3 D/N].
            out: this rank's heads, [B, T, D/N], to [B, T, D].
            head_width: features of one head.
        """
        super().__init__()
        self.qkv, self.out, self.head_width = qkv, out, head_width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Mix tokens, each head by itself, on the rank that has it."""
        by_head = self.qkv(x).unflatten(-1, (3, -1, self.head_width))
        q, k, v = by_head.permute(2, 0, 3, 1, 4)  # each [B, H/N, T, D/H]
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


class TensorParallelMiniGPT(nn.Module):
    """This rank's part of a MiniGPT; parameters keep the names that they have in the whole.

    Args:
        model: the whole model, equal on all ranks; copied.
        group: ranks that take part; None means all.
        activations: what a rank has between parallel regions, see `Activations`.
    """

    def __init__(
        self, model: MiniGPT, group: Group = None, *, activations: Activations = "whole"
    ) -> None:
        """Copy this rank's part of each parameter."""
        super().__init__()
        if activations not in get_args(Activations):
            raise ValueError(
                f"TensorParallelMiniGPT: activations is {activations!r}, must be one of "
                f"{', '.join(get_args(Activations))} (what a rank has between products); use one"
            )
        check_untied(model)
        self.group, self.activations, self.config = group, activations, model.config
        self.placements = minigpt_placements(model.config, dist.get_world_size(group))
        self._enter = copy_to_group if activations == "whole" else gather_sequence
        self._leave = reduce_from_group if activations == "whole" else scatter_sequence
        ranges = self.placements["token_embedding.weight"].ranges
        self.token_embedding = VocabularyParallelEmbedding(
            model.token_embedding, group, ranges=ranges, leave=self._leave
        )
        self.position_embedding = deepcopy(model.position_embedding)
        self.blocks = nn.ModuleList(
            self._block(block, f"blocks.{index}") for index, block in enumerate(model.blocks)
        )
        self.norm = deepcopy(model.norm)
        self.head = self._column(model.head, "head")

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score this rank's tokens of the vocabulary as the next one.

        Args:
            tokens: [B, T] token numbers, int64, equal on all ranks.

        Returns:
            [B, T, V/N] logits.

        Communicates:
            2 all-reduces of [B, T, D] a block and 1 for the embedding, forward; as many backward,
            the last one for the head; see `costs.step_bytes`.
        """
        positions = torch.arange(tokens.shape[-1], device=tokens.device)
        if self.activations != "whole":
            size, rank = dist.get_world_size(self.group), dist.get_rank(self.group)
            check_sizes(self.config, size, sequence_length=tokens.shape[-1])
            positions = positions.chunk(size)[rank]
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def loss(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the mean cross-entropy over all tokens, equal on all ranks.

        Args:
            logits: [B, T, V/N] of this rank.
            targets: [B, T] token numbers, equal on all ranks.

        Raises:
            ValueError: a target is outside the vocabulary.
        """
        check_tokens("targets", targets, self.config.vocabulary)
        start = self.token_embedding.start
        return vocabulary_parallel_cross_entropy(logits, targets, start, self.group)

    def finish_gradients(self) -> None:
        """Complete the gradients after `backward`: add up what saw only this rank's tokens."""
        if self.activations != "whole":
            whole = [p for n, p in self.named_parameters() if self.placements[n].dim is None]
            reduce_replicated_gradients(whole, self.group)

    def _block(self, block: nn.Module, name: str) -> Block:
        """A block with the same norms and split halves."""
        assert isinstance(block, Block)
        attention, feed_forward = block.attention, block.feed_forward
        split = deepcopy(block)
        mine = Attention(
            self._column(attention.qkv, f"{name}.attention.qkv"),
            self._row(attention.out, f"{name}.attention.out"),
            attention.out.in_features // attention.num_heads,
        )
        split.add_module("attention", mine)
        up = self._column(feed_forward.up, f"{name}.feed_forward.up")
        down = self._row(feed_forward.down, f"{name}.feed_forward.down")
        split.feed_forward.add_module("up", up)
        split.feed_forward.add_module("down", down)
        return split

    def _column(self, linear: nn.Linear, name: str) -> nn.Module:
        ranges = self.placements[f"{name}.weight"].ranges
        if self.activations == "regathered":
            return RegatheringLinear(linear, self.group, ranges=ranges)
        return ColumnParallelLinear(linear, self.group, ranges=ranges, enter=self._enter)

    def _row(self, linear: nn.Linear, name: str) -> nn.Module:
        ranges = self.placements[f"{name}.weight"].ranges
        return RowParallelLinear(linear, self.group, ranges=ranges, leave=self._leave)
