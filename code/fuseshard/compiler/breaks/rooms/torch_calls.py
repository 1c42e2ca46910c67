"""Room 6: what torch itself offers beyond operators: gradients, hooks, switches."""

from typing import Any

import torch
from torch import nn

from fuseshard.compiler.breaks.exhibit import Exhibit, numbers


class Square(torch.autograd.Function):
    """A square with a backward pass of its own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        """Multiply by the derivative."""
        (x,) = ctx.saved_tensors
        return grads[0] * 2 * x


def numbers_with_gradient() -> tuple[torch.Tensor]:
    """Make the usual four numbers, as a leaf that needs a gradient."""
    return (numbers()[0].requires_grad_(),)


def hooked_layer() -> nn.Module:
    """Make a layer whose result a hook doubles."""
    layer = nn.ReLU()
    layer.register_forward_hook(lambda module, args, result: result * 2)
    return layer


def lstm_cell_arguments() -> tuple[torch.Tensor, nn.Module]:
    """Make an input of two rows, and an LSTM's cell for them."""
    x = torch.randn(2, 4)
    return x, nn.LSTMCell(4, 5)


def autograd_function(x: torch.Tensor) -> Any:
    """Call a torch.autograd.Function of one's own."""
    return Square.apply(x + 1) * 2


def backward(x: torch.Tensor) -> Any:
    """Run the backward pass inside the function."""
    y = (x * x).sum()
    y.backward()
    assert x.grad is not None
    return x.grad * 2


def autograd_grad(x: torch.Tensor) -> torch.Tensor:
    """Ask for a gradient inside the function."""
    y = (x * x).sum()
    (grad,) = torch.autograd.grad(y, x)
    return grad * 2


def autograd_grad_fixed(x: torch.Tensor) -> torch.Tensor:
    """Ask for it as a function of a function."""
    grad: torch.Tensor = torch.func.grad(lambda z: (z * z).sum())(x)
    return grad * 2


def mapped(x: torch.Tensor) -> Any:
    """Map a function over rows with torch.vmap."""
    y = x + 1
    return torch.vmap(lambda row: row * 2)(y)


def module_hook(x: torch.Tensor, layer: nn.Module) -> Any:
    """Call a layer with a forward hook."""
    return layer(x + 1) * 2


def tensor_hook(x: torch.Tensor) -> torch.Tensor:
    """Hang a hook on a gradient."""
    y = x + 1
    y.register_hook(lambda grad: grad * 3)
    return y * 2


def lstm_cell(x: torch.Tensor, cell: nn.Module) -> Any:
    """Take one step of an LSTM."""
    return cell(x + 1)[0] * 2


@torch.compiler.disable  # type: ignore[untyped-decorator]
def left_alone(x: torch.Tensor) -> torch.Tensor:
    """Do something that somebody excluded from compiling."""
    return x * 3


def disabled(x: torch.Tensor) -> torch.Tensor:
    """Call a function excluded with `torch.compiler.disable`."""
    y = x + 1
    return left_alone(y) * 2


def disabled_fixed(x: torch.Tensor) -> torch.Tensor:
    """Call it without the decorator."""
    y = x + 1
    return (y * 3) * 2


EXHIBITS = (
    Exhibit(
        title="Square.apply(x)",
        code=autograd_function,
        make_args=numbers_with_gradient,
        cause="python",
    ),
    Exhibit(
        title="y.backward()",
        code=backward,
        make_args=numbers_with_gradient,
        settings={"trace_autograd_ops": True},
        remedy="config.trace_autograd_ops",
    ),
    Exhibit(
        title="torch.autograd.grad(y, x)",
        code=autograd_grad,
        make_args=numbers_with_gradient,
        fixed=autograd_grad_fixed,
        remedy="torch.func.grad",
    ),
    Exhibit(title="torch.vmap(...)", code=mapped),
    Exhibit(
        title="register_forward_hook()",
        code=module_hook,
        make_args=lambda: (*numbers(), hooked_layer()),
    ),
    Exhibit(title="y.register_hook(...)", code=tensor_hook, make_args=numbers_with_gradient),
    Exhibit(title="nn.LSTMCell(4, 5)", code=lstm_cell, make_args=lstm_cell_arguments),
    Exhibit(
        title="@torch.compiler.disable",
        code=disabled,
        fixed=disabled_fixed,
        remedy="# without it",
        helpers=(left_alone,),
    ),
)
