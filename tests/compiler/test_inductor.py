"""Reading and running what Inductor wrote. Oracle: eager PyTorch, within a derived bound."""

import timeit

import pytest
import torch
from torch import nn

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.inductor import (
    buffer_bytes,
    extern_calls,
    first_call_parts,
    head_with,
    kernels,
    library_softmax,
    load,
    loop_bodies,
    softmax_by_hand,
    vector_width,
    wrapper,
)
from fuseshard.compiler.records import Kernel
from fuseshard.compiler.rounding import relative_difference, softmax_bound
from fuseshard.compiler.stages import capture
from fuseshard.models.minigpt import MiniGPT

ROWS, VOCABULARY = 7, 600
BOUND = softmax_bound(VOCABULARY)


def hidden() -> torch.Tensor:
    return torch.randn(ROWS, 64, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """OpenMP pragmas depend on the thread count, and so does the text of the kernel."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def by_hand() -> str:
    return capture(head_with(softmax_by_hand), hidden()).source[0]


@pytest.fixture(scope="module")
def library() -> str:
    return capture(head_with(library_softmax), hidden()).source[0]


def inputs() -> list[torch.Tensor]:
    head = MiniGPT().head.requires_grad_(False)
    return [head.weight, head.bias, hidden()]


def run(source: str) -> torch.Tensor:
    return load(source)(inputs())[0]


def test_the_module_calls_one_library_function_and_one_kernel(library: str) -> None:
    assert extern_calls(library) == ("addmm",)
    (kernel,) = kernels(library)
    assert kernel.language == "cpp"
    assert kernel.name in wrapper(library)
    assert "at::vec" in kernel.code
    assert "async_compile" not in kernel.code


def test_both_ways_to_write_softmax_give_the_same_kernel(by_hand: str, library: str) -> None:
    assert kernels(by_hand)[0].code == kernels(library)[0].code


@pytest.mark.parametrize("softmax", [softmax_by_hand, library_softmax])
def test_the_loaded_module_computes_what_eager_does(by_hand: str, softmax) -> None:
    expected = head_with(softmax)(hidden())
    assert relative_difference(run(by_hand), expected) <= BOUND


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("tmp0 / tmp2", "tmp0 * tmp2"),
        (".exp()", ".neg()"),
        ("tmp_acc0_vec = tmp_acc0_vec + tmp4", "tmp_acc0_vec = tmp4"),
    ],
)
def test_a_kernel_that_is_wrong_exceeds_the_bound(by_hand: str, right: str, wrong: str) -> None:
    """Must-fail twin of the equality: the bound is not so wide that a bug fits in."""
    assert right in by_hand
    actual, expected = run(by_hand.replace(right, wrong)), head_with(softmax_by_hand)(hidden())
    assert not relative_difference(actual, expected) <= BOUND  # NaN is no pass either


def test_a_wrong_last_step_of_a_row_exceeds_the_bound() -> None:
    """603 columns leave a rest at every vector width; 600 leave none where a vector holds 8."""
    logits = torch.randn(ROWS, 603, generator=torch.Generator().manual_seed(4))
    written, expected = capture(softmax_by_hand, logits).source[0], softmax_by_hand(logits)
    right, wrong = (f"sum_masked_reduce(tmp_acc0_vec, {value}" for value in ("tmp4", "tmp2"))
    assert right in written
    for text, fits in ((written, True), (written.replace(right, wrong), False)):
        actual = load(text)([logits])[0]
        assert (relative_difference(actual, expected) <= softmax_bound(603)) is fits


def test_the_written_module_allocates_two_tables_and_two_columns(library: str) -> None:
    """Logits and result are tables; maximum and sum are columns; no table of exponentials."""
    assert buffer_bytes(library) == (2 * ROWS * VOCABULARY + 2 * ROWS) * 4


def test_buffers_of_other_types_are_not_floats() -> None:
    buffers = "a = empty_strided_cpu((3, ), (1, ), torch.int64)\n"
    assert buffer_bytes(buffers) == 0
    assert buffer_bytes(buffers.replace("int64", "float32")) == 12


@pytest.mark.parametrize(("bits", "width"), [(256, 8), (1, 1)])
def test_the_vector_width_is_that_of_the_instructions(bits: int, width: int) -> None:
    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        source = capture(head_with(library_softmax), hidden()).source[0]
    (kernel,) = kernels(source)
    assert vector_width(kernel) == width
    assert ("C10_UNLIKELY" in kernel.code) == (VOCABULARY % width != 0)


def test_a_kernel_without_columns_has_no_vector_width() -> None:
    with pytest.raises(ValueError, match="k has no loop over x1"):
        vector_width(Kernel(name="k", language="cpp", code="for (x0 = 0;;)"))


def test_four_loop_bodies_remain_of_the_dump() -> None:
    stages = capture(head_with(library_softmax), hidden())
    bodies = loop_bodies(stages.loops[0])
    assert bodies.count("_loop_body:") == 4
    assert [op in bodies for op in ("'max'", "ops.exp", "'sum'", "ops.truediv")] == [True] * 4
    assert "SchedulerNode" not in bodies
    assert "SchedulerNode" in stages.loops[0]


def test_the_head_is_that_of_the_model() -> None:
    logits = MiniGPT().head(hidden())
    assert torch.equal(head_with(lambda x: x)(hidden()), logits)


def test_softmax_by_hand_is_softmax_for_extreme_logits() -> None:
    logits = torch.tensor([[1000.0, 999.0, -1000.0], [-5.0, -5.0, -5.0]])
    torch.testing.assert_close(softmax_by_hand(logits), torch.softmax(logits, dim=-1))


def test_a_module_without_kernels_has_none() -> None:
    assert kernels("def call(args):\n    return args") == ()
    calls = "x = extern_kernels.mm(a, b)\ny = extern_kernels.bmm(a, b)"
    assert extern_calls(calls) == ("mm", "bmm")


def test_a_triton_kernel_is_recognised() -> None:
    source = "k = async_compile.triton('k', '''\nimport triton\n''', device_str='cuda')\n"
    (kernel,) = kernels(source)
    assert (kernel.name, kernel.language, kernel.code) == ("k", "triton", "import triton")


@pytest.mark.parametrize("reader", [wrapper, load])
def test_a_text_that_inductor_did_not_write_is_refused(reader) -> None:
    with pytest.raises(ValueError, match="without a function `call`"):
        reader("x = 1\n")


def test_the_parts_of_a_first_call_add_up_to_it() -> None:
    compiled = torch.compile(head_with(library_softmax), dynamic=False)
    begin_s = timeit.default_timer()
    parts_s = first_call_parts(compiled, hidden())
    elapsed_s = timeit.default_timer() - begin_s
    assert list(parts_s) == ["dynamo", "aotautograd", "inductor", "compiler"]
    assert min(parts_s.values()) > 0
    assert elapsed_s / 2 < sum(parts_s.values()) <= elapsed_s


def test_a_call_that_compiles_nothing_has_no_parts() -> None:
    compiled = torch.compile(head_with(library_softmax), backend="aot_eager")
    with pytest.raises(ValueError, match="compiler took 0 s"):
        first_call_parts(compiled, hidden())


def test_graphs_are_counted_once_each() -> None:
    compiled = torch.compile(lambda x: x.sin(), backend="eager")
    assert graphs_captured(lambda: compiled(torch.ones(3))) == 1
    assert graphs_captured(lambda: compiled(torch.ones(3))) == 0


@pytest.mark.parametrize("model", [nn.Linear(64, 600), nn.Sequential(nn.Linear(64, 600))])
def test_torchs_own_modules_compiled_in_place_capture_nothing(model: nn.Module) -> None:
    """The trap that the chapter shows; a release that mends it must be noticed."""
    model.compile(backend="eager")
    assert graphs_captured(lambda: model(hidden())) == 0


def test_the_bound_grows_with_the_terms_of_the_sum() -> None:
    assert softmax_bound(600) == 2 * 608 * 2.0**-24
    assert softmax_bound(601) > softmax_bound(600)


def test_no_terms_have_no_bound() -> None:
    with pytest.raises(ValueError, match="vocabulary is 0, must be at least 1"):
        softmax_bound(0)


def test_the_difference_is_relative_and_the_largest() -> None:
    actual, expected = torch.tensor([1.0, 2.5, -4.0]), torch.tensor([1.0, 2.0, -4.0])
    assert relative_difference(actual, expected) == 0.25


def test_shapes_that_would_broadcast_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(1, 3\) and \(3,\), must be equal"):
        relative_difference(torch.ones(1, 3), torch.ones(3))
