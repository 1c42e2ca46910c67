"""What sharded training keeps and sends, as closed formulas. No torch here.

N = ranks, P = parameters, S = bytes of all parameters. The stages are those of the ZeRO paper:
0 shards nothing (data parallelism), 1 the optimizer states, 2 the gradients too, 3 all.
"""

import math
from fractions import Fraction

from fuseshard.distributed.zero.records import FLOAT32, BytesPerParameter, ModelStates

STAGES = (0, 1, 2, 3)


def model_state_bytes(
    num_parameters: float, world_size: int, stage: int, *, each: BytesPerParameter = FLOAT32
) -> ModelStates:
    """Compute what one rank keeps: what is sharded takes 1/N of what a whole copy would.

    Args:
        num_parameters: P.
        world_size: N.
        stage: 0 to 3.
        each: bytes of one parameter, its gradient and its optimizer states.

    Returns:
        bytes, padding not counted: a shard of a tensor that N doesn't divide is a little larger.

    Raises:
        ValueError: an argument can't work.

    Source:
        Rajbhandari et al. 2020, section 5, arXiv:1910.02054.
    """
    _check(num_parameters, world_size, stage)
    parts = [world_size if stage >= first else 1 for first in (3, 2, 1)]
    whole = (each.parameter, each.gradient, each.optimizer_states)
    parameters, gradients, states = (
        num_parameters * size / part for size, part in zip(whole, parts, strict=True)
    )
    return ModelStates(parameters=parameters, gradients=gradients, optimizer_states=states)


def step_traffic_bytes(
    parameter_bytes: float, world_size: int, stage: int, *, kept_bytes: float = 0
) -> float:
    """Compute what one rank sends in a step: so many times (N - 1)/N of the parameters.

    Stage 0 all-reduces the gradients: 2. Stages 1 and 2 reduce-scatter them and all-gather the
    new parameters: 2. Stage 3 gathers before the forward and before the backward pass and
    reduce-scatters: 3, less what needn't be gathered again.

    Args:
        parameter_bytes: S, also the bytes of all gradients.
        world_size: N.
        stage: 0 to 3.
        kept_bytes: stage 3 alone; parameters that stay whole from the forward to the backward
            pass: 0 if all are freed, S if none is.

    Returns:
        bytes, padding not counted.

    Raises:
        ValueError: an argument can't work.

    Source:
        Rajbhandari et al. 2020, section 7, arXiv:1910.02054.
    """
    _check(parameter_bytes, world_size, stage)
    if not 0 <= kept_bytes <= parameter_bytes:
        raise ValueError(
            f"kept_bytes is {kept_bytes!r}, required is 0 to {parameter_bytes} (it is a part of "
            "the parameters); pass the bytes of the units that aren't freed after the forward pass"
        )
    moved = 3 * Fraction(parameter_bytes) - Fraction(kept_bytes)
    if stage < 3:
        moved = 2 * Fraction(parameter_bytes)
    return float(moved * (world_size - 1) / world_size)


def check_stage(stage: object) -> None:
    """Refuse what is no stage of ZeRO.

    Args:
        stage: 0 to 3.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(stage, bool) or stage not in STAGES:
        raise ValueError(
            f"stage is {stage!r}, required is 0, 1, 2 or 3 (0 shards nothing, 1 optimizer states, "
            "2 gradients too, 3 parameters too); pass one of them"
        )


def check_world_size(world_size: object) -> None:
    """Refuse what is no number of ranks.

    Args:
        world_size: a whole number of at least 1.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(world_size, bool) or not isinstance(world_size, int) or world_size < 1:
        raise ValueError(
            f"world_size is {world_size!r}, required is a whole number of at least 1 (it is the "
            "number of ranks among which states are divided); pass 1 for one process"
        )


def check_positive(name: str, value: object) -> None:
    """Refuse what is no positive, finite number.

    Args:
        name: what the error calls it.
        value: a number above 0.

    Raises:
        ValueError: it is something else.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not math.isfinite(value) or value <= 0:  # type: ignore[arg-type, operator]
        raise ValueError(
            f"{name} is {value!r}, required is a positive, finite number (nothing can be computed "
            "from another one); pass a number above 0"
        )


def _check(amount: object, world_size: object, stage: object) -> None:
    check_positive("the number of parameters or bytes", amount)
    check_world_size(world_size)
    check_stage(stage)
