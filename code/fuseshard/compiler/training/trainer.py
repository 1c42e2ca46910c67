"""A training step of the small classifier, eager or compiled, and the batches it trains on.

B = texts in the batch, T = tokens in a text.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.models.classifier import PADDING, Classifier, ClassifierConfig

LEARNING_RATE = 2e-3

PRECISIONS = ("float32", "bfloat16", "float64")

Forward = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Batch:
    """Texts as numbers, with their classes."""

    tokens: torch.Tensor
    """[B, T] int64, `PADDING` behind the end of a text"""
    labels: torch.Tensor
    """[B] int64"""

    @property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return int((self.tokens != PADDING).sum(dim=-1).max())


class Trainer:
    """A classifier with its optimizer; one call is one training step, and returns the loss.

    The model is compiled or not; loss, backward pass and optimizer (fused AdamW) are eager in both
    cases, so that a comparison compares models.
    """

    def __init__(
        self,
        config: ClassifierConfig,
        *,
        compiled: bool,
        dynamic: bool | None = False,
        precision: str = "float32",
        device: str = "cpu",
    ) -> None:
        """Make the model with the same parameters each time.

        Args:
            config: its sizes.
            compiled: whether torch.compile gets the model.
            dynamic: torch.compile's own; False compiles each shape for itself.
            precision: "float32"; "bfloat16" for autocast; "float64" for a reference.
            device: where everything lies.

        Raises:
            ValueError: an unknown precision.
        """
        if precision not in PRECISIONS:
            raise ValueError(
                f"Trainer: precision is {precision!r}, must be one of {PRECISIONS}; "
                "bfloat16 means autocast, the others the parameters' own type."
            )
        dtype = torch.float64 if precision == "float64" else torch.float32
        self.model = Classifier(config).to(device, dtype)
        self.forward: Forward = self.model
        if compiled:
            self.forward = torch.compile(isolated(self.model), dynamic=dynamic)
        parameters = self.model.parameters()
        self.optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, fused=True)
        self._precision, self._device = precision, device

    def __call__(self, batch: Batch) -> torch.Tensor:
        """Train for one step on `batch` and return its loss."""
        loss = self.gradients(batch)
        self.optimizer.step()
        return loss

    def gradients(self, batch: Batch) -> torch.Tensor:
        """Do all of a step but the update, and return the loss of `batch`."""
        self.optimizer.zero_grad()
        with self._autocast():
            loss = functional.cross_entropy(self.forward(batch.tokens), batch.labels)
        loss.backward()
        return loss.detach()

    @torch.no_grad()
    def accuracy(self, batch: Batch) -> float:
        """Return the share of texts that the model classifies right, in eager mode."""
        self.model.eval()
        chosen = self.model(batch.tokens).argmax(dim=-1)
        self.model.train()
        return float((chosen == batch.labels).float().mean())

    def _autocast(self) -> AbstractContextManager[object]:
        if self._precision != "bfloat16":
            return nullcontext()
        return torch.autocast(self._device, dtype=torch.bfloat16)


def one_pass(trainer: Trainer, batches: Sequence[Batch]) -> Callable[[], None]:
    """Make one pass over batches a function without arguments.

    Args:
        trainer: trains for one step a batch.
        batches: in their order.
    """

    def train() -> None:
        for batch in batches:
            trainer(batch)

    return train


def trimmed(batch: Batch, multiple: int = 1) -> Batch:
    """Cut off columns that hold padding only, but keep the length a multiple.

    Args:
        batch: not modified.
        multiple: of the resulting length, unless the batch itself is shorter; a bucket's width.
    """
    length = -(-batch.longest // multiple) * multiple
    return replace(batch, tokens=batch.tokens[:, :length].contiguous())


def batches_of(texts: Batch, size: int, *, num_batches: int, seed: int = 0) -> list[Batch]:
    """Draw batches in random order; after each pass over the texts a new order begins.

    Args:
        texts: what to draw from, all in one batch.
        size: texts in a batch.
        num_batches: how many to draw.
        seed: of the order.
    """
    generator = torch.Generator().manual_seed(seed)
    per_pass = len(texts.labels) // size
    batches: list[Batch] = []
    while len(batches) < num_batches:
        order = torch.randperm(len(texts.labels), generator=generator)
        chunks = order[: per_pass * size].split(size)
        batches += [Batch(texts.tokens[chunk], texts.labels[chunk]) for chunk in chunks]
    return batches[:num_batches]


def sorted_batches(texts: Batch, size: int, *, num_batches: int) -> list[Batch]:
    """Pick batches of texts of similar length, spread evenly from short to long.

    Args:
        texts: what to pick from, all in one batch.
        size: texts in a batch.
        num_batches: how many to pick.
    """
    lengths = (texts.tokens != PADDING).sum(dim=-1)
    order = lengths.argsort(stable=True)
    last = len(order) - size
    starts = [last * i // max(num_batches - 1, 1) for i in range(num_batches)]
    chunks = [order[start : start + size] for start in starts]
    return [Batch(texts.tokens[chunk], texts.labels[chunk]) for chunk in chunks]
