"""Where an activation goes: a kernel of its own, a library's argument, or a product's template."""

import re
from typing import Any

import torch
from torch import nn

from fuseshard.compiler.inductor import kernels
from fuseshard.compiler.planning.written import module_text
from fuseshard.compiler.records import Kernel
from fuseshard.compiler.templates.externs import library_calls
from fuseshard.compiler.templates.records import Epilogue, Passes, Place

ROWS, WIDTH, WIDE = 256, 64, 256
SEARCH = "max-autotune-no-cudagraphs"
TEMPLATE: dict[str, Any] = {"freezing": True, "max_autotune_gemm_backends": "CPP"}
"""settings under which max-autotune has nothing but its own template to choose from"""

_ROW_LOOP, _COLUMN_LOOP = "for(int64_t x0=", "for(int64_t x1="
_FUSED_ARGUMENT = re.compile(r"\(.*'(?:relu|gelu)'")


def linear_relu(*, dtype: torch.dtype = torch.float32) -> tuple[nn.Module, torch.Tensor]:
    """Make a linear layer with a relu behind it, and rows for it.

    Args:
        dtype: of the parameters and of the rows.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Linear(WIDTH, WIDE), nn.ReLU())
    rows = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0))
    return layer.to(dtype).eval().requires_grad_(False), rows.to(dtype)


def convolution_relu() -> tuple[nn.Module, torch.Tensor]:
    """Make a convolution with a relu behind it, and two images for it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU())
    images = torch.randn(2, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    return layer.eval().requires_grad_(False), images


def epilogues() -> tuple[Epilogue, ...]:
    """Have the same layers written in several ways, and look where the relu is."""
    layer, rows = linear_relu()
    half, half_rows = linear_relu(dtype=torch.bfloat16)
    convolution, images = convolution_relu()
    return (
        _epilogue("default", module_text(layer, rows)),
        _epilogue("search alone", module_text(layer, rows, mode=SEARCH)),
        _epilogue("frozen", module_text(layer, rows, freezing=True)),
        _epilogue("template", module_text(layer, rows, mode=SEARCH, **TEMPLATE)),
        _epilogue("bf16", module_text(half, half_rows)),
        _epilogue("frozen bf16", module_text(half, half_rows, freezing=True)),
        _epilogue("convolution", module_text(convolution, images)),
        _epilogue("frozen convolution", module_text(convolution, images, freezing=True)),
    )


def template_kernel() -> Kernel | None:
    """Have the layer written with Inductor's own matrix product.

    Returns:
        The kernel; None where this machine has no template.
    """
    layer, rows = linear_relu()
    written = kernels(module_text(layer, rows, mode=SEARCH, **TEMPLATE))
    return next((kernel for kernel in written if "micro_gemm" in kernel.code), None)


def place_of(source: str) -> Place:
    """Say where the activation of a module is.

    Args:
        source: written for a product or convolution and one relu or gelu.
    """
    if any("micro_gemm" in kernel.code for kernel in kernels(source)):
        return "template"
    return "library" if _FUSED_ARGUMENT.search(source) else "kernel"


def passes(*, training: bool, vectors: bool = True) -> Passes:
    """Have linear layer, layer norm and dropout written, and count loops.

    Args:
        training: whether dropout drops anything; gradients aren't recorded either way.
        vectors: False has the kernel written for one number at a time.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = nn.Sequential(nn.Linear(WIDTH, WIDE), nn.LayerNorm(WIDE), nn.Dropout(0.1))
    rows = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(0))
    settings: dict[str, Any] = {} if vectors else {"cpp.simdlen": 1}
    source = module_text(layers.train(training).requires_grad_(False), rows, **settings)
    written = kernels(source)
    return Passes(
        training=training,
        vectors=vectors,
        library_calls=len(library_calls(source)),
        kernels=len(written),
        row_loops=sum(kernel.code.count(_ROW_LOOP) for kernel in written),
        table_passes=sum(kernel.code.count(_COLUMN_LOOP) for kernel in written),
    )


def _epilogue(way: str, source: str) -> Epilogue:
    return Epilogue(
        way=way,
        calls=library_calls(source),
        kernels=len(kernels(source)),
        place=place_of(source),
    )
