"""A CUDA graph in miniature, for the CPU: recorded kernels that write where they wrote before."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

# Underscored, and yet documented for extensions; checked on torch 2.11 and 2.13.
from torch.utils._python_dispatch import TorchDispatchMode


@dataclass(frozen=True)
class Launch:
    """One recorded kernel: what it runs, on which memory, and into which memory."""

    kernel: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    results: tuple[torch.Tensor, ...]


class Recorder(TorchDispatchMode):
    """While active, writes down every operator that the dispatcher sees."""

    def __init__(self) -> None:
        """Start with an empty list."""
        super().__init__()
        self.launches: list[Launch] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operator once and keep it with its operands and results."""
        result = func(*args, **(kwargs or {}))
        several = result if isinstance(result, tuple | list) else (result,)
        tensors = tuple(part for part in several if isinstance(part, torch.Tensor))
        if not tensors:
            raise ValueError(
                f"Replayer: {func} gives Python a number, a recording must not need one (it would "
                "be baked in; a CUDA graph refuses it as well); keep the number in a tensor."
            )
        if not func.is_view:  # a view is the same memory: nothing to run again
            self.launches.append(Launch(func, args, kwargs or {}, tensors))
        return result


class Replayer:
    """A function that was recorded once and is replayed without running its Python again.

    Args:
        fn: of tensors, without gradients; changes none of them.
        example: inputs of the shapes that all later calls have; not modified.
    """

    def __init__(self, fn: Callable[..., Any], *example: torch.Tensor) -> None:
        """Copy the inputs to memory that stays, and record what the function runs on it."""
        self.inputs = tuple(tensor.clone() for tensor in example)
        with torch.no_grad(), Recorder() as recorder:
            self.outputs = fn(*self.inputs)
        self.launches = tuple(recorder.launches)

    def __call__(self, *new_inputs: torch.Tensor) -> Any:
        """Copy new inputs in, run the recorded kernels, return the recorded outputs."""
        for old, new in zip(self.inputs, new_inputs, strict=True):
            old.copy_(new)
        for launch in self.launches:
            fresh = launch.kernel(*launch.args, **launch.kwargs)
            several = fresh if isinstance(fresh, tuple | list) else (fresh,)
            parts = (part for part in several if isinstance(part, torch.Tensor))
            for target, value in zip(launch.results, parts, strict=True):
                target.copy_(value)  # a real kernel writes to this address itself
        return self.outputs
