"""Small functions, and which of them Inductor leaves to a library on the CPU."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from fuseshard.compiler.inductor import kernels, wrapper
from fuseshard.compiler.planning.written import module_text
from fuseshard.compiler.templates.records import LibraryUse

_CALL = re.compile(r"\b(?:extern_kernels|torch\.ops\.\w+|aten)\.(\w+(?:\.\w+)*)\(")
_COMMENT = re.compile(r"\s#.*")

Exhibit = tuple[str, Callable[[Any], Any], torch.Tensor]


def library_calls(source: str) -> tuple[str, ...]:
    """List the library functions that a module calls, whatever the way it calls them.

    Args:
        source: from `module_text` or `Stages.source`.

    Returns:
        Names such as "addmm" and "sort.stable", in the order of the calls.
    """
    return tuple(_CALL.findall(_COMMENT.sub("", wrapper(source))))


def library_uses() -> tuple[LibraryUse, ...]:
    """Have each of the small functions written, and see what it calls."""
    with warnings.catch_warnings():
        # Complex numbers are left to the library, which is what the table says.
        warnings.filterwarnings("ignore", message="Torchinductor does not support code generation")
        texts = {code: module_text(fn, x) for code, fn, x in _exhibits()}
    return tuple(
        LibraryUse(code=code, calls=library_calls(text), kernels=len(kernels(text)))
        for code, text in texts.items()
    )


def _exhibits() -> list[Exhibit]:
    """Make functions of one tensor, products first and kernels last."""
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=generator)

    x, square, weight, bias = drawn(8, 32), drawn(6, 6), drawn(64, 32), drawn(64)
    image, filters, heads = drawn(1, 3, 16, 16), drawn(4, 3, 3, 3), drawn(1, 2, 16, 8)
    return [
        ("F.linear(x, weight, bias)", lambda a: F.linear(a, weight, bias), x),
        ("x @ x.mT", lambda a: a @ a.mT, heads),
        ("F.conv2d(x, filters)", lambda a: F.conv2d(a, filters), image),
        (
            "F.scaled_dot_product_attention(x, x, x)",
            lambda a: F.scaled_dot_product_attention(a, a, a),
            heads,
        ),
        ("x.sort()", lambda a: a.sort(), x),
        ("x.topk(3)", lambda a: a.topk(3), x),
        ("x.cumsum(-1)", lambda a: a.cumsum(-1), x),
        ("torch.fft.rfft(x)", torch.fft.rfft, x),
        ("torch.linalg.svdvals(x)", torch.linalg.svdvals, square),
        ("torch.cdist(x, x)", lambda a: torch.cdist(a, a), x),
        ("F.layer_norm(x, (32,))", lambda a: F.layer_norm(a, (32,)), x),
        ("F.max_pool2d(x, 2)", lambda a: F.max_pool2d(a, 2), image),
        ("F.embedding(index, weight)", lambda i: F.embedding(i, weight), torch.arange(8)),
        ("x.gather(1, x.argmax(1, True))", lambda a: a.gather(1, a.argmax(1, True)), x),
    ]
