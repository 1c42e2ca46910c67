"""The work that the maps are drawn of: functions whose length and size can be chosen.

n = elementwise operations, N = elements of a tensor or side of a square matrix.
"""

from collections.abc import Callable
from typing import Any

import torch

# Private module, checked on torch 2.11 and 2.13: `graph_break` has no public name.
import torch._dynamo

from fuseshard.compiler.isolate import isolated

Elementwise = Callable[[torch.Tensor], torch.Tensor]

SCALE, SHIFT = 0.999, 0.5
"""of the chain's operations; with these, no chain leaves the range of the ordinary numbers"""

MEAN, INVERSE_DEVIATION, WEIGHT, BIAS = 0.1, 1.25, 0.9, 0.2
"""of the batch norm in `norm_hardswish`; any four numbers would do"""


def chain(operations: int) -> Elementwise:
    """Make a chain of elementwise operations: multiply, add, multiply, add, ...

    Args:
        operations: n, an even number.

    Returns:
        A function of one tensor, with a code object of its own.

    Raises:
        ValueError: an odd number, or fewer than two.
    """
    if operations < 2 or operations % 2:
        raise ValueError(
            f"chain: operations is {operations}, must be even and at least 2 (a link is a "
            f"multiplication and an addition); use {max(2, operations + operations % 2)}."
        )

    def links(x: torch.Tensor) -> torch.Tensor:
        for _ in range(operations // 2):
            x = x * SCALE
            x = x + SHIFT
        return x

    return isolated(links)


def broken_chain(operations: int, breaks: int) -> Elementwise:
    """Make the same chain with graph breaks at equal distances.

    Args:
        operations: n, an even number.
        breaks: how many; n must fall into breaks + 1 even parts.

    Returns:
        A function of one tensor that Dynamo can only capture in breaks + 1 graphs.

    Raises:
        ValueError: the parts would be uneven.
    """
    parts = breaks + 1
    if operations % (2 * parts):
        raise ValueError(
            f"broken_chain: {operations} operations can't be cut into {parts} even parts, must be "
            f"a multiple of {2 * parts}; change operations or breaks."
        )
    # Written out line by line: at a break in a loop, Dynamo gives up the loop's whole function.
    lines = ["def whole(x):", *["    x = part(x)", "    graph_break()"] * breaks]
    names: dict[str, Any] = {
        "part": chain(operations // parts),
        "graph_break": torch._dynamo.graph_break,
    }
    exec("\n".join([*lines, "    return part(x)"]), names)
    whole: Elementwise = names["whole"]
    return whole


def layers(operations: int, *, num_layers: int = 2) -> Callable[..., torch.Tensor]:
    """Make square matrix products with a chain of elementwise operations after each.

    Args:
        operations: n after each product; 0, or an even number.
        num_layers: products.

    Returns:
        A function of x and w, both [N, N].
    """
    after = chain(operations) if operations else None

    def products(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for _ in range(num_layers):
            x = x @ w
            if after is not None:
                x = after(x)
        return x

    return isolated(products)


def norm_hardswish(x: torch.Tensor) -> torch.Tensor:
    """Apply a trained batch norm to one channel and then hard-swish, as eight plain operations.

    Args:
        x: any shape; not modified.

    Returns:
        The same shape.

    Source:
        Howard et al. 2019, "Searching for MobileNetV3", section 5.2, arXiv:1905.02244.
    """
    y = (x - MEAN) * INVERSE_DEVIATION * WEIGHT + BIAS
    return y * (y + 3).clamp(0, 6) / 6
