"""What the answers of the chapter on Triton are tested with.

R = rows, N = columns.
"""

import ast
import inspect
import math
import textwrap
from typing import Any

import torch

from fuseshard.checks.common import (
    as_number,
    check_function,
    check_number,
    is_close,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu import interpret_triton
from fuseshard.compiler.gpu_code.occupancy import occupancy
from fuseshard.compiler.gpu_code.worker.parent import GpuBuildError
from fuseshard.compiler.gpu_study.roofs import ridge
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

WIDTH_CASES = ((1024, 4), (600, 4), (602, 4), (601, 4), (600, 2), (604, 2), (602, 2), (601, 2))
"""columns, and bytes of a number"""

OCCUPANCY_CASES = ((16, 4), (20, 1), (128, 8), (33, 4), (100, 1), (250, 8), (128, 16), (40, 32))
"""registers a thread, and warps of a block"""

ROWS, COLUMNS, BLOCK_ROWS = 5, 100, 2
"""of the tensor that a reader's kernel is run on; neither divides evenly"""

SCALE = 60.0
"""of its numbers: exp of the largest is more than any float32, exp of the smallest less"""

NEIGHBOUR = 1e30
"""stands in memory before and behind the tensor; a load without a mask brings it in"""

UNTOUCHED = 77.0
"""stands where results go; no logarithm of a probability is positive"""

ROUNDINGS = 4.0 * (math.log2(COLUMNS) + 8) * 2.0**-23
"""relative to the largest number: a sum in a tree, exp, log and two subtractions"""


def widest_load(columns: int, item_bytes: int) -> int:
    """Return the bits that a thread can load at once from each row of a matrix.

    Args:
        columns: of a row; the first begins at an address divisible by 16.
        item_bytes: of a number.
    """
    return 8 * math.gcd(16, columns * item_bytes)


def check_widths(answer: object) -> Check:
    """Check a function that says how wide loads can be.

    Args:
        answer: function of columns and bytes of a number that returns bits.
    """
    return check_function("triton-widths", answer, WIDTH_CASES, widest_load, is_same=_is_exact)


def resident(registers: int, num_warps: int) -> float:
    """Return the share of an H200's places for warps that a kernel can fill.

    Args:
        registers: a thread.
        num_warps: of a block, which takes no shared memory.
    """
    return occupancy(TARGETS["h200"], registers=registers, shared_bytes=0, num_warps=num_warps)[0]


def check_occupancy(answer: object) -> Check:
    """Check a function that works out the occupancy of an H200.

    Args:
        answer: function of registers a thread and warps of a block.
    """
    return check_function(
        "triton-occupancy", answer, OCCUPANCY_CASES, resident, is_same=_is_same_share
    )


def check_ridge(answer: object) -> Check:
    """Check from which n on a product of two n x n matrices no longer waits for memory.

    Args:
        answer: n, in bfloat16 on an H200; `...` means nothing yet.
    """
    h200 = TARGETS["h200"]
    needed = ridge(h200, "bfloat16")
    return check_number(
        "triton-ridge",
        answer,
        3 * needed,
        what=word("The size of the matrices"),
        slips={
            1.5 * needed: word("That counts numbers; memory moves bytes, two for each of them."),
            6 * needed: word("Each of the n³ products is a multiplication and an addition."),
            needed: word("That is the operations a byte that the card needs; at which n are they?"),
            3 * ridge(h200, "float32"): word("In bfloat16 tensor cores compute: take their peak."),
        },
    )


def check_log_softmax(answer: object) -> Check:
    """Run a reader's kernel in Triton's interpreter: it must compute log(softmax) of whole rows.

    Args:
        answer: a kernel with the arguments of `kernels.softmax.softmax_kernel`; one whose body
            is `...` means nothing yet.
    """
    name = "triton-log-softmax"
    if is_open(answer) or _is_empty(answer):
        return open_question(name)
    if not hasattr(answer, "arg_names"):
        return wrong(name, word("This needs a function decorated with triton.jit."))
    x = SCALE * torch.randn(ROWS, COLUMNS, generator=torch.Generator().manual_seed(0))
    try:
        found = interpret_triton(_started, answer, x)
    except (GpuBuildError, ValueError) as error:
        said = str(error).strip().splitlines()[-1]
        return wrong(name, word("The kernel doesn't run: {problem}", problem=said))
    hint = _log_softmax_hint(found, x)
    if hint is not None:
        return wrong(name, hint)
    return right(name, word("Right, and nothing is written outside the tensor."))


def _started(kernel: Any, x: torch.Tensor) -> torch.Tensor:
    """Start a kernel on numbers amid others; return its results and what lies behind them."""
    block_columns = 1 << (COLUMNS - 1).bit_length()
    room = (ROWS + BLOCK_ROWS) * block_columns
    memory = torch.full((2 * room,), NEIGHBOUR)
    memory[room : room + x.numel()] = x.flatten()
    out = torch.full((room,), UNTOUCHED)
    kernel[(-(-ROWS // BLOCK_ROWS),)](
        out,
        memory[room:],
        ROWS,
        NUM_COLUMNS=COLUMNS,
        BLOCK_ROWS=BLOCK_ROWS,
        BLOCK_COLUMNS=block_columns,
    )
    return out


def _log_softmax_hint(found: torch.Tensor, x: torch.Tensor) -> Word | None:
    """Say what a kernel computes instead; None if it is right."""
    got, behind = found[: x.numel()].view_as(x).double(), found[x.numel() :]
    exact = torch.log_softmax(x.double(), -1)
    if _is_near(got, exact) and behind.eq(UNTOUCHED).all():
        return None
    if _is_near(got, exact):
        return word("The rows are right, but it also writes behind the tensor: mask the store.")
    if _is_near(got, exact.exp()):
        return word("This is the softmax; its logarithm is asked for.")
    if not got.isfinite().any(-1).all():
        return word("A whole row isn't finite: subtract the maximum before exp.")
    if got.isneginf().any():
        return word("Some results are -inf: an exponential was 0. Take the logarithm of the sum.")
    return word("The results are other numbers than the logarithm of the softmax.")


def _is_near(got: torch.Tensor, exact: torch.Tensor) -> bool:
    return bool((got - exact).abs().max() <= ROUNDINGS * exact.abs().max())


def _is_empty(answer: object) -> bool:
    """Tell whether a kernel's body is nothing but three dots."""
    if not hasattr(answer, "fn"):
        return False
    text = textwrap.dedent(inspect.getsource(answer.fn))
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    statements = [statement for function in functions for statement in function.body]
    return bool(statements) and all(
        isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) for one in statements
    )


def _is_exact(got: object, expected: int) -> bool:
    return as_number(got) == expected


def _is_same_share(got: object, expected: float) -> bool:
    value = as_number(got)
    return value is not None and is_close(value, expected)
