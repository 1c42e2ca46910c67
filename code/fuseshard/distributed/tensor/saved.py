"""How many bytes a forward pass keeps for backward, on this rank."""

from collections.abc import Iterable
from types import TracebackType
from typing import Self

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.distributed.tensor import DTensor


class SavedBytes:
    """Count what autograd saves while the context is open: each piece of memory once.

    Args:
        free: tensors that live on anyway, such as parameters, and don't count; of a DTensor,
            this rank's part.
    """

    def __init__(self, free: Iterable[torch.Tensor] = ()) -> None:
        """Start at 0 bytes."""
        self._free = {_storage(tensor).data_ptr() for tensor in free}
        self._sizes: dict[int, int] = {}
        self._kept: list[torch.UntypedStorage] = []
        self._hooks = saved_tensors_hooks(self._see, lambda tensor: tensor)

    @property
    def num_bytes(self) -> int:
        """Bytes counted so far."""
        return sum(self._sizes.values())

    def __enter__(self) -> Self:
        self._hooks.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trail: TracebackType | None,
    ) -> None:
        self._hooks.__exit__(kind, error, trail)
        self._kept.clear()

    def _see(self, tensor: torch.Tensor) -> torch.Tensor:
        storage = _storage(tensor)
        if storage.data_ptr() not in self._free:
            self._sizes[storage.data_ptr()] = storage.nbytes()
            self._kept.append(storage)  # else its address might be another tensor's meanwhile
        return tensor


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage:
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return local.untyped_storage()
