"""Each replacement, and what goes wrong without it. Oracle: torch, or counting on paper."""

import re
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from fuseshard.compiler.gpu_code.worker.parent import Worker
from fuseshard.compiler.interpreted.records import Interpreted, NoAnswerError
from fuseshard.compiler.interpreted.shims import SHIMS
from tests.compiler.interpreted import programs
from tests.compiler.interpreted.conftest import Write
from tests.compiler.interpreted.oracle import seeded

HALF = tuple(seeded(2, 2, 9, 16, seed=s).bfloat16() for s in range(3))
# bfloat16 results of two programs that round at different places: some units in the last place.
CLOSE = {"rtol": 2.0**-6, "atol": 2.0**-7}
STOPS: dict[str, tuple[Any, Sequence[torch.Tensor], str]] = {
    "driver": (programs.gelu, [seeded(3, 7)], "Could not find an active GPU backend"),
    # Builds of torch that know CUDA miss the driver, others the call.
    "steering": (programs.gelu, [seeded(3, 7)], "_cuda|NVIDIA"),
    "memory": (programs.gelu, [seeded(3, 7)], "specified device|NVIDIA"),
    "libdevice": (programs.gelu, [seeded(3, 7)], "NoneType"),
    "assembly": (programs.arctangent, [seeded(3, 7)], "inline_asm not supported"),
    "attention": (programs.attend, HALF, "_scaled_dot_product_cudnn_attention"),
    "layout": (programs.attend_by_token, HALF, "stride"),
}
"""name -> program, inputs, and words of the error without the shim"""
NORMAL = 2 * 254 * 2**7
"""bit patterns of bfloat16 with an exponent that is neither the least nor the largest"""
WRONG_OR_SLOW = {"rounding", "reductions", "language", "kernels"}
"""shims without which a run ends, and not well; each has a test of its own"""


def test_every_shim_says_why_and_has_a_test() -> None:
    assert set(SHIMS) == {*STOPS, *WRONG_OR_SLOW}
    assert all(shim.reason.endswith(".") for shim in SHIMS.values())


@pytest.mark.parametrize("name", STOPS)
def test_without_it_the_program_stops(child: Worker, write: Write, name: str) -> None:
    fn, args, words = STOPS[name]
    graphs = write(fn, args)
    without = child.ask("outcome_without", name, graphs, args)
    assert isinstance(without, str)
    assert re.search(words, without)
    # Positive control, and proof that the shim is back.
    (output,) = child.ask("run_graphs", graphs, args).outputs
    torch.testing.assert_close(output, fn(*args), **CLOSE)


def test_without_check_and_repair_attention_is_silently_wrong(child: Worker, write: Write) -> None:
    graphs = write(programs.attend_by_token, HALF)
    expected = programs.attend_by_token(*HALF)
    (repaired,) = child.ask("run_graphs", graphs, HALF).outputs
    (ignored,) = child.ask("with_layouts_ignored", graphs, HALF).outputs
    torch.testing.assert_close(repaired, expected, **CLOSE)
    assert ignored.shape == expected.shape
    assert (ignored - expected).abs().max() > 1


def test_without_our_kernels_inductors_own_run_and_leave_no_record(
    child: Worker, write: Write
) -> None:
    x = seeded(3, 7)
    graphs = write(programs.gelu, [x])
    ours = child.ask("run_graphs", graphs, [x])
    inductors = child.ask("outcome_without", "kernels", graphs, [x])
    assert torch.equal(ours.outputs[0], inductors.outputs[0])
    assert (len(ours.launches), len(inductors.launches)) == (1, 0)


def around_every_middle() -> torch.Tensor:
    """The middle after each of bfloat16's 2^16 bit patterns, and float32's neighbours of it."""
    upper = torch.arange(2**16, dtype=torch.int64) << 16
    bits = torch.cat([upper + lower for lower in (0x7FFF, 0x8000, 0x8001)])
    return bits.to(torch.int32).view(torch.float32)


