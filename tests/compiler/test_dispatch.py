"""The dispatcher trace. Oracles: TorchDispatchMode, and sizes counted by hand; one compile."""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fuseshard.compiler.dispatch import trace
from fuseshard.compiler.inductor import head_with, library_softmax, softmax_by_hand
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

ROWS, VOCABULARY = 7, 600
TABLE_BYTES = ROWS * VOCABULARY * 4


class Seen(TorchDispatchMode):
    """The oracle: names of the operators that reach the Python dispatch key."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func._schema.name
        overload = func._schema.overload_name
        self.ops.append(f"{name}.{overload}" if overload else name)
        return func(*args, **(kwargs or {}))


def seen_by_oracle(fn: Callable[..., Any], *args: Any) -> list[str]:
    with Seen() as mode:
        fn(*args)
    return mode.ops


def hidden() -> torch.Tensor:
    return torch.randn(ROWS, 64, generator=torch.Generator().manual_seed(3))


def step_with_gradient(x: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad((x * x).sum(), x)[0]


SMALL = MiniGPTConfig(vocabulary=11, width=12, num_layers=2, num_heads=3, context=7)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (head_with(library_softmax), (hidden(),)),
        (head_with(softmax_by_hand), (hidden(),)),
        (lambda x: torch.cat([x, x.t().contiguous().t()]).relu_(), (hidden(),)),
        (lambda x: x.unbind(0)[2].view(8, 8).clone(), (hidden(),)),
    ],
)
def test_kernels_and_views_are_those_that_reach_the_python_key(
    fn: Callable[..., Any], args: tuple[torch.Tensor, ...]
) -> None:
    """Composite operators are gone at that key, and a kernel's own calls lie below it."""
    expected = seen_by_oracle(fn, *args)
    calls = trace(fn, *args).calls
    upper, below = [], None
    for call in calls:
        if below is not None and call.depth > below:
            continue
        below = None if call.role == "composite" else call.depth
        if call.role != "composite":
            upper.append(call.op)
    assert upper == expected


def test_the_head_with_the_library_softmax_computes_two_kernels() -> None:
    seen = trace(head_with(library_softmax), hidden())
    assert [call.op for call in seen.kernels] == ["aten::addmm", "aten::_softmax"]
    assert [call.op for call in seen.calls if call.depth == 0] == [
        "aten::linear",
        "aten::softmax.int",
    ]


def test_the_head_by_hand_computes_six_kernels() -> None:
    seen = trace(head_with(softmax_by_hand), hidden())
    names = [call.op.removeprefix("aten::").split(".")[0] for call in seen.kernels]
    assert names == ["addmm", "amax", "sub", "exp", "sum", "div"]


def test_allocated_bytes_are_the_sizes_of_the_results() -> None:
    seen = trace(head_with(softmax_by_hand), hidden())
    column = ROWS * 4
    expected = [TABLE_BYTES, column, TABLE_BYTES, TABLE_BYTES, column, TABLE_BYTES]
    assert [call.allocated_bytes for call in seen.kernels] == expected
    assert seen.allocated_bytes == sum(expected)


def test_views_and_in_place_calls_allocate_nothing() -> None:
    x, y = torch.zeros(6, 5), torch.ones(5, 6)
    seen = trace(lambda: x.t().view(5, 6).add_(y))
    assert len(seen.calls) >= 3
    assert seen.allocated_bytes == 0
    # Positive control: the same addition out of place allocates its result.
    assert trace(lambda: x.t() + y).allocated_bytes == 6 * 5 * 4


def test_several_results_and_other_dtypes_are_counted() -> None:
    """`max` along a dim also returns int64 indices."""
    seen = trace(lambda x: x.max(dim=1), torch.randn(7, 12))
    assert seen.allocated_bytes == 7 * 4 + 7 * 8


def test_a_list_of_tensors_is_an_argument_too() -> None:
    first, second = torch.ones(2, 3), torch.ones(5, 3)
    (cat,) = trace(torch.cat, [first, second]).kernels
    assert cat.input_shapes == ((2, 3), (5, 3))
    assert cat.output_shapes == ((7, 3),)


def test_an_autograd_layer_lies_over_what_python_calls_and_not_over_what_a_kernel_calls() -> None:
    calls = {call.op: call for call in trace(head_with(library_softmax), hidden()).calls}
    assert calls["aten::linear"].layers == ("CompositeImplicitAutograd",)
    assert calls["aten::addmm"].layers == ("AutogradCPU", "CPU")
    assert calls["aten::t"].layers == ("AutogradCPU", "ADInplaceOrView", "CPU")
    assert calls["aten::copy_"].layers == ("CPU",)  # addmm's own, to spread the bias


def test_inference_mode_takes_the_autograd_layers_away() -> None:
    with torch.inference_mode():
        calls = trace(lambda x: x.exp(), torch.ones(3)).calls
    assert [call.layers for call in calls] == [("CPU",)]
    assert [call.layers for call in trace(torch.exp, torch.ones(3)).calls] == [
        ("AutogradCPU", "CPU")
    ]


def test_the_backward_pass_is_in_the_trace() -> None:
    ops = [call.op for call in trace(step_with_gradient, torch.ones(3, requires_grad=True)).calls]
    assert ops.count("aten::mul.Tensor") == 3  # one forward, two for the gradient of x * x


def test_depth_grows_by_one_at_a_time_and_starts_at_zero() -> None:
    depths = [call.depth for call in trace(MiniGPT(SMALL), torch.zeros(1, 7).long()).calls]
    assert depths[0] == 0
    assert all(after <= before + 1 for before, after in itertools.pairwise(depths))
    assert max(depths) >= 3


def test_a_compiled_function_shows_one_region_and_the_library_call_in_it() -> None:
    head = head_with(library_softmax)
    x = hidden()
    assert trace(head, x).compiled_regions == 0
    seen = trace(torch.compile(head), x)
    assert seen.compiled_regions == 1
    assert [call.op for call in seen.kernels] == ["aten::addmm.out"]


def test_a_function_that_raises_leaves_the_observer_off() -> None:
    calls = []

    def second_call_fails() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        trace(second_call_fails)
    assert [call.op for call in trace(torch.exp, torch.ones(2)).calls] == ["aten::exp"]


def test_the_observers_lines_are_dropped_and_others_pass() -> None:
    """Its C++ writes to stderr with a process id, which would end up on the page."""
    script = (
        "import os, torch\n"
        "from fuseshard.compiler.dispatch import trace\n"
        "trace(lambda: (os.write(2, b'mine\\n'), torch.ones(2).exp()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stderr.splitlines() == ["mine", "mine"]  # one call untraced, one traced


def test_no_file_descriptor_is_left_open() -> None:
    trace(torch.exp, torch.ones(2))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - a Path would open one more
    trace(torch.exp, torch.ones(2))
    assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
