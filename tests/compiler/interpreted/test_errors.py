"""What can't be interpreted is said in one clear error. Oracle: the words on paper."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from fuseshard.compiler.gpu_code.worker.parent import Worker
from fuseshard.compiler.interpreted.records import NoAnswerError
from fuseshard.compiler.interpreted.run import prepare
from fuseshard.compiler.interpreted.signature import known_sizes, read_signature, resolved
from tests.compiler.interpreted import programs
from tests.compiler.interpreted.conftest import Write
from tests.compiler.interpreted.oracle import seeded

X = seeded(9, 600)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "got 0 inputs, must be at least 1"),
        ([X[:8]], r"arg0_1 is float32\[8, 600\], must be float32\[9, 600\]"),
        ([X.double()], r"arg0_1 is float64\[9, 600\], must be float32\[9, 600\]"),
        ([X[0]], r"arg0_1 is float32\[600\], must be float32\[9, 600\]"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    child: Worker, write: Write, inputs: Any, words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        child.ask("run_graphs", write(programs.softmax, [X]), inputs)


def test_sizes_that_differ_within_one_run_are_refused(child: Worker, write: Write) -> None:
    graphs = write(programs.attend, [seeded(2, 2, 9, 16) for _ in "qkv"], dynamic=True)
    with pytest.raises(ValueError, match=r"float32\[2, 2, 8, 16\], must be"):
        child.ask("run_graphs", graphs, [seeded(2, 2, n, 16) for n in (9, 8, 9)])


def test_the_graphs_of_a_broken_program_are_refused(child: Worker, write: Write) -> None:
    graphs = write(programs.broken, [X])
    with pytest.raises(ValueError, match=r"\['inference', 'inference'\].*graph break"):
        child.ask("run_graphs", (*graphs, *graphs), [X])
    assert child.ask("run_graphs", graphs, [X]).outputs[0].shape == X.shape


def test_an_input_that_is_nobodys_is_named(child: Worker, write: Write) -> None:
    (graph,) = write(programs.softmax, [X])
    unknown = replace(graph, input_tensors=(None,))
    with pytest.raises(NoAnswerError, match=r"1 inputs of the inference graph \(arg0_1, "):
        child.ask("run_graphs", [unknown], [X])


@pytest.mark.parametrize("block", [0, -4, 48])
def test_a_tile_that_triton_has_not_is_refused(child: Worker, write: Write, block: int) -> None:
    with pytest.raises(ValueError, match=f"block is {block}, must be a power of two"):
        child.ask("run_graphs", write(programs.softmax, [X]), [X], None, block)


@pytest.mark.parametrize(("backward", "count"), [(True, 2), (True, 0), (False, 1)])
def test_too_many_or_few_tangents_are_refused(
    child: Worker, write: Write, backward: bool, count: int
) -> None:
    x = X.clone().requires_grad_(backward)
    graphs = write(programs.softmax, [x], backward=backward)
    with pytest.raises(ValueError, match=f"got {count} tangents, must be {int(backward)}"):
        child.ask("run_graphs", graphs, [X], [X] * count)


def test_a_library_call_without_an_answer_is_named(child: Worker, write: Write) -> None:
    x = seeded(2, 8, 2, 16).bfloat16()
    graphs = write(programs.attend_at_a_lower_level, [x])
    with pytest.raises(NoAnswerError, match="aten::_flash_attention_forward"):
        child.ask("run_graphs", graphs, [x])


def test_an_operator_that_this_process_does_not_know_is_named(child: Worker, write: Write) -> None:
    x = seeded(2, 8, 2, 16).bfloat16()
    (graph,) = write(programs.attend_at_a_lower_level, [x])
    other = replace(graph, wrapper=graph.wrapper.replace("torch.ops.aten.", "torch.ops.not_here."))
    with pytest.raises(NoAnswerError, match="not_here"):
        child.ask("run_graphs", [other], [x])


def test_a_kernel_that_stops_is_named(child: Worker, write: Write) -> None:
    (graph,) = write(programs.gelu, [X])
    (kernel,) = graph.kernels
    broken = kernel.triton.replace("libdevice.erf", "libdevice.no_such_function")
    other = replace(
        graph,
        wrapper=graph.wrapper.replace(kernel.triton, broken),
        kernels=(replace(kernel, triton=broken),),
    )
    with pytest.raises(Exception, match=f"stopped in {kernel.name} with blocks .*no_such_function"):
        child.ask("run_graphs", [other], [X])


def test_without_the_variable_it_does_not_start() -> None:
    with pytest.raises(RuntimeError, match="prepare: Triton compiles its functions in this proc"):
        prepare()


def test_sizes_are_read_off_the_text() -> None:
    """On paper: a wrapper's lines as Inductor writes them."""
    signature = read_signature(
        "class Runner:\n"
        "    def call(self, args):\n"
        "        arg0_1, arg1_1, arg2_1 = args\n"
        "        s77 = arg0_1\n"
        "        assert_size_stride(arg1_1, (s77, 2*s77), (2*s77, 1), 'input')\n"
        "        with device:\n"
        "            buf0 = arg1_1\n"
        "            assert_size_stride(buf0, (7, ), (1, ), 'op')\n"
        "def get_args():\n"
        "    arg0_1 = 5\n"
        "    arg1_1 = rand_strided((5, 10), (10, 1), device='cuda:0', dtype=torch.float32)\n"
        "    arg2_1 = rand_strided((), (), device='cuda:0', dtype=torch.int64)\n"
    )
    assert signature.sizes == {"arg0_1": "s77"}
    assert list(signature.tensors) == ["arg1_1", "arg2_1"]
    assert signature.tensors["arg2_1"].dtype == torch.int64
    known = known_sizes(signature, {"arg1_1": torch.empty(6, 12)})
    assert known == {"s77": 6}
    assert resolved(signature.tensors["arg1_1"].size, known) == (6, 12)
