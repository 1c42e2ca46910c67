"""Elements moved. Oracles: Triton's interpreter, counting, and the operands that torch dispatches.

The kernels run in Triton's interpreter, in a child process of about 5 s.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fuseshard.kernels import reference, traffic
from fuseshard.kernels.traffic import Traffic

ROWS, COLUMNS = 10, 600
SIZE = ROWS * COLUMNS


class Counting(TorchDispatchMode):
    """Adds up the operands and results of every operation that computes."""

    def __init__(self) -> None:
        super().__init__()
        self.read = self.written = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        # A reshape that torch knows to be safe moves nothing either.
        if not func.is_view and func is not torch.ops.aten._unsafe_view.default:
            operands = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
            self.read += sum(x.numel() for x in operands)
            self.written += sum(x.numel() for x in tree_leaves(result))
        return result


@pytest.fixture(scope="module")
def found(interpreted: Callable[[str], Any]) -> Any:
    return interpreted("traffic_cases")


def counted(call: Callable[[], Any]) -> Traffic:
    with Counting() as counting:
        call()
    return Traffic(counting.read, counting.written)


def test_what_eager_mode_moves_is_as_the_formulas_say() -> None:
    x = torch.randn(ROWS, COLUMNS, dtype=torch.float64)
    assert counted(lambda: reference.softmax(x)) == traffic.unfused_softmax(ROWS, COLUMNS)
    norm = counted(lambda: reference.rms_norm(x, x[0], eps=1e-6))
    assert norm == traffic.unfused_rms_norm(ROWS, COLUMNS)
    # Must-fail twin: one operation more is seen.
    assert counted(lambda: reference.softmax(x).exp()) != traffic.unfused_softmax(ROWS, COLUMNS)


def test_scores_and_logits_are_moved_as_often_as_the_docstrings_say() -> None:
    q = torch.randn(1, 1, 100, 1, dtype=torch.float64)
    scores = 100 * 100
    # Everything else is smaller than one score in twenty; the log of the sums reads them again.
    plain = counted(lambda: reference.attention(q, q, q))
    assert (plain.read // scores, plain.written // scores) == (7 + 1, 5)
    causal = counted(lambda: reference.attention(q, q, q, is_causal=True))
    assert causal.written - plain.written >= scores
    hidden, weight = torch.randn(50, 1).double(), torch.randn(400, 1).double()
    target = torch.arange(50)
    loss = counted(lambda: reference.linear_cross_entropy(hidden, weight, target))
    logits = 50 * 400
    assert (loss.read // logits, loss.written // logits) == (5, 3)


def test_fused_rows_are_read_once_and_written_once(found: Any) -> None:
    assert Traffic(*found["copy"]) == traffic.copy(SIZE)
    assert Traffic(*found["softmax"]) == traffic.softmax(ROWS, COLUMNS)
    assert Traffic(*found["rms_norm"]) == traffic.rms_norm(ROWS, COLUMNS)


def test_each_program_reads_the_weights(found: Any) -> None:
    assert found["rms_norm, 5 programs"] == [SIZE + 5 * COLUMNS, SIZE]
    assert found["rms_norm_backward"] == [2 * SIZE + 3 * COLUMNS, SIZE + 3 * COLUMNS]


def test_keys_and_values_are_read_once_for_each_tile_of_queries(found: Any) -> None:
    # 2 heads of 40 x 16; tiles of 32 queries and 16 keys.
    q = 2 * 40 * 16
    assert found["attention"] == [q + 2 * 2 * q, q + 2 * 40]
    # The first tile of queries sees 2 tiles of keys, 32 of the 40; the second sees all.
    assert found["causal"] == [q + 2 * (q + q * 32 // 40), q + 2 * 40]


def test_no_logit_is_written(found: Any) -> None:
    # 20 tokens, 100 words, 24 dims; tiles of 16 tokens and 32 words; 2 splits of 2 tiles.
    read = 4 * 20 * 24 + 2 * 100 * 24 + 2 * 20
    assert found["loss"] == [read, 2 * 2 * 20]


def test_bytes_are_counted_both_ways() -> None:
    assert traffic.copy(SIZE).num_bytes(2) == 2 * 2 * SIZE
