"""Parameters laid end to end and cut into equal shards, one a rank.

N = ranks of the group, P = elements of the parameters, Q = elements of a shard, P/N rounded up.
"""

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import nn


class FlatParameters:
    """One buffer of N Q elements in which parameters are views; this rank's shard is a part of it.

    Args:
        params: of one dtype and device, all to be trained; their data moves into the buffer.
        group: ranks that share them; None means all.

    Raises:
        ValueError: no parameters, frozen ones, several dtypes or devices, or this rank isn't in
            the group.
    """

    def __init__(
        self, params: Sequence[nn.Parameter], group: dist.ProcessGroup | None = None
    ) -> None:
        check_flat(params, group)
        self.params = list(params)
        self.group = group
        world_size, rank = dist.get_world_size(group), dist.get_rank(group)
        self._numels = [param.numel() for param in params]
        self._shard_numel = -(-sum(self._numels) // world_size)  # rounded up
        self.full = params[0].new_zeros(world_size * self._shard_numel)
        """[N Q], the parameters and then zeros; holds nothing while `is_whole` is False"""
        self._whole_bytes = self.full.nbytes
        self.own_range = slice(rank * self._shard_numel, (rank + 1) * self._shard_numel)
        """this rank's part of the buffer"""
        for param, piece in zip(params, self._pieces(self.full), strict=True):
            piece.copy_(param.detach().flatten())
            param.data = piece.view_as(param)

    @property
    def own(self) -> torch.Tensor:
        """[Q], a view of this rank's part of the parameters."""
        return self.full[self.own_range]

    @property
    def is_whole(self) -> bool:
        """Whether the parameters hold values."""
        return self.full.untyped_storage().nbytes() > 0

    def gather(self, shard: torch.Tensor) -> None:
        """Fill the buffer with all ranks' shards, which makes the parameters whole.

        Args:
            shard: [Q], this rank's; may be `own`.

        Communicates:
            one all-gather of N Q elements, see `all_gather_bytes`.
        """
        self.full.untyped_storage().resize_(self._whole_bytes)
        all_gather_single(self.full, shard.detach(), self.group)  # sends (N - 1) Q elements

    def free(self) -> None:
        """Give the buffer's memory back; the parameters keep their shapes and lose their values."""
        self.full.untyped_storage().resize_(0)

    def lay(self, tensors: Sequence[torch.Tensor | None]) -> torch.Tensor:
        """Lay tensors end to end as the parameters are.

        Args:
            tensors: one a parameter, of its shape; None stands for zeros.

        Returns:
            [N Q], a copy, zeros where the buffer is padded.
        """
        flat = self.full.new_zeros(self._whole_bytes // self.full.element_size())
        for tensor, piece in zip(tensors, self._pieces(flat), strict=True):
            if tensor is not None:
                piece.copy_(tensor.flatten())
        return flat

    def reduce_gradients(self) -> torch.Tensor:
        """Average the gradients over ranks, keep this rank's shard, drop the whole ones.

        Returns:
            [Q], zeros where the buffer is padded.

        Communicates:
            one reduce-scatter of N Q elements, see `reduce_scatter_bytes`.
        """
        flat = self.lay([param.grad for param in self.params])
        for param in self.params:
            param.grad = None
        own = flat.new_empty(self._shard_numel)
        reduce_scatter_single(own, flat, self.group)  # sends (N - 1) Q elements
        return own.div_(dist.get_world_size(self.group))

    def _pieces(self, flat: torch.Tensor) -> Sequence[torch.Tensor]:
        """Each parameter's part of a buffer, without the padding."""
        return flat[: sum(self._numels)].split(self._numels)


def all_gather_single(
    whole: torch.Tensor, shard: torch.Tensor, group: dist.ProcessGroup | None = None
) -> None:
    """Put all ranks' shards one after the other into `whole`.

    Torch 2.13 renamed `all_gather_into_tensor` and warns of the old name; 2.11 has only that one.

    Args:
        whole: [N Q], overwritten.
        shard: [Q], this rank's; may be its part of `whole`.
        group: ranks that take part; None means all.

    Communicates:
        one all-gather, see `all_gather_bytes`.
    """
    call = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    call(whole, shard, group=group)


def reduce_scatter_single(
    shard: torch.Tensor, whole: torch.Tensor, group: dist.ProcessGroup | None = None
) -> None:
    """Sum `whole` over all ranks and keep this rank's part of the sum.

    Torch 2.13 renamed `reduce_scatter_tensor` and warns of the old name; 2.11 has only that one.

    Args:
        shard: [Q], overwritten.
        whole: [N Q], this rank's summands.
        group: ranks that take part; None means all.

    Communicates:
        one reduce-scatter, see `reduce_scatter_bytes`.
    """
    call = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor
    call(shard, whole, group=group)


def cut_in_units(
    model: nn.Module, inner: Sequence[nn.Module], group: dist.ProcessGroup | None = None
) -> list[tuple[nn.Module, list[nn.Parameter]]]:
    """Say which parameters lie in one buffer: those of each inner module, then what is left.

    Args:
        model: the whole; not modified.
        inner: modules inside it, none within another.
        group: ranks that share it; None means all.

    Returns:
        one module and its parameters a unit; the model itself comes last, if anything is left.

    Raises:
        ValueError: the model has no parameters, inner modules overlap, share parameters or aren't
            in the model, or a unit's parameters can't share a buffer, see `FlatParameters`.
    """
    rest = dict.fromkeys(model.parameters())
    found = []
    for module in inner:
        params = list(module.parameters())
        if any(param not in rest for param in params):
            raise ValueError(
                f"cut_in_units: a parameter of an inner {type(module).__name__} is in another "
                "unit or not in the model, required is one unit each (two would overwrite it); "
                "pass modules of the model, none within another"
            )
        for param in params:
            del rest[param]
        found.append((module, params))
    if rest or not found:
        found.append((model, list(rest)))
    for _, params in found:
        check_flat(params, group)
    return found


def check_flat(params: Sequence[nn.Parameter], group: dist.ProcessGroup | None = None) -> None:
    """Refuse parameters that can't share a buffer.

    Args:
        params: not modified.
        group: ranks that share them; None means all.

    Raises:
        ValueError: see `FlatParameters`.
    """
    if not params:
        raise ValueError(
            "FlatParameters: got no parameters, required is at least one (there is nothing to "
            "share out); leave modules without parameters to the unit around them"
        )
    kinds = {(str(param.dtype), str(param.device)) for param in params}
    if len(kinds) != 1:
        raise ValueError(
            f"FlatParameters: got parameters of the kinds {sorted(kinds)}, required is one dtype "
            "and device (they share a buffer); convert the module, or put them in other units"
        )
    if any(not param.requires_grad for param in params):
        raise ValueError(
            "FlatParameters: some parameters don't require a gradient, required is that all do "
            "(weight decay would change the frozen ones in the shard); use torch's fully_shard"
        )
    if dist.get_rank(group) < 0:
        raise ValueError(
            "FlatParameters: this rank is not in the group, required is a member (it keeps a "
            "shard for the others); make it on the group's ranks only"
        )
