"""How many bytes of tensors a rank holds: by category, and in all.

Counted are storages, each once, however many tensors show it. On a CPU that is what the tensors
ask of the allocator, without its rounding.
"""

import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

import torch
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode  # no public name; 2.11 and 2.13


def storage_bytes(tensors: Iterable[torch.Tensor | None]) -> int:
    """Add up the bytes behind tensors, each storage once.

    Args:
        tensors: of a DTensor the local part counts; None counts nothing.
    """
    found = {}
    for tensor in tensors:
        if tensor is not None:
            storage = local(tensor).untyped_storage()
            found[storage.data_ptr()] = storage.nbytes()
    return sum(found.values())


def local(tensor: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a tensor that may be a DTensor."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def optimizer_state_bytes(optimizer: torch.optim.Optimizer) -> int:
    """Add up what an optimizer keeps: for Adam two moments and a step counter a parameter."""
    states = (value for state in optimizer.state.values() for value in state.values())
    return storage_bytes(value for value in states if isinstance(value, torch.Tensor))


class SavedForBackward:
    """Count what autograd keeps for the backward pass while the context is open.

    Args:
        module: its whole parameters aren't counted: they are kept, or gathered, anyway.
    """

    def __init__(self, module: torch.nn.Module) -> None:
        self._module = module
        self._saved: dict[int, int] = {}
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._note, lambda saved: saved)

    @property
    def num_bytes(self) -> int:
        """Bytes of the storages that were saved, each once."""
        return sum(self._saved.values())

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

    def _note(self, tensor: torch.Tensor) -> torch.Tensor:
        params = {local(param).untyped_storage().data_ptr() for param in self._module.parameters()}
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in params:
            self._saved[storage.data_ptr()] = storage.nbytes()
        return tensor


class LiveTensors:
    """Count the bytes of all tensors that are made while the context is open, and are alive.

    It watches every operator pass torch's dispatcher and holds what it returns weakly. Tensors
    made before count once an operator has returned them or they were passed to `watch`.
    """

    def __init__(self) -> None:
        self._storages: dict[int, weakref.ref[torch.UntypedStorage]] = {}
        self._mode = _result_mode(self._note)
        self.peak_bytes = 0
        """the most that was alive after any operator so far"""

    @property
    def num_bytes(self) -> int:
        """Bytes alive now."""
        total = 0
        for key, ref in list(self._storages.items()):
            storage = ref()
            if storage is None:
                del self._storages[key]
            else:
                total += storage.nbytes()
        return total

    def watch(self, tensors: Iterable[torch.Tensor]) -> None:
        """Count tensors that were made before."""
        for tensor in tensors:
            self._add(local(tensor))
        self.peak_bytes = max(self.peak_bytes, self.num_bytes)

    def __enter__(self) -> Self:
        self._mode.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trail: TracebackType | None,
    ) -> None:
        self._mode.__exit__(kind, error, trail)

    def _note(self, result: Any) -> None:
        for item in result if isinstance(result, (list, tuple)) else (result,):
            if isinstance(item, torch.Tensor):
                self._add(item)
        self.peak_bytes = max(self.peak_bytes, self.num_bytes)

    def _add(self, tensor: torch.Tensor) -> None:
        if tensor.device.type != "meta":
            storage = tensor.untyped_storage()
            self._storages[storage._cdata] = weakref.ref(storage)


def _result_mode(note: Callable[[Any], None]) -> AbstractContextManager[Any]:
    """A dispatch mode that runs each operator unchanged and shows what it returned."""

    class ResultMode(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if any(issubclass(kind, DTensor) for kind in types):
                return NotImplemented  # DTensor first turns into local operators
            result = func(*args, **(kwargs or {}))
            note(result)
            return result

    return ResultMode()
