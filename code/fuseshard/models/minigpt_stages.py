"""MiniGPT cut into stages, pieces of consecutive layers, for a pipeline.

B = sequences in a micro-batch, T = tokens in a sequence, D = width, V = vocabulary.
"""

from itertools import pairwise

import torch
from torch import nn

from fuseshard.models.minigpt import MiniGPT


class MiniGPTStage(nn.Module):
    """Some consecutive blocks of a MiniGPT; the first stage embeds, the last one scores.

    Parameters are the model's own, under their names in the model: `blocks.2.attention...`.

    Args:
        model: the whole; its modules are shared, not copied.
        first: index of the first block.
        last: index after the last block.
    """

    def __init__(self, model: MiniGPT, first: int, last: int) -> None:
        """Take over the modules of these blocks, and those of the model's ends."""
        super().__init__()
        if first == 0:
            self.token_embedding = model.token_embedding
            self.position_embedding = model.position_embedding
        self.blocks = nn.ModuleDict({str(i): model.blocks[i] for i in range(first, last)})
        if last == len(model.blocks):
            self.norm = model.norm
            self.head = model.head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Apply the stage.

        Args:
            x: [B, T] token numbers on the first stage, else [B, T, D] activations.

        Returns:
            [B, T, V] logits on the last stage, else [B, T, D] activations.
        """
        if hasattr(self, "token_embedding"):
            positions = torch.arange(x.shape[-1], device=x.device)
            x = self.token_embedding(x) + self.position_embedding(positions)
        for block in self.blocks.values():
            x = block(x)
        return self.head(self.norm(x)) if hasattr(self, "head") else x


def cut_into_stages(model: MiniGPT, num_stages: int) -> list[MiniGPTStage]:
    """Cut a model between blocks, into stages of as many blocks as can be had equally.

    Args:
        model: its modules are shared by the stages.
        num_stages: at least 1, at most the number of blocks.

    Returns:
        stage 0 to the last; where blocks don't divide evenly, earlier stages have one more.

    Raises:
        ValueError: there are fewer blocks than stages.
    """
    num_blocks = len(model.blocks)
    if not 1 <= num_stages <= num_blocks:
        raise ValueError(
            f"cut_into_stages: num_stages is {num_stages}, required is 1 to {num_blocks} (each "
            f"stage takes whole blocks, at least one); use MiniGPTConfig(num_layers={num_stages})"
        )
    short, extra = divmod(num_blocks, num_stages)
    borders = [i * short + min(i, extra) for i in range(num_stages + 1)]
    return [MiniGPTStage(model, first, last) for first, last in pairwise(borders)]
