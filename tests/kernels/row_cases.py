"""Kernels that hold whole rows, run by Triton's interpreter; a script for test_rows.py.

Bounds: one operation in float32 errs by u = 2**-24 of its result, a sum of n numbers by n u of the
sum of their sizes, whatever the order.
"""

from types import ModuleType
from typing import Any

import torch
from case_tools import DTYPES, STORE, TINY, U, drawn, excess, refusal, report, with_mistake

from fuseshard.kernels import copy, reference, rms_norm, softmax

WIDTHS = (1, 7, 600, 1000, 2048)
ROWS = 5
EPS = 1e-5


def softmax_excess(module: ModuleType, x: torch.Tensor, **by_hand: int) -> float:
    """exp errs by the error of its argument, d u for a distance d to the maximum, and 4 u.

    The sum has those errors and n u; the division and the product have 2 u.
    """
    expected = reference.softmax(x)
    far = (x.double() - x.double().amax(-1, keepdim=True)).abs().amax()
    relative = (2 * far + x.shape[-1] + 10) * U + STORE[x.dtype]
    return excess(module.softmax(x, **by_hand), expected, expected * relative + TINY[x.dtype])


def rms_excess(module: ModuleType, x: torch.Tensor, w: torch.Tensor, **by_hand: int) -> float:
    """The mean square errs by n u and 4 u, its root by half of that, the rest by 4 u."""
    expected = reference.rms_norm(x, w, eps=EPS)
    relative = (x.shape[-1] / 2 + 8) * U + STORE[x.dtype]
    got = module.rms_norm(x, w, eps=EPS, **by_hand)
    return excess(got, expected, expected.abs() * relative + TINY[x.dtype])


def rms_gradient_excess(
    module: ModuleType, dtype: torch.dtype, shape: tuple[int, int], **by_hand: int
) -> dict[str, float]:
    """Both gradients err by what is added up for them, in parts that their sums of sizes tell."""
    rows, columns = shape
    x, dy = (drawn(*shape, dtype=dtype, seed=seed) for seed in (3, 4))
    w = drawn(columns, dtype=dtype, seed=5)
    x64, w64 = x.double().requires_grad_(), w.double().requires_grad_()
    reference.rms_norm(x64, w64, eps=EPS).backward(dy.double())
    dx, dw = module.rms_norm_backward(dy, x, w, eps=EPS, **by_hand)
    with torch.no_grad():
        inverse = (x64.square().mean(-1, keepdim=True) + EPS).rsqrt()
        n, g = x64 * inverse, dy.double() * w64
        # g - n * mean(g * n): n errs by (N / 2 + 8) u, the mean by 3 N / 2 + 12, and so on.
        sizes = (g.abs() + n.abs() * (g * n).abs().mean(-1, keepdim=True)) * inverse
        dx_bound = sizes * (3 * columns + 40) * U + x64.grad.abs() * STORE[dtype] + TINY[dtype]
        dw_sizes = (dy * n).abs().sum(0)
        dw_bound = dw_sizes * (rows + columns / 2 + 12) * U + w64.grad.abs() * STORE[dtype]
    return {
        "dx": excess(dx, x64.grad, dx_bound),
        "dw": excess(dw, w64.grad, dw_bound + TINY[dtype]),
    }


def equal_cases() -> dict[str, float]:
    """Every kernel at sizes that fill no block, in every type."""
    found = {}
    for name, dtype in DTYPES.items():
        for width in WIDTHS:
            x = drawn(ROWS, width, dtype=dtype, seed=width, spread=3.0)
            w = drawn(width, dtype=dtype, seed=1)
            found[f"softmax {name} {width}"] = softmax_excess(softmax, x)
            found[f"rms_norm {name} {width}"] = rms_excess(rms_norm, x, w)
        for shape in ((70, 600), (3, 1000), (1, 7)):
            for which, value in rms_gradient_excess(rms_norm, dtype, shape).items():
                found[f"rms_norm {which} {name} {shape}"] = value
    return found


def by_hand_cases() -> dict[str, float]:
    """Rows and warps set by hand, which may change the order of sums and nothing else."""
    x = drawn(9, 600, dtype=torch.float32, seed=6)
    w = drawn(600, dtype=torch.float32, seed=7)
    found = {}
    for rows in (1, 2, 16):
        by_hand = {"rows_per_program": rows, "num_warps": 2}
        found[f"softmax {rows}"] = softmax_excess(softmax, x, **by_hand)
        found[f"rms_norm {rows}"] = rms_excess(rms_norm, x, w, **by_hand)
        for programs in (1, 4):
            gradients = rms_gradient_excess(
                rms_norm, torch.float32, (9, 600), num_programs=programs, **by_hand
            )
            found |= {f"{which} {rows} {programs}": value for which, value in gradients.items()}
    return found


