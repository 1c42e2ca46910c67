"""Does compiled training follow eager training? Rounding or bug, for a whole series of losses."""

from collections.abc import Sequence

import torch

from fuseshard.compiler.training.records import Trajectories
from fuseshard.compiler.training.trainer import Batch, Trainer
from fuseshard.models.classifier import ClassifierConfig

LEFT_OUT = 5
"""index of the step whose update the wrong run leaves out"""


def losses(
    trainer: Trainer, batches: Sequence[Batch], *, left_out: int | None = None
) -> tuple[float, ...]:
    """Train over batches and return the loss of each step.

    Args:
        trainer: is trained.
        batches: one a step.
        left_out: index of a step whose update doesn't happen; None does them all.
    """
    series = []
    for i, batch in enumerate(batches):
        step = trainer.gradients if i == left_out else trainer
        series.append(float(step(batch)))
    return tuple(series)


def trajectories(
    compiled: Trainer, batches: Sequence[Batch], config: ClassifierConfig
) -> Trajectories:
    """Train the same model four ways on the same batches.

    Args:
        compiled: not trained yet.
        batches: one a step.
        config: of all four models.
    """
    double = Trainer(config, compiled=False, precision="float64")
    eager, wrong = (Trainer(config, compiled=False) for _ in range(2))
    return Trajectories(
        double=losses(double, batches),
        eager=losses(eager, batches),
        compiled=losses(compiled, batches),
        step_left_out=losses(wrong, batches, left_out=LEFT_OUT),
    )


def bias_differences(one: Trainer, other: Trainer) -> dict[str, float]:
    """Compare what two trainings made of the attention's biases.

    A key bias shifts all scores of a query by the same amount, which softmax ignores: its gradient
    is 0 but for rounding, and an optimizer that divides by the gradient's size makes steps of it.

    Args:
        one: trained.
        other: trained on the same batches.

    Returns:
        "query", "key" and "value" -> largest absolute difference over all layers.
    """
    found = {"query": 0.0, "key": 0.0, "value": 0.0}
    for a, b in zip(one.model.layers, other.model.layers, strict=True):
        difference = (_bias(a) - _bias(b)).abs()
        for name, part in zip(found, difference.chunk(3), strict=True):
            found[name] = max(found[name], float(part.max()))
    return found


def _bias(layer: torch.nn.Module) -> torch.Tensor:
    return layer.qkv.bias.detach().double()  # type: ignore[union-attr,operator]
