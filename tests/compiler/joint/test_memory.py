"""Bytes kept for the backward pass. Oracle: formulas in rows and width."""

import pytest
import torch

from fuseshard.compiler.joint.examples import library_half, spelled_half
from fuseshard.compiler.joint.memory import compiled_bytes, eager_bytes, kept_bytes
from fuseshard.models.minigpt import Block, MiniGPT, MiniGPTConfig

ROWS, WIDTH = 7, 20
FORMULA = 4 * ROWS * (10 * WIDTH + 2)


def block() -> Block:
    made = MiniGPT(MiniGPTConfig(num_layers=1, width=WIDTH)).blocks[0]
    assert isinstance(made, Block)
    return made


def rows() -> torch.Tensor:
    return torch.ones(ROWS, WIDTH, requires_grad=True)


@pytest.mark.parametrize(
    ("way", "num_bytes"),
    [
        ("eager", FORMULA),
        ("1.0", FORMULA),
        ("0.99", 4 * ROWS * (5 * WIDTH + 2)),
        ("0.0", 4 * ROWS * WIDTH),
        ("checkpoint", 4 * ROWS * WIDTH),
    ],
)
def test_half_a_block_keeps_what_the_formula_says(way: str, num_bytes: int) -> None:
    layers = block()
    assert kept_bytes(way, library_half(layers), rows(), layers) == num_bytes


def test_written_out_eager_mode_keeps_more_and_compiled_code_doesnt() -> None:
    layers = block()
    assert kept_bytes("eager", spelled_half(layers), rows(), layers) > 1.5 * FORMULA
    assert kept_bytes("1.0", spelled_half(layers), rows(), layers) == FORMULA


def test_memory_counts_once_however_many_tensors_look_at_it() -> None:
    x = torch.ones(5, 3, requires_grad=True)
    assert eager_bytes(lambda x: x * x.t().t(), x) == 4 * 15
    assert eager_bytes(lambda x: x * (x + 0), x) == 2 * 4 * 15


def test_free_memory_doesnt_count() -> None:
    x, y = (torch.ones(5, 3, requires_grad=True) for _ in range(2))
    assert eager_bytes(torch.mul, x, y, free=[y]) == 4 * 15


def test_a_result_that_aotautograd_didnt_make_is_refused() -> None:
    with pytest.raises(ValueError, match="must be made by CompiledFunctionBackward"):
        compiled_bytes(lambda x: x[1:], torch.ones(5, 3, requires_grad=True))
