"""A backward pass in two halves: gradients of inputs now, gradients of weights later.

A linear layer  Y = X W^T + b  has two gradients that don't need each other:  dX = dY W, for which
the stage before waits, and  dW = dY^T X,  db = sum dY,  for which only the optimizer does.
[..., I] inputs, [..., O] outputs, [O, I] weights.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional

Owed = Callable[[], None]
"""adds one micro-batch's gradient to one layer's weight and bias"""


@contextmanager
def weights_owed(module: nn.Module) -> Iterator[list[Owed]]:
    """Let linear layers put off their weights' gradients while the context is open.

    Whatever else has parameters (norms, embeddings) still gets its gradients during `backward`:
    they are cheap. So do layers with a forward of their own, and parameters that need no gradient
    get none. The layers are as before when the context closes.

    Args:
        module: each `nn.Linear` in it leaves a function in the list whenever a gradient
            reaches it; calling that adds the gradient to the layer's `.grad`.

    Source:
        The idea is Qi et al. 2023, arXiv:2401.10241; layer by layer as their implementation does.
    """
    owed: list[Owed] = []
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    layers = [layer for layer in linear if type(layer).forward is nn.Linear.forward]
    before = [vars(layer).get("forward") for layer in layers]  # of a context around this one
    for layer in layers:
        layer.forward = _deferring(layer, owed)  # type: ignore[method-assign, assignment]
    try:
        yield owed
    finally:
        for layer, forward in zip(layers, before, strict=True):
            if forward is None:
                del layer.forward
            else:
                layer.forward = forward  # type: ignore[method-assign]


def _deferring(layer: nn.Linear, owed: list[Owed]) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return a layer's forward whose backward leaves the weights' gradients for later."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = _InputGradientOnly.apply(owed, x, layer.weight, layer.bias)
        return output

    return forward


class _InputGradientOnly(torch.autograd.Function):
    """A linear layer that computes dX and keeps what dW and db need."""

    @staticmethod
    def forward(ctx: Any, owed: list[Owed], *tensors: Any) -> torch.Tensor:
        x, weight, bias = tensors
        ctx.save_for_backward(x)
        ctx.weight, ctx.bias, ctx.owed = weight, bias, owed
        return functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        (gradient,), (x,) = gradients, ctx.saved_tensors
        weight, bias = ctx.weight, ctx.bias

        @torch.no_grad()  # else the gradient would keep x, and all that x came from, alive
        def pay() -> None:
            rows = gradient.reshape(-1, gradient.shape[-1])
            if weight.requires_grad:
                _accumulate(weight, rows.T @ x.reshape(-1, x.shape[-1]))
            if bias is not None and bias.requires_grad:
                _accumulate(bias, rows.sum(0))

        ctx.owed.append(pay)
        return None, gradient @ weight, None, None


def _accumulate(param: nn.Parameter, gradient: torch.Tensor) -> None:
    param.grad = gradient if param.grad is None else param.grad.add_(gradient)
