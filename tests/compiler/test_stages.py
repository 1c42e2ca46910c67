"""Stages of a compile. Oracles: the traced function itself, and torch's own counters.

Each function is compiled once, in a module-scoped fixture.
"""

import re
import warnings
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch._dynamo.utils import counters

from fuseshard.compiler.inductor import head_with, library_softmax
from fuseshard.compiler.records import Stages
from fuseshard.compiler.stages import capture

ROWS = 7

STAGES = ("bytecode", "guards", "fx", "aten", "loops", "source")
TRAINING_STAGES = (*STAGES, "joint", "backward")


def hidden() -> torch.Tensor:
    return torch.randn(ROWS, 64, generator=torch.Generator().manual_seed(3))


def breaks_in_the_middle(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    torch._dynamo.graph_break()
    return y.cos()


@pytest.fixture(scope="module")
def inference() -> Stages:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Guards may run slower on Python 3.13.0")
        return capture(head_with(library_softmax), hidden())


@pytest.fixture(scope="module")
def training() -> SimpleNamespace:
    head = nn.Linear(64, 600)
    stages = capture(lambda x: library_softmax(head(x)), hidden(), backward=True)
    return SimpleNamespace(stages=stages, head=head)


@pytest.fixture(scope="module")
def broken() -> Stages:
    return capture(breaks_in_the_middle, hidden())


@pytest.mark.parametrize("stage", STAGES)
def test_inference_fills_every_stage_once(inference: Stages, stage: str) -> None:
    assert len(getattr(inference, stage)) == inference.graph_count == 1
    assert getattr(inference, stage)[0].strip()


def test_inference_has_no_backward_half(inference: Stages) -> None:
    assert (inference.joint, inference.backward, inference.break_reasons) == ((), (), ())


def test_the_stages_speak_their_own_languages(inference: Stages) -> None:
    assert "torch.softmax" in inference.fx[0]
    assert "aten._softmax" not in inference.aten[0]
    for op in ("addmm", "amax", "sub", "exp", "sum", "div"):
        assert f"torch.ops.aten.{op}." in inference.aten[0], op
    assert "ops.reduction(torch.float32, torch.float32, 'max'" in inference.loops[0]
    assert "extern_kernels.addmm(" in inference.source[0]
    assert "RETURN_VALUE" in inference.bytecode[0]
    assert f"size=[{ROWS}, 64]" in inference.guards[0]


def test_the_shapes_are_those_of_the_input(inference: Stages) -> None:
    assert f"f32[{ROWS}, 600]" in inference.aten[0]
    assert f"empty_strided_cpu(({ROWS}, 600)" in inference.source[0]


@pytest.mark.parametrize("stage", TRAINING_STAGES)
def test_training_fills_every_stage(training: SimpleNamespace, stage: str) -> None:
    expected = 2 if stage in ("loops", "source") else 1  # forward and backward are lowered apart
    assert len(getattr(training.stages, stage)) == expected


def test_the_partitioner_cuts_the_joint_graph_in_two(training: SimpleNamespace) -> None:
    stages = training.stages
    assert "tangents_1" in stages.joint[0]
    assert "tangents_1" not in stages.forward[0]
    assert "tangents_1" in stages.backward[0]
    assert "aten.mm.default" in stages.backward[0]
    assert stages.forward == stages.aten


def test_a_capture_with_backward_writes_no_grad(training: SimpleNamespace) -> None:
    assert all(param.grad is None for param in training.head.parameters())


def test_a_break_gives_two_graphs_and_its_reason(broken: Stages) -> None:
    assert broken.graph_count == 2
    assert [len(getattr(broken, stage)) for stage in STAGES] == [2, 2, 2, 2, 2, 2]
    (reason,) = broken.break_reasons
    assert "graph_break()" in reason


def test_a_second_capture_is_complete_again_and_equal(inference: Stages) -> None:
    """No cache may answer, or the stages after it would be missing; and texts are reproducible."""
    again = capture(head_with(library_softmax), hidden())
    strip = re.compile(r"__compiled_fn_\d+|AOT ID: .*")  # both count compiles of the process
    for stage in STAGES:
        first, second = getattr(inference, stage)[0], getattr(again, stage)[0]
        assert strip.sub("", first) == strip.sub("", second), stage


def test_no_text_knows_this_machine(
    inference: Stages, training: SimpleNamespace, broken: Stages
) -> None:
    for stages in (inference, training.stages, broken):
        for stage in (*TRAINING_STAGES, "break_reasons"):
            for text in getattr(stages, stage):
                assert not re.search(r"/(tmp|root|home|work)/|0x[0-9a-f]{4}|ipykernel", text), stage


def test_the_originals_compiled_versions_are_left_alone(inference: Stages) -> None:
    del inference  # only to have the compiler warm
    compiled = torch.compile(breaks_in_the_middle, backend="eager")
    compiled(hidden())
    before = counters["stats"]["unique_graphs"]
    capture(breaks_in_the_middle, hidden())
    after_capture = counters["stats"]["unique_graphs"]
    compiled(hidden())
    assert after_capture == before + 2
    assert counters["stats"]["unique_graphs"] == after_capture


def test_a_module_is_captured_as_called(inference: Stages) -> None:
    del inference
    assert capture(nn.Linear(64, 3), hidden()).graph_count == 1


def test_a_compiled_function_is_refused() -> None:
    with pytest.raises(ValueError, match="already compiled"):
        capture(torch.compile(breaks_in_the_middle), hidden())


@pytest.mark.parametrize(
    "fn",
    [lambda x: len(x) + 1, torch.compiler.disable(breaks_in_the_middle)],
    ids=["plain", "disabled"],
)
def test_zero_graphs_are_an_error(fn) -> None:
    with pytest.raises(ValueError, match="gave 0 graphs, must give at least 1"):
        capture(fn, hidden())


def test_backward_without_a_gradient_is_an_error() -> None:
    with pytest.raises(ValueError, match="needs no gradient, must need one for backward=True"):
        capture(lambda x: x.sin(), hidden(), backward=True)


def test_an_exception_of_the_function_passes_and_leaves_no_hook() -> None:
    def fails(x: torch.Tensor) -> torch.Tensor:
        raise LookupError("on purpose")

    save_output_code = torch._inductor.graph.GraphLowering.save_output_code
    hooks = dict(torch._dynamo.convert_frame._bytecode_hooks)
    with pytest.raises(Exception, match="on purpose"):
        capture(fails, hidden())
    assert torch._inductor.graph.GraphLowering.save_output_code is save_output_code
    assert dict(torch._dynamo.convert_frame._bytecode_hooks) == hooks
    assert torch._inductor.config._post_fusion_custom_pass is None
