"""What the answers of the chapter on when compiling helps are tested with."""

from __future__ import annotations

import math

from fuseshard.checks.common import check_function, check_number, is_close
from fuseshard.compiler.ledger.account import shapley
from fuseshard.compiler.ledger.chain_model import ChainModel
from fuseshard.compiler.ledger.payback import calls_to_pay
from fuseshard.show.records import Check
from fuseshard.show.words import word

PRICES = ChainModel(
    eager_call_s=20e-6,
    compiled_call_s=50e-6,
    pass_s={1_000_000: 400e-6},
    arithmetic_s=0.05e-9,
)
"""prices of a made-up machine: the exercise must not depend on the one that built the page"""

ELEMENTS, OPERATIONS = 1_000_000, 4

_SHARE_CASES = ((8.0, 4.0, 4.0, 2.0), (8.0, 2.0, 8.0, 1.0), (9.0, 3.0, 1.0, 1.0))
_PAYBACK_CASES = (
    (3.0, 2.0, 1.0),
    (10.0, 1.0, 0.5),
    (1.0, 1e-3, 0.9e-3),
    (5.0, 1.0, 1.5),
    (0.25, 1.0, 0.25),
)


def check_speedup(answer: object) -> Check:
    """Check the predicted speed-up of four operations on a million elements.

    Args:
        answer: a factor; `...` means nothing yet.
    """
    eager_s = PRICES.eager_s(OPERATIONS, ELEMENTS)
    memory_s, arithmetic_s = PRICES.pass_s[ELEMENTS], OPERATIONS * ELEMENTS * PRICES.arithmetic_s
    return check_number(
        "when-it-helps-speedup",
        answer,
        PRICES.speedup(OPERATIONS, ELEMENTS),
        what=word("Speed-up"),
        slips={
            eager_s / (PRICES.compiled_call_s + memory_s + arithmetic_s): word(
                "Memory and arithmetic overlap: they don't add up."
            ),
            eager_s / memory_s: word("A compiled call isn't free either."),
            float(OPERATIONS): word("That counts passes only; calls have a price too."),
            PRICES.ceiling(ELEMENTS): word("That is the ceiling; this chain is too short for it."),
        },
    )


def fusion_share(none_s: float, fusion_s: float, vectors_s: float, both_s: float) -> float:
    """Return what fusion is charged with by the mean over both orders, as a factor on the time.

    Args:
        none_s: seconds with neither switch on.
        fusion_s: seconds with fusion alone.
        vectors_s: seconds with vectors alone.
        both_s: seconds with both.
    """
    times = {
        frozenset(): none_s,
        frozenset({"fusion"}): fusion_s,
        frozenset({"vectors"}): vectors_s,
        frozenset({"fusion", "vectors"}): both_s,
    }
    return shapley(times, ("fusion", "vectors"))[0].factor


def check_share(answer: object) -> Check:
    """Check a function that charges fusion with its mean step, given four times.

    Args:
        answer: function of none_s, fusion_s, vectors_s and both_s that returns a factor.
    """
    return check_function("when-it-helps-share", answer, _SHARE_CASES, fusion_share)


def check_payback(answer: object) -> Check:
    """Check a function that says after how many calls compiling has paid.

    Args:
        answer: function of first_call_s, eager_s and compiled_s; None where it never pays.
    """
    return check_function(
        "when-it-helps-payback", answer, _PAYBACK_CASES, calls_to_pay, is_same=_is_same_count
    )


def _is_same_count(got: object, expected: int | None) -> bool:
    if expected is None or got is None:
        return got is expected
    if isinstance(got, bool) or not isinstance(got, int | float) or not math.isfinite(got):
        return False
    return is_close(float(got), expected, 0)
