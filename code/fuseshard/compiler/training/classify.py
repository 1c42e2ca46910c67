"""Training steps of the small classifier, eager and compiled, over batch sizes and lengths.

B = texts in the batch, T = tokens in a text.
"""

import timeit
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, count

import torch

from fuseshard.compiler.breakeven import one_way
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.training.published import wait_for
from fuseshard.compiler.training.records import ClassifierSweep, LengthRun, LengthRuns
from fuseshard.compiler.training.trainer import (
    Batch,
    Trainer,
    batches_of,
    one_pass,
    sorted_batches,
    trimmed,
)
from fuseshard.measure.clock import compare, fresh_compile, sweep
from fuseshard.measure.experiments import experiment
from fuseshard.measure.records import Sweep
from fuseshard.models.classifier import PADDING, ClassifierConfig

EAGER, COMPILED = "eager", "compiled"
"""names of the two variants in every comparison"""

SWEPT = ("float32", "bfloat16")
"""precisions that the GPU sweep compares"""

NUM_CLASSES = 5

GPU_BATCHES = (8, 32, 128, 512)

GPU_LENGTHS_BATCH, GPU_LENGTHS, GPU_BUCKET = 64, (16, 48, 32, 64, 32, 16, 64, 48), 32
"""texts in a batch, tokens of the texts of each batch, and the multiple of the bucketed way"""

LENGTHS_TRIED = 4
"""batches in a pass over varying lengths"""

ROUNDS, LIVE_ROUNDS = 15, 8
"""of a recording, and of a sweep while the page is built; from 8 on there is a verdict"""

_FRESH = count()


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


def batch_sweep(
    batches: Sequence[int],
    *,
    device: str = "cpu",
    precisions: Sequence[str] = SWEPT,
    config: ClassifierConfig | None = None,
    budget_s: float = 30.0,
) -> ClassifierSweep:
    """Time a training step eager and compiled over batch sizes, all texts of full length.

    Args:
        batches: texts in a batch, growing; each size is compiled for itself.
        device: "cpu" (one thread) or "cuda".
        precisions: some of `SWEPT`.
        config: the model's sizes; None means those of `ClassifierConfig`.
        budget_s: seconds of timing for all sizes together; compiling comes on top.
    """
    sizes = config or ClassifierConfig(num_classes=NUM_CLASSES)

    def variants(batch: int) -> dict[str, Callable[[], object]]:
        (data,) = made_up([sizes.context], batch=batch, device=device, context=sizes.context)
        return {
            f"{precision} {name}": one_pass(
                Trainer(sizes, compiled=name == COMPILED, precision=precision, device=device),
                [data],
            )
            for precision in precisions
            for name in (EAGER, COMPILED)
        }

    together = sweep(
        variants, batches, size_name="texts", budget_s=budget_s, rounds=ROUNDS, device=device
    )
    return ClassifierSweep(
        device=device,
        length=sizes.context,
        width=sizes.width,
        num_layers=sizes.num_layers,
        sweeps={precision: one_way(together, precision) for precision in precisions},
        origin=together.origin,
    )


def live_sweep(
    trainers: Mapping[str, Trainer],
    passes: Mapping[int, Mapping[str, Sequence[Batch]]],
    *,
    budget_s: float = 6.0,
) -> Sweep:
    """Time passes over given batches on the CPU, with trainers that were compiled before.

    Args:
        trainers: "eager" and "compiled"; the second takes every shape without compiling anew.
        passes: texts in a batch -> for each trainer the batches of a pass.
        budget_s: seconds for all sizes together.
    """

    def variants(size: int) -> dict[str, Callable[[], object]]:
        return {name: one_pass(trainers[name], fed) for name, fed in passes[size].items()}

    sizes = sorted(passes)
    return sweep(variants, sizes, size_name="texts", budget_s=budget_s, rounds=LIVE_ROUNDS)


def feeding(texts: Batch, sizes: Sequence[int]) -> dict[str, dict[int, dict[str, list[Batch]]]]:
    """Prepare passes for `live_sweep`: texts of full length, and texts of varying lengths.

    Args:
        texts: padded to one common length, all in one batch.
        sizes: texts in a batch.

    Returns:
        Way to feed -> texts in a batch -> "eager" and "compiled" -> batches. The ways: "fixed", one
        batch of texts that fill it; "padded", four from short texts to long ones, which the
        compiled model gets padded and eager mode cut; "cut", the same, cut for both.
    """
    is_full = (texts.tokens != PADDING).all(dim=-1)
    full = Batch(texts.tokens[is_full], texts.labels[is_full])
    ways: dict[str, dict[int, dict[str, list[Batch]]]] = {"fixed": {}, "padded": {}, "cut": {}}
    for size in sizes:
        fixed = batches_of(full, size, num_batches=1)
        varying = sorted_batches(texts, size, num_batches=LENGTHS_TRIED)
        cut = [trimmed(batch) for batch in varying]
        ways["fixed"][size] = {EAGER: fixed, COMPILED: fixed}
        ways["padded"][size] = {EAGER: cut, COMPILED: varying}
        ways["cut"][size] = {EAGER: cut, COMPILED: cut}
    return ways


