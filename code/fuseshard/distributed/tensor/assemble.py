"""From a whole tensor to the ranks' parts, and back, to compare them with one process."""

from collections.abc import Mapping, Sequence

import torch
from torch import nn

from fuseshard.distributed.tensor.placements import Placement, Ranges


def take(whole: torch.Tensor, dim: int, ranges: Ranges) -> torch.Tensor:
    """Copy ranges of a tensor along one dim.

    Args:
        whole: any shape; not modified.
        dim: along which the ranges lie.
        ranges: (start, stop) pairs, in the order in which they will lie.
    """
    pieces = [whole.detach().narrow(dim, start, stop - start) for start, stop in ranges]
    return torch.cat(pieces, dim)


def take_parameter(whole: torch.Tensor, dim: int, ranges: Ranges) -> nn.Parameter:
    """Copy ranges of a parameter along one dim; what is frozen stays frozen.

    Args:
        whole: any shape; not modified.
        dim: along which the ranges lie.
        ranges: as in `take`.
    """
    return nn.Parameter(take(whole, dim, ranges), requires_grad=whole.requires_grad)


def check_untied(model: nn.Module) -> None:
    """Refuse a parameter under two names, before the model is split.

    Args:
        model: not modified.

    Raises:
        ValueError: names both.
    """
    names: dict[nn.Parameter, str] = {}
    for name, param in model.named_parameters(remove_duplicate=False):
        if param in names:
            raise ValueError(
                f"tensor_parallel: {names[param]} and {name} are one parameter, required is one "
                "name each (each would be split by itself and trained apart); untie them"
            )
        names[param] = name


def assemble(
    parts: Sequence[Mapping[str, torch.Tensor]], placements: Mapping[str, Placement]
) -> dict[str, torch.Tensor]:
    """Put parameters or gradients together; of what all ranks have, take rank 0's.

    Args:
        parts: tensors by parameter name, one mapping a rank, in rank order; not modified.
        placements: of the same parameters.

    Returns:
        whole tensors by name.

    Raises:
        ValueError: a part has another shape than its placement says.
    """
    return {name: _whole([part[name] for part in parts], placements[name]) for name in parts[0]}


def replicas_differ(
    parts: Sequence[Mapping[str, torch.Tensor]], placements: Mapping[str, Placement]
) -> list[str]:
    """Name the tensors that every rank has whole and that aren't equal bit for bit.

    Such parameters become different models at the next step of an optimizer.

    Args:
        parts: as in `assemble`.
        placements: as in `assemble`.
    """
    replicated = [name for name in parts[0] if placements[name].dim is None]
    return [
        name
        for name in replicated
        if any(not torch.equal(part[name], parts[0][name]) for part in parts[1:])
    ]


def _whole(parts: Sequence[torch.Tensor], placement: Placement) -> torch.Tensor:
    """One whole tensor."""
    for rank, part in enumerate(parts):
        expected = placement.local_shape(rank)
        if tuple(part.shape) != expected:
            raise ValueError(
                f"assemble: rank {rank} has {placement.name} of shape {tuple(part.shape)}, must "
                f"be {expected} (its placement says so); pass the placements of these parts"
            )
    if placement.dim is None:
        return parts[0].clone()
    whole = parts[0].new_empty(placement.shape)
    for part, ranges in zip(parts, placement.ranges, strict=True):
        lengths = [stop - start for start, stop in ranges]
        pieces = part.split(lengths, placement.dim)
        for (start, stop), piece in zip(ranges, pieces, strict=True):
            whole.narrow(placement.dim, start, stop - start).copy_(piece)
    return whole