def mistaken_cases() -> dict[str, float]:
    """Kernels with one mistake each, under the same bounds."""
    x = drawn(ROWS, 600, dtype=torch.float32, seed=8)
    w = drawn(600, dtype=torch.float32, seed=9)
    zero_outside = with_mistake(softmax, 'other=-float("inf")', "other=0.0")
    mean = "mean_square = tl.sum(x * x, axis=1, keep_dims=True) / "
    block_mean = with_mistake(rms_norm, f"{mean}NUM_COLUMNS", f"{mean}BLOCK_COLUMNS")
    last_block = with_mistake(rms_norm, "dw += tl.sum", "dw = tl.sum")
    no_along = with_mistake(rms_norm, "(g - n * along)", "g")
    return {
        "padding that counts": softmax_excess(zero_outside, x),
        "mean over the block": rms_excess(block_mean, x, w),
        "the last block of rows alone": rms_gradient_excess(
            last_block, torch.float32, (5, 600), num_programs=1
        )["dw"],
        "a gradient along the row": rms_gradient_excess(no_along, torch.float32, (5, 600))["dx"],
    }


def special_values() -> dict[str, Any]:
    """What softmax makes of infinities and of numbers whose exp is infinite."""
    inf = float("inf")
    rows = {
        "all -inf": [-inf, -inf, -inf],
        "one -inf": [-inf, 1.0, 2.0],
        "inf": [inf, 1.0, 2.0],
        "nan": [float("nan"), 1.0, 2.0],
        "large": [3e38, 3e38, -3e38],
        "far apart": [1000.0, 0.0, -1000.0],
    }
    x = torch.tensor(list(rows.values()))
    got, expected = softmax.softmax(x), torch.softmax(x, -1)
    return {
        name: {
            "same_nan": torch.equal(a.isnan(), b.isnan()),
            "nan": bool(b.isnan().all()),
            "close": torch.allclose(a, b, rtol=20 * U, atol=0, equal_nan=True),
        }
        for name, a, b in zip(rows, got, expected, strict=True)
    }


def autograd_cases() -> dict[str, Any]:
    """Gradients as autograd asks for them: of a sum, whose gradient comes expanded."""
    x = drawn(2, 3, 7, dtype=torch.float32, seed=10).requires_grad_()
    w = drawn(7, dtype=torch.float32, seed=11).requires_grad_()
    x64, w64 = (t.detach().double().requires_grad_() for t in (x, w))
    (2 * rms_norm.rms_norm(x, w)).sum().backward()
    (2 * reference.rms_norm(x64, w64, eps=rms_norm.EPS)).sum().backward()
    near = {"rtol": 100 * U, "atol": 100 * U}
    return {
        "x": torch.allclose(x.grad.double(), x64.grad, **near),
        "w": torch.allclose(w.grad.double(), w64.grad, **near),
        "shape": list(x.grad.shape),
    }


def copies() -> dict[str, bool]:
    """Copies of sizes that fill no block, bit for bit."""
    found = {}
    for name, dtype in DTYPES.items():
        for size in (0, 1, 4099):
            x = drawn(size, dtype=dtype, seed=size)
            bits = torch.int32 if dtype.itemsize == 4 else torch.int16
            found[f"{name} {size}"] = torch.equal(copy.copy(x).view(bits), x.view(bits))
    return found


def refusals() -> dict[str, str]:
    """What launchers say of arguments that a kernel would misread."""
    x = drawn(4, 8, dtype=torch.float32, seed=12)
    w = x[0].clone()
    return {
        "dtype": refusal(lambda: softmax.softmax(x.double())),
        "strides": refusal(lambda: softmax.softmax(x.T)),
        "device": refusal(lambda: softmax.softmax(x.to("meta"))),
        "gradient": refusal(lambda: softmax.softmax(x.clone().requires_grad_())),
        "rows": refusal(lambda: softmax.softmax(x[:, :0].contiguous())),
        "scalar": refusal(lambda: softmax.softmax(x.sum())),
        "power": refusal(lambda: softmax.softmax(x, rows_per_program=3)),
        "width": refusal(lambda: softmax.softmax(torch.zeros(1, 65537))),
        "weight shape": refusal(lambda: rms_norm.rms_norm(x, w[:4].clone())),
        "weight dtype": refusal(lambda: rms_norm.rms_norm(x, w.half())),
        "dy shape": refusal(lambda: rms_norm.rms_norm_backward(x[:2].clone(), x, w)),
        "no gradient": refusal(lambda: copy.copy(x.clone().requires_grad_())),
        "fine": refusal(lambda: softmax.softmax(x.detach())),
        "no rows": refusal(lambda: softmax.softmax(x[:0])),
    }


def main() -> None:
    report(
        {
            "equal": equal_cases(),
            "by hand": by_hand_cases(),
            "mistaken": mistaken_cases(),
            "special": special_values(),
            "autograd": autograd_cases(),
            "copies": copies(),
            "refusals": refusals(),
        }
    )
