"""Things that eager autograd allows, tried on a compiled function."""

from collections.abc import Callable

import torch
from torch.func import grad

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.examples import ladder, rms_norm, wave
from fuseshard.compiler.joint.records import Trial
from fuseshard.compiler.text import clean

BACKEND = "aot_eager_decomp_partition"
"""Inductor's graphs, run operator by operator"""

Fn = Callable[..., torch.Tensor]
Wrap = Callable[[Fn], Fn]
"""leaves a function as it is, or compiles it"""


def compiled(fn: Fn) -> Fn:
    """Compile a copy of a function up to the point where Inductor would take over.

    Args:
        fn: one graph.
    """
    made: Fn = torch.compile(isolated(fn), backend=BACKEND, dynamic=False, fullgraph=True)
    return made


def slope_and_bend(fn: Fn, x: torch.Tensor, *rest: torch.Tensor) -> torch.Tensor:
    """Differentiate a penalty on the slope of a function: a derivative of a derivative.

    With s = d sum(fn) / dx, the penalty is sum(s^2) + sum(x^3), so that a part of its gradient,
    3 x^2, doesn't pass through `fn`.

    Args:
        fn: of `x` and `rest`, differentiable twice in eager mode.
        x: requires a gradient.
        rest: its other arguments.

    Returns:
        Gradient of the penalty with respect to `x`.
    """
    (slope,) = torch.autograd.grad(fn(x, *rest).sum(), x, create_graph=True)
    penalty = slope.square().sum() + x.pow(3).sum()
    (gradient,) = torch.autograd.grad(penalty, x)
    return gradient


def error_of(run: Callable[[], object]) -> str:
    """Run something and return the message of its RuntimeError; "" when there was none.

    Args:
        run: called once.
    """
    try:
        run()
    except RuntimeError as error:
        return clean(str(error))
    return ""


def trials() -> tuple[Trial, ...]:
    """Try five things in eager mode and compiled.

    Returns:
        "twice", backward twice with retain_graph; "strides", a tangent in another memory layout;
        "hook", a hook on an intermediate; "changed", an input changed before the backward pass;
        "second", a derivative of a derivative.
    """
    tried = {
        "twice": _twice,
        "strides": _strides,
        "hook": _hook,
        "changed": _changed,
        "second": _second,
    }
    return tuple(_trial(name, run) for name, run in tried.items())


def _trial(name: str, run: Callable[[Wrap], torch.Tensor]) -> Trial:
    gradients: dict[str, torch.Tensor] = {}

    def keep(way: str, wrap: Wrap) -> None:
        gradients[way] = run(wrap)

    errors = {
        way: error_of(lambda way=way, wrap=wrap: keep(way, wrap))  # type: ignore[misc]
        for way, wrap in {"eager": lambda fn: fn, "compiled": compiled}.items()
    }
    difference = None
    if len(gradients) == len(errors):
        difference = float((gradients["compiled"] - gradients["eager"]).abs().max())
    return Trial(name=name, difference=difference, **errors)


def _input() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(7, 5, generator=generator).requires_grad_()


def _twice(wrap: Wrap) -> torch.Tensor:
    x = _input()
    total = wrap(ladder)(x).sum()
    total.backward(retain_graph=True)
    total.backward()
    assert x.grad is not None
    return x.grad


def _strides(wrap: Wrap) -> torch.Tensor:
    x = _input()
    tangent = torch.linspace(-1, 1, x.numel()).view(5, 7).t()  # columns first
    (gradient,) = torch.autograd.grad(wrap(ladder)(x), x, tangent)
    return gradient


def _hook(wrap: Wrap) -> torch.Tensor:
    def hooked(x: torch.Tensor) -> torch.Tensor:
        inner = torch.sigmoid(x)
        inner.register_hook(lambda gradient: 2 * gradient)
        return torch.exp(inner)

    x = _input()
    (gradient,) = torch.autograd.grad(wrap(hooked)(x).sum(), x)
    return gradient


def _changed(wrap: Wrap) -> torch.Tensor:
    x = _input()
    result = wrap(ladder)(x)
    with torch.no_grad():  # as an optimizer would
        x.add_(1)
    (gradient,) = torch.autograd.grad(result.sum(), x)
    return gradient


def _second(wrap: Wrap) -> torch.Tensor:
    x = _input()
    weight = torch.linspace(0.5, 1.5, x.shape[1]).requires_grad_()
    return slope_and_bend(wrap(rms_norm), x, weight)


def wave_inputs() -> tuple[torch.Tensor, torch.Tensor]:
    """Make inputs for `wave`, of which its backward pass keeps none, only what comes of them.

    Returns:
        x, [7, 5], and a weight, [5, 3]; both require a gradient.
    """
    generator = torch.Generator().manual_seed(1)
    return _input(), torch.randn(5, 3, generator=generator).requires_grad_()


def wave_bend(wrap: Wrap) -> torch.Tensor:
    """Differentiate `wave`'s penalty with torch.autograd.grad, eager or compiled.

    Args:
        wrap: `compiled`, or a function that returns its argument.

    Returns:
        Gradient of the penalty, see `slope_and_bend`.
    """
    x, weight = wave_inputs()
    return slope_and_bend(wrap(wave), x, weight)


def wave_bend_inside(wrap: Wrap) -> torch.Tensor:
    """Differentiate the same penalty, with the slope taken inside by torch.func.grad.

    Args:
        wrap: `compiled`, or a function that returns its argument.

    Returns:
        Gradient of the penalty, see `slope_and_bend`.
    """

    def slope_of(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        slope: torch.Tensor = grad(lambda x: wave(x, weight).sum())(x)
        return slope

    x, weight = wave_inputs()
    penalty = wrap(slope_of)(x, weight).square().sum() + x.pow(3).sum()
    (gradient,) = torch.autograd.grad(penalty, x)
    return gradient


def wave_bend_by_backward(wrap: Wrap) -> None:
    """Differentiate the same penalty, this time with `.backward()`, which visits every node.

    Args:
        wrap: `compiled`, or a function that returns its argument.
    """
    x, weight = wave_inputs()
    (slope,) = torch.autograd.grad(wrap(wave)(x, weight).sum(), x, create_graph=True)
    slope.square().sum().backward()
