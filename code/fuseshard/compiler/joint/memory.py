"""The bytes that a call keeps for its backward pass, counted in eager mode and compiled.

Each piece of memory counts once, however many tensors look at it, and what lives on anyway
(parameters) doesn't count.
"""

from collections.abc import Callable, Iterable

import torch
from torch import nn
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.trace import memory_budget


def eager_bytes(
    fn: Callable[..., torch.Tensor], *args: torch.Tensor, free: Iterable[torch.Tensor] = ()
) -> int:
    """Call a function and count what autograd saves meanwhile.

    Args:
        fn: not compiled; it may call torch.utils.checkpoint.
        args: its arguments; not modified.
        free: tensors whose memory doesn't count.

    Returns:
        Bytes.
    """
    meter = _Meter(free)
    with saved_tensors_hooks(meter.see, _unchanged):
        fn(*args)
    return meter.num_bytes


def compiled_bytes(
    fn: Callable[..., torch.Tensor],
    *args: torch.Tensor,
    free: Iterable[torch.Tensor] = (),
    budget: float = 1.0,
) -> int:
    """Compile a function, call it, and count what its one node of the autograd graph holds.

    Args:
        fn: compiles to one graph; a copy is compiled, up to the point where Inductor takes over.
        args: its arguments; not modified.
        free: tensors whose memory doesn't count.
        budget: memory budget of the partitioner.

    Returns:
        Bytes.

    Raises:
        ValueError: the result's node isn't AOTAutograd's.
    """
    with memory_budget(budget):
        compiled = torch.compile(
            isolated(fn), backend="aot_eager_decomp_partition", dynamic=False, fullgraph=True
        )
        result = compiled(*args)
    node = result.grad_fn
    kind = type(node).__name__
    if kind != "CompiledFunctionBackward":
        raise ValueError(
            f"compiled_bytes: the result was made by {kind}, must be made by "
            "CompiledFunctionBackward (the node that AOTAutograd puts into the autograd graph); "
            "pass a function whose result is no view, and an argument that requires a gradient."
        )
    meter = _Meter(free)
    for tensor in node.saved_tensors:
        meter.see(tensor)
    return meter.num_bytes


def kept_bytes(
    way: str, fn: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor, module: nn.Module
) -> int:
    """Count what a function keeps for its backward pass, run in one of several ways.

    Args:
        way: "eager", "checkpoint" (all of it, in eager mode), or a memory budget such as "0.5".
        fn: function of `x` that uses the parameters of `module`.
        x: requires a gradient; not modified.
        module: its parameters don't count.

    Returns:
        Bytes.
    """
    free = list(module.parameters())
    if way == "eager":
        return eager_bytes(fn, x, free=free)
    if way == "checkpoint":
        return eager_bytes(lambda x: checkpoint(fn, x, use_reentrant=False), x, free=free)
    return compiled_bytes(fn, x, free=free, budget=float(way))


class _Meter:
    """Adds up memory, each piece once."""

    def __init__(self, free: Iterable[torch.Tensor]) -> None:
        """Start at zero; the memory of `free` stays out."""
        self._seen = {tensor.untyped_storage().data_ptr() for tensor in free}
        # Kept alive, or the allocator might give the same address to the next tensor.
        self._alive: list[torch.Tensor] = []
        self.num_bytes = 0

    def see(self, tensor: torch.Tensor) -> torch.Tensor:
        """Count a tensor's memory if it is new."""
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self._seen:
            self._seen.add(storage.data_ptr())
            self._alive.append(tensor.detach())
            self.num_bytes += storage.nbytes()
        return tensor


def _unchanged(tensor: torch.Tensor) -> torch.Tensor:
    return tensor