def test_bfloat16_is_stored_as_hardware_rounds_it(child: Worker, write: Write) -> None:
    """Oracle: torch's cast, which rounds to nearest even. The twin: without the shim, no number
    that ought to be rounded up is."""
    x = around_every_middle()
    graphs = write(programs.to_bfloat16, [x])
    expected = programs.to_bfloat16(x)
    (actual,) = child.ask("run_graphs", graphs, [x]).outputs
    assert torch.equal(actual.isnan(), expected.isnan())
    same = actual.view(torch.int16) == expected.view(torch.int16)
    assert (same | expected.isnan()).all()
    without = child.ask("outcome_without", "rounding", graphs, [x])
    assert isinstance(without, Interpreted)
    wrong = without.outputs[0].view(torch.int16) != expected.view(torch.int16)  # type: ignore[union-attr]
    is_normal = x.isfinite() & (x.abs() >= torch.finfo(torch.float32).tiny)
    # Above the middle all are to be rounded up, in the middle every other one, below none.
    assert (wrong & is_normal).view(3, -1).sum(-1).tolist() == [0, NORMAL // 2, NORMAL]
    # And of what is smaller, it makes something else than the upper half of the bits.
    assert wrong[~is_normal & ~expected.isnan()].sum() > 2**8


def test_bfloat16_tiles_are_computed_with_as_numbers(child: Worker) -> None:
    """Oracle: torch's bfloat16 on this CPU, which rounds each operation once."""
    x, y = (seeded(16, seed=s).bfloat16() for s in (1, 2))
    product, difference, smaller, fused, total, prefix, whole = child.ask("arithmetic", x, y, False)
    assert torch.equal(product, x * y)
    assert torch.equal(difference, y - x)
    assert torch.equal(smaller, torch.minimum(x, y))
    assert torch.equal(fused, (x.double() * y.double() + x.double()).bfloat16())
    assert torch.equal(whole, (torch.arange(16) - 3).bfloat16())
    # Partial sums are rounded 4 times in a tree of 16, by half of 2^-8 of at most sum |x|.
    bound = 4 * 2**-9 * x.float().abs().sum()
    assert (total.float() - x.float().sum()).abs().max() <= bound
    bound = 4 * 2**-9 * y.float().abs().sum()
    assert (prefix.float() - y.float().cumsum(0)).abs().max() <= bound
    patterns = child.ask("arithmetic", x, y, True)
    assert not torch.equal(patterns[0], product)


def test_a_product_of_bfloat16_tiles_is_one_of_numbers(child: Worker) -> None:
    a, b = (seeded(16, 16, seed=s).bfloat16() for s in (1, 2))
    torch.testing.assert_close(child.ask("product", a, b), a.float() @ b.float())


@pytest.mark.parametrize(
    ("name", "kind"),
    [("float8e4nv", torch.float8_e4m3fn), ("float8e5", torch.float8_e5m2)],
)
def test_float8_is_the_nearest_of_all_256(child: Worker, name: str, kind: torch.dtype) -> None:
    """Oracle: trying all of them. Too large a number becomes the largest, as on NVIDIA's cards."""
    x = torch.cat([seeded(500) * 2.0 ** torch.arange(-12, 13).repeat(20), torch.tensor([1e9])])
    x = torch.cat([x, -x[:10], torch.zeros(1)])[:512].contiguous()
    codes = torch.arange(256, dtype=torch.uint8).view(kind).float()
    finite = codes[codes.isfinite()].double()
    nearest = (x.double()[:, None] - finite).abs().min(-1).values
    actual = child.ask("rounded", x, name)
    assert torch.equal((actual.double() - x.double()).abs(), nearest)


def test_a_tile_of_rows_is_combined_by_halves(child: Worker) -> None:
    """On paper: 64 columns take log2(64) = 6 calls to reduce and 6 to scan, for all rows at once;
    one element at a time, 8 rows take 2 * 8 * 63."""
    x = seeded(8, 64)
    for without, calls in ((False, 6 + 6), (True, 2 * 8 * 63)):
        largest, prefix, counted = child.ask("combined_rows", x, without)
        assert torch.equal(largest, x.amax(-1))
        assert torch.equal(prefix, x.flip(-1).cummax(-1).values.flip(-1))
        assert counted == calls


def test_the_language_is_taken_over_once_a_launch(child: Worker) -> None:
    """With the shim the count doesn't grow with the programs of the grid."""
    counts = {}
    for without in (False, True):
        for size in (8, 64):
            x = torch.arange(size, dtype=torch.float32)
            found, counts[without, size] = child.ask("squares_and_takeovers", x, without)
            assert torch.equal(found, x**4)
    assert counts[False, 8] == counts[False, 64]
    assert counts[True, 64] > 4 * counts[True, 8]


def test_atomic_additions_of_bfloat16_are_refused(child: Worker) -> None:
    x = torch.arange(16.0)
    assert child.ask("added", x) == 120
    with pytest.raises(NoAnswerError, match="atomically in bf16"):
        child.ask("added", x.bfloat16())


def test_what_libdevice_lacks_here_is_named(child: Worker) -> None:
    with pytest.raises(ValueError, match="__nv_sinpif"):
        child.ask("unanswered", torch.ones(1))


def test_a_run_leaves_numpys_warnings_as_they_were(child: Worker, write: Write) -> None:
    x = torch.tensor([float("inf"), 0.0, -1.0])
    before = child.ask("warnings_state")
    child.ask("run_graphs", write(programs.softmax, [x]), [x])
    assert child.ask("warnings_state") == before
