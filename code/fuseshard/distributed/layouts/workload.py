"""The step that every layout has to reproduce: one model, one batch, one process.

B = sequences of the whole batch, T = tokens of a sequence, m = micro-batches of a pipeline.
"""

from dataclasses import dataclass, field

import torch
from torch.nn.functional import cross_entropy

from fuseshard.distributed.equivalence import gradients
from fuseshard.distributed.layouts.records import Layout
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

Tensors = dict[str, torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A model and a batch, equal under each layout."""

    config: MiniGPTConfig = field(
        default_factory=lambda: MiniGPTConfig(
            vocabulary=120, width=32, num_layers=4, num_heads=4, context=12
        )
    )
    "sizes of the model"
    num_sequences: int = 8
    "sequences of the whole batch, B"
    num_tokens: int = 12
    "tokens of a sequence, T"
    num_micro_batches: int = 4
    "micro-batches into which a pipeline cuts each rank's share, m"

    def batch(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Make the whole batch: [B, T] tokens and [B, T] targets, equal on each call."""
        generator = torch.Generator().manual_seed(7)
        shape = (self.num_sequences, self.num_tokens + 1)
        text = torch.randint(0, self.config.vocabulary, shape, generator=generator)
        return text[:, :-1].contiguous(), text[:, 1:].contiguous()

    def share(self, index: int, num_shares: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Cut one part out of the batch.

        Args:
            index: 0 to `num_shares` - 1.
            num_shares: parts of equal size.

        Returns:
            [B/num_shares, T] tokens and targets.
        """
        tokens, targets = self.batch()
        return tokens.chunk(num_shares)[index], targets.chunk(num_shares)[index]

    def check(self, layout: Layout, world_size: int) -> None:
        """Refuse a layout that can't split this step, before any process starts.

        Args:
            layout: the degrees.
            world_size: number of processes that there will be.

        Raises:
            ValueError: names the degree that doesn't fit, and one that would.
        """
        if layout.world_size != world_size:
            raise ValueError(
                f"check: the layout {layout.name} has {layout.world_size} ranks, required are "
                f"{world_size} (each process has one place in the mesh); change a degree or start "
                f"{layout.world_size} processes"
            )
        num_micro_batches = self.num_micro_batches if layout.pp > 1 else 1
        if layout.pp > self.num_micro_batches:
            raise ValueError(
                f"check: the layout {layout.name} has pp = {layout.pp}, required is at most "
                f"{self.num_micro_batches}, the number of micro-batches (1F1B needs one for each "
                "stage to begin with); use a smaller pp or more micro-batches"
            )
        vocabulary = self.config.vocabulary
        demands = (
            ("tp", layout.tp, self.config.num_heads, "heads", "each rank has whole heads"),
            ("pp", layout.pp, self.config.num_layers, "layers", "each stage has as many layers"),
            (
                "dp × fsdp × micro-batches",
                layout.num_shares * num_micro_batches,
                self.num_sequences,
                "sequences",
                "means of parts of equal size average to the whole mean, others don't",
            ),
            ("fsdp × tp", layout.fsdp * layout.tp, self.config.width, "features", _EVEN),
            ("fsdp × tp", layout.fsdp * layout.tp, vocabulary, "tokens in the vocabulary", _EVEN),
        )
        for axis, degree, size, what, why in demands:
            if size % degree:
                fitting = [n for n in range(1, size + 1) if size % n == 0]
                raise ValueError(
                    f"check: the layout {layout.name} has {axis} = {degree}, required is a "
                    f"divisor of {size}, the number of {what} ({why}); use one of {fitting}"
                )

    def reference(self, dtype: torch.dtype) -> Tensors:
        """Compute the step in this process alone.

        Args:
            dtype: of parameters and activations.

        Returns:
            the loss under "loss", and the gradients by parameter name.
        """
        model = MiniGPT(self.config).to(dtype)
        tokens, targets = self.batch()
        loss = cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        return {"loss": loss.detach()} | gradients(model)


_EVEN = "FSDP2 and tensor parallelism together need even parts"
