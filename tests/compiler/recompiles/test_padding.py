"""Padding. Oracle: attention without padding, within a derived bound; torch's FLOP counter."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from fuseshard.compiler.recompiles.lengths import WIDTH, attention_flop
from fuseshard.compiler.recompiles.padding import (
    LONGEST,
    Padder,
    attend,
    attend_padded,
    rounding_bound,
    sample_lengths,
)


def sequence(length: int) -> torch.Tensor:
    return torch.randn(length, WIDTH, generator=torch.Generator().manual_seed(length))


@pytest.fixture(scope="module")
def padder() -> Padder:
    made = Padder(attend_padded, (16, 64), backend="eager")
    made.warm_up(16)
    return made


@pytest.mark.parametrize("length", [1, 7, 16, 17, 63])
def test_padded_and_unpadded_differ_by_rounding_only(padder: Padder, length: int) -> None:
    x = sequence(length)
    result = padder(x)
    assert result.shape == x.shape
    assert (result - attend(x)).abs().max() <= rounding_bound(x)


def test_without_the_mask_the_difference_is_no_rounding() -> None:
    """Must-fail twin."""
    unmasked = Padder(lambda x, length: attend(x) + 0 * length, (16,), backend="eager")
    x = sequence(7)
    assert (unmasked(x) - attend(x)).abs().max() > 10 * rounding_bound(x)


def test_the_bound_holds_against_double_precision() -> None:
    x = sequence(200)
    assert (attend(x) - attend(x.double())).abs().max() <= rounding_bound(x)


@pytest.mark.parametrize("length", [1, 7, 37])
def test_the_formula_counts_what_torch_counts(length: int) -> None:
    with FlopCounterMode(display=False) as counter:
        attend(sequence(length))
    assert counter.get_total_flops() == attention_flop(length)


@pytest.mark.parametrize("lengths", [(), (8, 4), (4, 4), tuple(range(1, 10))])
def test_lengths_that_torch_would_not_compile_are_refused(lengths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="must be 1 to 8 and growing"):
        Padder(attend_padded, lengths)


def test_the_sample_is_short_mostly_and_never_too_long() -> None:
    lengths = sample_lengths(1000)
    assert lengths == sample_lengths(1000)
    assert min(lengths) >= 1 and max(lengths) <= LONGEST
    assert sorted(lengths)[500] < sum(lengths) / 1000 < LONGEST / 2
