"""AdamW by hand: the update in a few lines, once with its corrections inside, once without.

t = steps done so far. Every tensor of a parameter has the parameter's shape.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from fuseshard.compiler.rounding import FLOAT32_ROUNDOFF

BETA1, BETA2, EPS, WEIGHT_DECAY = 0.9, 0.999, 1e-8, 0.01
"""torch.optim.AdamW's own defaults"""

UPDATE_ROUNDOFFS = 32
"""u per update, generously: 14 operations, and what earlier roundings of the averages leave"""


def adamw(
    param: torch.Tensor,
    grad: torch.Tensor,
    mean: torch.Tensor,
    square: torch.Tensor,
    *,
    lr: torch.Tensor,
    correction: tuple[torch.Tensor, torch.Tensor],
) -> None:
    """Update one parameter and its two running averages, in place.

    Args:
        param: decays, then moves against `mean`.
        grad: not modified.
        mean: running average of the gradient.
        square: running average of its square.
        lr: learning rate, zero-dimensional.
        correction: from `corrections`.

    Source:
        Loshchilov and Hutter, ICLR 2019, algorithm 2, arXiv:1711.05101.
    """
    size, root = correction
    mean.lerp_(grad, 1 - BETA1)
    square.mul_(BETA2).addcmul_(grad, grad, value=1 - BETA2)
    param.mul_(1 - lr * WEIGHT_DECAY)
    param.sub_(size * mean / (square.sqrt() / root + EPS))


def corrections(t: torch.Tensor, lr: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return what makes up for averages that began at zero: two numbers for the whole step.

    Args:
        t: steps including this one, zero-dimensional.
        lr: learning rate, zero-dimensional.

    Returns:
        Step size lr / (1 - beta1^t), and the root of 1 - beta2^t.
    """
    return lr / (1 - BETA1**t), (1 - BETA2**t).sqrt()


@dataclass
class AdamW:
    """An optimizer made of `adamw`, for parameters whose `.grad` is set."""

    params: Sequence[torch.nn.Parameter]
    lr: torch.Tensor
    t: torch.Tensor = field(init=False)
    means: list[torch.Tensor] = field(init=False)
    squares: list[torch.Tensor] = field(init=False)

    def __post_init__(self) -> None:
        """Start the averages at zero."""
        self.t = torch.zeros((), device=self.params[0].device)
        self.means = [torch.zeros_like(param) for param in self.params]
        self.squares = [torch.zeros_like(param) for param in self.params]

    @torch.no_grad()
    def update(self, grads: Sequence[torch.Tensor], size: torch.Tensor, root: torch.Tensor) -> None:
        """Update every parameter, with the two numbers of `corrections` from outside."""
        for param, grad, mean, square in zip(
            self.params, grads, self.means, self.squares, strict=True
        ):
            adamw(param, grad, mean, square, lr=self.lr, correction=(size, root))

    @torch.no_grad()
    def step(self, grads: Sequence[torch.Tensor]) -> None:
        """Do everything that a step does, corrections included."""
        self.t.add_(1)
        self.update(grads, *corrections(self.t, self.lr))


def compiled_step(optimizer: AdamW, *, corrections_inside: bool) -> Callable[[], None]:
    """Compile an optimizer's step, with or without the corrections in the graph.

    Args:
        optimizer: its parameters have their gradients.
        corrections_inside: whether the graph computes the powers of beta1 and beta2 itself.

    Returns:
        A function without arguments that does one step.
    """
    whole = torch.compile(optimizer.step, fullgraph=True, dynamic=False)
    updates = torch.compile(optimizer.update, fullgraph=True, dynamic=False)

    def step() -> None:
        grads = [param.grad for param in optimizer.params if param.grad is not None]
        if corrections_inside:
            whole(grads)
        else:
            optimizer.t.add_(1)
            updates(grads, *corrections(optimizer.t, optimizer.lr))

    return step


def rounding_bound(params: Sequence[torch.Tensor], num_steps: int, lr: float) -> float:
    """Bound how far apart two float32 AdamWs may be after some steps, absolutely.

    A step rounds a parameter twice, after the decay and after the move: 2 u |p|, in both programs.
    The move itself is at most lr times the largest |mean / root of square|, which is below 4 when
    no gradient is more than four times another, and carries UPDATE_ROUNDOFFS u.

    Args:
        params: the parameters.
        num_steps: steps done.
        lr: learning rate.

    Returns:
        Largest absolute difference that rounding explains.
    """
    largest = max(float(param.detach().abs().max()) for param in params)
    return num_steps * FLOAT32_ROUNDOFF * (4 * largest + 2 * UPDATE_ROUNDOFFS * 4 * lr)


def example_params(
    shapes: Sequence[tuple[int, ...]], *, device: str = "cpu"
) -> list[torch.nn.Parameter]:
    """Draw parameters with gradients between 0.5 and 2 in size, of either sign.

    Args:
        shapes: one a parameter.
        device: where they lie.
    """
    generator = torch.Generator().manual_seed(0)
    params = []
    for shape in shapes:
        param = torch.nn.Parameter(torch.randn(shape, generator=generator).to(device))
        param.grad = example_grad(param, generator)
        params.append(param)
    return params


def example_grad(param: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Draw a gradient of a parameter, every number between 0.5 and 2 in size.

    Args:
        param: gives shape and device.
        generator: on the CPU.
    """
    sizes = 0.5 + 1.5 * torch.rand(param.shape, generator=generator)
    signs = torch.randint(0, 2, param.shape, generator=generator) * 2 - 1
    return (sizes * signs).to(param.device)


EQUALITY_SHAPES = ((7, 12), (5,))
"""of the parameters on which two AdamWs are compared; no vector length divides them"""


def trained_by_library(num_steps: int, *, lr: float) -> list[torch.nn.Parameter]:
    """Run torch.optim.AdamW, parameter by parameter, on gradients that change each step.

    Args:
        num_steps: steps.
        lr: learning rate.
    """
    params = example_params(EQUALITY_SHAPES)
    optimizer = torch.optim.AdamW(params, lr=lr, foreach=False)
    generator = torch.Generator().manual_seed(1)
    for _ in range(num_steps):
        for param in params:
            param.grad = example_grad(param, generator)
        optimizer.step()
    return params


def trained_by_hand(
    num_steps: int, *, lr: float, is_corrected: bool = True
) -> list[torch.nn.Parameter]:
    """Run AdamW by hand on the same parameters and gradients.

    Args:
        num_steps: steps.
        lr: learning rate.
        is_corrected: False leaves out what makes up for averages that began at zero.
    """
    params = example_params(EQUALITY_SHAPES)
    optimizer = AdamW(params, torch.tensor(lr))
    generator = torch.Generator().manual_seed(1)
    for _ in range(num_steps):
        grads = [example_grad(param, generator) for param in params]
        if is_corrected:
            optimizer.step(grads)
        else:
            optimizer.update(grads, optimizer.lr, torch.ones(()))
    return params


def largest_gap(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> float:
    """Return the largest absolute difference between two lists of tensors.

    Args:
        one: tensors.
        other: as many, of the same shapes.
    """
    pairs = zip(one, other, strict=True)
    return max(float((a - b).detach().abs().max()) for a, b in pairs)