def graphs_by_length(lengths: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Count the graphs that a series of batches makes torch.compile capture, without Inductor.

    Args:
        lengths: tokens of the batches, in order.

    Returns:
        How shapes are treated, "static", "automatic" or "dynamic" -> graphs after each batch.
    """
    vocabulary = ClassifierConfig(num_classes=NUM_CLASSES).vocabulary
    embedding = torch.nn.Embedding(vocabulary, NUM_CLASSES)
    batches = made_up(lengths, batch=3, device="cpu", context=max(lengths))
    tokens = [trimmed(batch).tokens for batch in batches]
    settings = {"static": False, "automatic": None, "dynamic": True}
    return {name: _graph_counts(embedding, tokens, dynamic) for name, dynamic in settings.items()}


def _graph_counts(
    embedding: torch.nn.Embedding, batches: Sequence[torch.Tensor], dynamic: bool | None
) -> tuple[int, ...]:
    """Count graphs after each of a series of batches."""
    compiled = torch.compile(_unknown(embedding), backend="eager", dynamic=dynamic)
    return tuple(accumulate(graphs_captured(partial(compiled, x)) for x in batches))


def _unknown(embedding: torch.nn.Embedding) -> Callable[[torch.Tensor], torch.Tensor]:
    """Put the smallest of classifiers, a mean of embeddings, in a function new to Dynamo.

    It remembers which sizes varied by a function's file, line and name, also across compiles, so
    that a copy alone (`isolated`) would begin with dynamic shapes. Seen on torch 2.13.
    """

    def call(tokens: torch.Tensor) -> torch.Tensor:
        return embedding(tokens).mean(dim=1)

    call.__code__ = call.__code__.replace(co_name=f"call_{next(_FRESH)}")
    return call


def length_ways(
    batches: Sequence[Batch], bucket: int
) -> dict[str, tuple[Sequence[Batch], bool | None]]:
    """List the ways to feed batches of varying lengths, with torch.compile's settings for each.

    Args:
        batches: padded to one common length.
        bucket: multiple to which a bucketed batch is padded.

    Returns:
        name -> the batches as that way pads them, and torch.compile's `dynamic`; None is eager.
    """
    exact = [trimmed(batch) for batch in batches]
    bucketed = [trimmed(batch, bucket) for batch in batches]
    return {
        "eager": (exact, None),
        "padded": (batches, False),
        "bucketed": (bucketed, False),
        "dynamic": (exact, True),
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
        precision: one of `SWEPT`.
        config: the model's sizes; None means those of `ClassifierConfig`.
        budget_s: seconds of timing; compiling comes on top.
    """
    sizes = config or ClassifierConfig(num_classes=NUM_CLASSES)
    passes, runs = {}, {}
    for name, (fed, dynamic) in length_ways(batches, bucket).items():
        trainer = Trainer(
            sizes,
            compiled=dynamic is not None,
            dynamic=dynamic,
            precision=precision,
            device=device,
        )
        passes[name] = one_pass(trainer, fed)
        tokens = sum(batch.tokens.numel() for batch in fed)
        with fresh_compile():
            begin_s = timeit.default_timer()
            graphs = graphs_captured(passes[name])
            wait_for(device)
            first_pass_s = timeit.default_timer() - begin_s
        runs[name] = LengthRun(graphs=graphs, tokens=tokens, first_pass_s=first_pass_s)
    comparison = compare(passes, rounds=ROUNDS, budget_s=budget_s, device=device)
    return LengthRuns(
        device=device,
        batch=len(batches[0].labels),
        lengths=tuple(batch.longest for batch in batches),
        context=batches[0].tokens.shape[-1],
        real_tokens=sum(int((batch.tokens != PADDING).sum()) for batch in batches),
        ways=runs,
        comparison=comparison,
    )


@experiment("training.classifier-batches-gpu", needs="cuda", processes=5)
def batches_on_gpu() -> ClassifierSweep:
    """Time the classifier's training step on a CUDA GPU, in float32 and under autocast."""
    return batch_sweep(GPU_BATCHES, device="cuda")


@experiment("training.classifier-lengths-gpu", needs="cuda", processes=5)
def lengths_on_gpu() -> LengthRuns:
    """Time texts of varying lengths on a CUDA GPU, under autocast."""
    context = ClassifierConfig(num_classes=NUM_CLASSES).context
    batches = made_up(GPU_LENGTHS, batch=GPU_LENGTHS_BATCH, device="cuda", context=context)
    return length_runs(batches, bucket=GPU_BUCKET, device="cuda", precision="bfloat16")
