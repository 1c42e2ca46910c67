"""Which attention a card chooses. Oracle: a table of what torch's compiled function answers.

It was asked once, in torch 2.13 for CUDA over a stand-in for the CUDA runtime that names the card.
AMD's column is read from the function's source. Tensors have no numbers (device "meta"): only
shapes, strides and dtypes are asked for.
"""

from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from fuseshard.compiler.described.attention import NUMBERS, Attention, backend
from fuseshard.compiler.described.targets import TARGETS

BF16, F16, F32, F64 = torch.bfloat16, torch.float16, torch.float32, torch.float64


def call(
    width: int = 64,
    *,
    dtype: torch.dtype = BF16,
    value_width: int | None = None,
    lengths: tuple[int, int] = (7, 7),
    heads: tuple[int, int] = (6, 6),
    **more: Any,
) -> Attention:
    """Make a call for two sequences."""

    def tensor(heads: int, length: int, width: int) -> torch.Tensor:
        return torch.empty(2, heads, length, width, dtype=dtype, device="meta")

    return Attention(
        query=tensor(heads[0], lengths[0], width),
        key=tensor(heads[1], lengths[1], width),
        value=tensor(heads[1], lengths[1], value_width or width),
        **more,
    )


def training(found: Attention) -> Attention:
    found.query.requires_grad_()
    return found


def mask(*shape: int, dtype: torch.dtype = BF16) -> torch.Tensor:
    return torch.empty(*shape, dtype=dtype, device="meta")


def strided() -> Attention:
    """Make a call whose query has its features apart."""
    found = call(lengths=(64, 64))
    return Attention(query=found.query.transpose(-1, -2), key=found.key, value=found.value)


# What is called; then on H200, A100, RTX 4090, B200, MI300X.
TABLE: list[tuple[str, Attention, str]] = [
    ("bfloat16", call(), "cudnn flash flash cudnn flash"),
    ("float16", call(dtype=F16), "cudnn flash flash cudnn flash"),
    ("float32", call(dtype=F32), "efficient efficient efficient efficient efficient"),
    ("float64", call(dtype=F64), "math math math math math"),
    ("causal", call(is_causal=True), "cudnn flash flash cudnn flash"),
    (
        "a causal rectangle",
        call(lengths=(7, 9), is_causal=True),
        "cudnn efficient efficient cudnn efficient",
    ),
    ("a rectangle", call(lengths=(7, 9)), "cudnn flash flash cudnn flash"),
    ("256 features", call(256), "cudnn flash flash flash flash"),
    ("264 features", call(264), "efficient efficient efficient efficient flash"),
    ("60 features", call(60), "flash flash flash flash flash"),
    ("60 in float32", call(60, dtype=F32), "efficient efficient efficient efficient efficient"),
    ("58 in float32", call(58, dtype=F32), "math math math math math"),
    (
        "192 and 128 features",
        call(192, value_width=128),
        "cudnn efficient efficient cudnn math",
    ),
    ("a mask", call(mask=mask(7, 7)), "cudnn efficient efficient cudnn efficient"),
    (
        "a mask for each head",
        call(mask=mask(1, 6, 7, 7)),
        "cudnn efficient efficient cudnn efficient",
    ),
    (
        "a mask of three dims",
        call(mask=mask(6, 7, 7)),
        "efficient efficient efficient efficient efficient",
    ),
    ("dropout of 1/8", call(dropout=0.125), "cudnn flash flash cudnn flash"),
    ("dropout of 1/10", call(dropout=0.1), "flash flash flash flash flash"),
    ("one key", call(lengths=(1, 1)), "flash flash flash flash flash"),
    ("no key", call(lengths=(7, 0)), "math math math math math"),
    ("features apart", strided(), "math math math math math"),
    (
        "grouped heads",
        call(heads=(6, 2), enable_gqa=True),
        "cudnn flash flash cudnn flash",
    ),
    (
        "grouped heads in float32",
        call(heads=(6, 2), enable_gqa=True, dtype=F32),
        "math math math math math",
    ),
    (
        "heads that don't divide",
        call(heads=(6, 4), enable_gqa=True),
        "math math math math math",
    ),
    ("training with 200", training(call(200)), "cudnn flash efficient flash flash"),
    ("training with 256", training(call(256)), "cudnn flash flash flash flash"),
    (
        "training with 256 and dropout",
        training(call(256, dropout=0.1)),
        "flash flash efficient flash flash",
    ),
]
CARDS = ("h200", "a100", "rtx4090", "b200", "mi300x")


@pytest.mark.parametrize(("name", "called", "expected"), TABLE, ids=[row[0] for row in TABLE])
def test_a_card_chooses(name: str, called: Attention, expected: str) -> None:
    assert [backend(TARGETS[key], called) for key in CARDS] == expected.split()


def test_no_row_of_the_table_is_idle() -> None:
    """Must-fail twin: taking the first row for the whole table gets most rows wrong."""
    first = TABLE[0][2]
    assert sum(expected != first for _, _, expected in TABLE) == 21
    assert {word for *_, expected in TABLE for word in expected.split()} == set(NUMBERS)


def test_without_gradients_training_limits_nothing() -> None:
    with torch.no_grad():
        assert backend(TARGETS["rtx4090"], training(call(200))) == "flash"
    assert backend(TARGETS["rtx4090"], training(call(200))) == "efficient"


def test_switches_are_heeded() -> None:
    a100, h200 = TARGETS["a100"], TARGETS["h200"]
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION]):
        assert backend(h200, call()) == "efficient"
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        assert backend(a100, call()) == "cudnn"
        assert backend(a100, call(dtype=F32)) is None
    assert backend(a100, call()) == "flash"


def test_cudnn_is_not_deterministic() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert backend(TARGETS["h200"], call()) == "flash"
    finally:
        torch.use_deterministic_algorithms(False)
    assert backend(TARGETS["h200"], call()) == "cudnn"


def test_numbers_are_those_of_torch() -> None:
    names = {"math": "MATH", "flash": "FLASH_ATTENTION", "efficient": "EFFICIENT_ATTENTION"}
    names["cudnn"] = "CUDNN_ATTENTION"
    members = SDPBackend.__members__
    assert {ours: members[theirs].value for ours, theirs in names.items()} == NUMBERS
