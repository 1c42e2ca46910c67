"""Autocast to bfloat16 under torch.compile: where the casts go, what they cost in accuracy.

B = rows, F = features in, H = features out; u = 2^-8, the largest relative error of one rounding to
bfloat16.
"""

import torch
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.rounding import FLOAT32_ROUNDOFF
from fuseshard.compiler.text import clean
from fuseshard.compiler.training.published import interleaved_steps, published_step
from fuseshard.compiler.training.records import CastGraphs
from fuseshard.compiler.training.watching import watching_backend
from fuseshard.measure.records import Comparison

BFLOAT16_ROUNDOFF = 2.0**-8
"""u: bfloat16 keeps 8 binary digits"""

CAST = "aten._to_copy.default"


def two_layers(
    x: torch.Tensor, first: torch.Tensor, second: torch.Tensor, target: torch.Tensor
) -> torch.Tensor:
    """Compute the published benchmark's loss under autocast, without biases.

    Args:
        x: [B, F].
        first: [H, F] weight.
        second: [F, H] weight.
        target: [B, F].
    """
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = functional.relu(functional.linear(x, first))
        return functional.mse_loss(functional.linear(hidden, second), target)


def cast_graphs(*, rows: int = 5, features: int = 7, hidden: int = 12) -> CastGraphs:
    """Capture the graphs of `two_layers`, forward and backward, and count their casts.

    Args:
        rows: of the input.
        features: of a row.
        hidden: features in the middle.
    """
    texts: dict[str, str] = {}
    casts: dict[str, int] = {}

    def keep(kind: str, graph: torch.fx.GraphModule) -> None:
        texts[kind] = clean(graph.print_readable(print_output=False))
        casts[kind] = sum(str(node.target) == CAST for node in graph.graph.nodes)

    arguments = _example(rows, features, hidden)
    compiled = torch.compile(isolated(two_layers), backend=watching_backend(keep), dynamic=False)
    compiled(*arguments).backward()
    return CastGraphs(
        forward=texts["forward"],
        backward=texts["backward"],
        forward_casts=casts["forward"],
        backward_casts=casts["backward"],
    )


def linear_bound(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Bound the error of a linear layer that autocast runs in bfloat16, element by element.

    Both factors are rounded, (1 + u)^2, the sum of F products is kept in float32, and the result
    is rounded once more. So an element is off by at most (3 u + 3 u^2 + F * 2^-24 * 2) times the
    sum of the products' sizes.

    Args:
        x: [B, F] float32.
        weight: [H, F] float32.

    Returns:
        [B, H] largest absolute errors that rounding explains.

    Source:
        Higham, Accuracy and Stability of Numerical Algorithms, 2nd edition, section 3.1.
    """
    u = BFLOAT16_ROUNDOFF
    sizes = functional.linear(x.double().abs(), weight.double().abs())
    return (3 * u + 3 * u * u + 2 * x.shape[-1] * FLOAT32_ROUNDOFF) * sizes


def worst_share(result: torch.Tensor, x: torch.Tensor, weight: torch.Tensor) -> float:
    """Return the largest error of a linear layer's result as a share of `linear_bound`.

    Args:
        result: [B, H] in any precision.
        x: [B, F] float32.
        weight: [H, F] float32.
    """
    error = (result.double() - functional.linear(x.double(), weight.double())).abs()
    return float((error / linear_bound(x, weight)).max())


def gated(gate: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """Multiply by SiLU of a gate, as many language models do between two linear layers.

    Args:
        gate: any shape.
        value: the same shape.
    """
    return functional.silu(gate) * value


def mean_error(result: torch.Tensor, exact: torch.Tensor) -> float:
    """Return the mean absolute error of a result.

    Args:
        result: in any precision.
        exact: the same in float64.
    """
    return float((result.double() - exact).abs().mean())


def precision_times(hidden: int, *, batch: int = 32, budget_s: float = 6.0) -> Comparison:
    """Time the published step in float32 and under autocast, each eager and compiled.

    Args:
        hidden: width of the layer in the middle.
        batch: rows of the input.
        budget_s: seconds of timing; compiling comes on top.
    """
    ways = {
        f"{precision} {name}": published_step(
            compiled=name == "compiled", batch=batch, hidden=hidden, autocast=autocast
        )
        for precision, autocast in (("float32", False), ("bfloat16", True))
        for name in ("eager", "compiled")
    }
    return interleaved_steps(ways, budget_s=budget_s)


def _example(rows: int, features: int, hidden: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(0)
    x, target = (torch.randn(rows, features, generator=generator) for _ in range(2))
    first = torch.randn(hidden, features, generator=generator).requires_grad_()
    second = torch.randn(features, hidden, generator=generator).requires_grad_()
    return x, first, second, target
