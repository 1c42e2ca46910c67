"""Training steps of the small classifier, eager and compiled, over batch sizes and lengths.

B = texts in the batch, T = tokens in a text.
"""

import timeit
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import torch
from torch.nn import functional

from fuseshard.compiler.breakeven import one_way
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.training.published import wait_for
from fuseshard.compiler.training.records import ClassifierSweep, LengthRun, LengthRuns
from fuseshard.measure.clock import compare, fresh_compile, sweep
from fuseshard.measure.experiments import experiment
from fuseshard.models.classifier import PADDING, Classifier, ClassifierConfig

EAGER, COMPILED = "eager", "compiled"
"""names of the two variants in every comparison"""

PRECISIONS = ("float32", "bfloat16")

NUM_CLASSES = 5

GPU_BATCHES = (8, 32, 128, 512)

GPU_LENGTHS_BATCH, GPU_LENGTHS, GPU_BUCKET = 64, (16, 48, 32, 64, 32, 16, 64, 48), 32
"""texts in a batch, tokens of the texts of each batch, and the multiple of the bucketed way"""

LEARNING_RATE = 1e-3

ROUNDS = 15

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


def made_up(lengths: Sequence[int], *, batch: int, device: str, context: int) -> list[Batch]:
    """Draw batches of texts from the vocabulary; one batch a length, all texts of that length.

    Args:
        lengths: tokens of the texts of each batch.
        batch: texts in a batch.
        device: where the tensors lie.
        context: unused tokens up to here are `PADDING`.
    """
    generator = torch.Generator().manual_seed(0)
    vocabulary = ClassifierConfig(num_classes=NUM_CLASSES).vocabulary
    batches = []
    for length in lengths:
        tokens = torch.full((batch, context), PADDING)
        drawn = torch.randint(PADDING + 1, vocabulary, (batch, length), generator=generator)
        tokens[:, :length] = drawn
        labels = torch.randint(NUM_CLASSES, (batch,), generator=generator)
        batches.append(Batch(tokens.to(device), labels.to(device)))
    return batches


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
            precision: "float32", or "bfloat16" for autocast.
            device: where everything lies.
        """
        self.model = Classifier(config).to(device)
        self.forward: Forward = self.model
        if compiled:
            self.forward = torch.compile(isolated(self.model), dynamic=dynamic)
        parameters = self.model.parameters()
        self.optimizer = torch.optim.AdamW(parameters, lr=LEARNING_RATE, fused=True)
        self._precision, self._device = precision, device

    def __call__(self, batch: Batch) -> torch.Tensor:
        """Train for one step on `batch` and return its loss."""
        self.optimizer.zero_grad()
        with self._autocast():
            loss = functional.cross_entropy(self.forward(batch.tokens), batch.labels)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def _autocast(self) -> AbstractContextManager[object]:
        if self._precision == "float32":
            return nullcontext()
        return torch.autocast(self._device, dtype=torch.bfloat16)


def batch_sweep(
    batches: Sequence[int],
    *,
    device: str = "cpu",
    precisions: Sequence[str] = PRECISIONS,
    config: ClassifierConfig | None = None,
    budget_s: float = 30.0,
) -> ClassifierSweep:
    """Time a training step eager and compiled over batch sizes, all texts of full length.

    Args:
        batches: texts in a batch, growing; each size is compiled for itself.
        device: "cpu" (one thread) or "cuda".
        precisions: some of `PRECISIONS`.
        config: the model's sizes; None means those of `ClassifierConfig`.
        budget_s: seconds of timing for all sizes together; compiling comes on top.
    """
    sizes = config or ClassifierConfig(num_classes=NUM_CLASSES)

    def variants(batch: int) -> dict[str, Callable[[], object]]:
        (data,) = made_up([sizes.context], batch=batch, device=device, context=sizes.context)
        return {
            f"{precision} {name}": _bound(
                Trainer(sizes, compiled=name == COMPILED, precision=precision, device=device),
                [data],
            )
            for precision in precisions
            for name in (EAGER, COMPILED)
        }

    clock = {} if device == "cpu" else {"device": device}
    together = sweep(
        variants, batches, size_name="texts", budget_s=budget_s, rounds=ROUNDS, **clock
    )
    return ClassifierSweep(
        device=device,
        length=sizes.context,
        width=sizes.width,
        num_layers=sizes.num_layers,
        sweeps={precision: one_way(together, precision) for precision in precisions},
        origin=together.origin,
    )


def _bound(trainer: Trainer, batches: Sequence[Batch]) -> Callable[[], None]:
    """Make one pass over batches a function without arguments."""

    def one_pass() -> None:
        for batch in batches:
            trainer(batch)

    return one_pass


def trimmed(batch: Batch, multiple: int = 1) -> Batch:
    """Cut off columns that hold padding only, but keep the length a multiple.

    Args:
        batch: not modified.
        multiple: of the resulting length, unless the batch itself is shorter; a bucket's width.
    """
    length = -(-batch.longest // multiple) * multiple
    return replace(batch, tokens=batch.tokens[:, :length].contiguous())


def length_ways(
    batches: Sequence[Batch], bucket: int
) -> dict[str, tuple[Sequence[Batch], dict[str, bool | None]]]:
    """List the ways to feed batches of varying lengths to a model, with torch.compile's settings.

    Args:
        batches: padded to one common length.
        bucket: multiple to which a bucketed batch is padded.

    Returns:
        name -> the batches as that way pads them, and how its model is made.
    """
    exact = [trimmed(batch) for batch in batches]
    bucketed = [trimmed(batch, bucket) for batch in batches]
    return {
        "eager": (exact, {"compiled": False}),
        "padded": (batches, {"compiled": True, "dynamic": False}),
        "bucketed": (bucketed, {"compiled": True, "dynamic": False}),
        "dynamic": (exact, {"compiled": True, "dynamic": True}),
    }


def length_runs(
    batches: Sequence[Batch],
    *,
    bucket: int,
    device: str = "cpu",
    precision: str = "float32",
    config: ClassifierConfig | None = None,
    budget_s: float = 20.0,
) -> LengthRuns:
    """Time a pass over batches of varying lengths, fed to the model in each of the ways.

    Args:
        batches: padded to one common length, all of one size.
        bucket: multiple to which a bucketed batch is padded.
        device: "cpu" (one thread) or "cuda".
        precision: one of `PRECISIONS`.
        config: the model's sizes; None means those of `ClassifierConfig`.
        budget_s: seconds of timing; compiling comes on top.
    """
    sizes = config or ClassifierConfig(num_classes=NUM_CLASSES)
    passes, runs = {}, {}
    for name, (fed, settings) in length_ways(batches, bucket).items():
        trainer = Trainer(sizes, precision=precision, device=device, **settings)  # type: ignore[arg-type]
        passes[name] = _bound(trainer, fed)
        tokens = sum(batch.tokens.numel() for batch in fed)
        with fresh_compile():
            begin_s = timeit.default_timer()
            graphs = graphs_captured(passes[name])
            wait_for(device)
            first_pass_s = timeit.default_timer() - begin_s
        runs[name] = LengthRun(graphs=graphs, tokens=tokens, first_pass_s=first_pass_s)
    clock = {} if device == "cpu" else {"device": device}
    comparison = compare(passes, rounds=ROUNDS, budget_s=budget_s, **clock)
    return LengthRuns(
        device=device,
        batch=len(batches[0].labels),
        lengths=tuple(batch.longest for batch in batches),
        context=batches[0].tokens.shape[-1],
        real_tokens=sum(int((batch.tokens != PADDING).sum()) for batch in batches),
        ways=runs,
        comparison=comparison,
    )


@experiment("training.classifier-batches-gpu", needs="cuda")
def batches_on_gpu() -> ClassifierSweep:
    """Time the classifier's training step on a CUDA GPU, in float32 and under autocast."""
    return batch_sweep(GPU_BATCHES, device="cuda")


@experiment("training.classifier-lengths-gpu", needs="cuda")
def lengths_on_gpu() -> LengthRuns:
    """Time texts of varying lengths on a CUDA GPU, under autocast."""
    context = ClassifierConfig(num_classes=NUM_CLASSES).context
    batches = made_up(GPU_LENGTHS, batch=GPU_LENGTHS_BATCH, device="cuda", context=context)
    return length_runs(batches, bucket=GPU_BUCKET, device="cuda", precision="bfloat16")
