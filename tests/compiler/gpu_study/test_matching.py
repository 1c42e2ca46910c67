"""Lines matched by what they do. Oracle: kernels with roles found by eye; no torch."""

import inspect

import pytest

from fuseshard.compiler.gpu_study.matching import ROLES, kernel_text, match_softmax, roles
from fuseshard.kernels.softmax import softmax_kernel

BY_HAND = inspect.getsource(softmax_kernel.fn)
BY_INDUCTOR = """
import triton
@triton.jit
def _helper(a, b):
    return a + b
@triton_heuristics.persistent_reduction(size_hints={'x': 8})
@triton.jit
def kernel(in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    xnumel = 37
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_ptr0 + (r0_index + 100*xindex), r0_mask & xmask, other=0.0)
    tmp1 = tl.where(r0_mask & xmask, tmp0, float("-inf"))
    tmp2 = triton_helpers.max2(tmp1, 1)[:, None]
    tmp3 = tmp0 - tmp2
    tmp4 = libdevice.exp(tmp3)
    tmp5 = tl.sum(tmp4, 1)[:, None]
    tmp6 = tmp0 - tmp2
    tmp7 = libdevice.exp(tmp6)
    tmp8 = (tmp7 / tmp5)
    tl.store(out_ptr0 + (r0_index + 100*xindex), tmp8, r0_mask & xmask)
"""


def test_each_line_has_the_roles_that_an_eye_finds() -> None:
    assert roles(kernel_text(BY_INDUCTOR)) == {
        "rows": (4,),
        "columns": (7,),
        "mask": (6, 8),
        "load": (9,),
        "maximum": (11,),
        "subtract": (12, 15),
        "exp": (13, 16),
        "sum": (14,),
        "divide": (17,),
        "store": (18,),
    }


def test_notes_of_both_kernels_are_in_the_same_order() -> None:
    matching = match_softmax(BY_HAND, BY_INDUCTOR)
    assert [match.role for match in matching.roles] == list(ROLES)
    for side in (0, 1):
        places = [match.places[side] for match in matching.roles]
        assert places == sorted(places)
    assert matching.by_inductor.splitlines()[0] == "@triton.jit"
    assert matching.unmatched == 5  # two decorations, xnumel, xindex and where


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    tmp5 = tl.sum(tmp4, 1)[:, None]\n", ""),
        ("    xoffset = tl.program_id(0) * XBLOCK\n", "    pass\n"),
    ],
)
def test_a_kernel_without_a_role_is_refused(old: str, new: str) -> None:
    assert old in BY_INDUCTOR
    with pytest.raises(ValueError, match="must be there for each"):
        match_softmax(BY_HAND, BY_INDUCTOR.replace(old, new))


def test_a_kernel_in_another_order_is_refused() -> None:
    first, second = "    tmp4 = libdevice.exp(tmp3)\n", "    tmp5 = tl.sum(tmp4, 1)[:, None]\n"
    swapped = BY_INDUCTOR.replace(first + second, second + first)
    assert swapped != BY_INDUCTOR
    with pytest.raises(ValueError, match="in the order of"):
        match_softmax(BY_HAND, swapped)


def test_a_module_without_a_kernel_is_refused() -> None:
    with pytest.raises(ValueError, match="has no kernel"):
        kernel_text("def kernel(): ...")
