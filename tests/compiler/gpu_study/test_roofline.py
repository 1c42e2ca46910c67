"""Traffic and rooflines. Oracles: sizes on paper, and formulas against the compiled programs."""

from dataclasses import replace

import pytest

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_code.records import ExternCall, GpuGraph, KernelSource, Launch
from fuseshard.compiler.gpu_study import roofs
from fuseshard.compiler.gpu_study.programs import by_key, gallery
from fuseshard.compiler.gpu_study.records import WorkPoint
from fuseshard.compiler.gpu_study.roofline import WORK, work_points
from fuseshard.compiler.gpu_study.traffic import num_bytes, traffic

TABLE_LOOKUP = """
@triton.jit
def kernel(in_out_ptr0, in_ptr0, in_ptr1, out_ptr0, xnumel, XBLOCK : tl.constexpr):
    tmp0 = tl.load(in_ptr0 + (x0), xmask)
    tmp1 = tl.load(in_ptr1 + (tmp0), xmask)
    tmp2 = tl.load(in_ptr1 + (tmp0), xmask)
    tl.store(in_out_ptr0 + (x0), tmp1, xmask)
    tl.store(out_ptr0 + (x0), tmp2, xmask)
"""


def graph(*steps: Launch | ExternCall) -> GpuGraph:
    kernel = KernelSource(
        name="kernel",
        phase="inference",
        kind="pointwise",
        triton=TABLE_LOOKUP,
        size_hints={},
        configurations=(),
    )
    return GpuGraph(
        phase="inference",
        aten="",
        post_grad="",
        wrapper="",
        kernels=(kernel,),
        steps=steps,
        inputs=(),
        outputs=(),
        input_tensors=(),
    )


LOOKUP = Launch(
    kernel="kernel",
    arguments=("bool[7]", "int64[7]", "float32[1000, 3]", "bfloat16[7]", "7"),
    grids=((1,),),
)
PRODUCT = ExternCall(
    op="extern_kernels.mm",
    arguments=("float32[5, 7]", "float32[7, 3]", "out=float32[5, 3]"),
)


@pytest.fixture(scope="module")
def points() -> dict[str, WorkPoint]:
    programs = by_key(gallery(), "softmax-wide", "linear-relu", "attention")
    return {point.program: point for point in work_points(programs)}


def test_a_launch_counts_each_tensor_once_and_no_more_than_it_loops_over() -> None:
    found = traffic([graph(LOOKUP, LOOKUP)])
    assert found.read_bytes == 2 * (7 * 1 + 7 * 8 + 7 * 4)  # in_out, indices, rows looked up
    assert found.written_bytes == 2 * (7 * 1 + 7 * 2)
    assert found.again_bytes == 2 * 7 * 4
    assert (found.launches, found.library_calls) == (2, 0)


def test_a_library_call_counts_what_it_takes_and_fills() -> None:
    found = traffic([graph(PRODUCT)])
    assert (found.read_bytes, found.written_bytes) == (4 * (35 + 21), 4 * 15)
    assert found.moved_bytes == found.read_bytes + found.written_bytes


def test_a_library_call_of_unknown_size_is_refused() -> None:
    call = replace(PRODUCT, op="extern_kernels.convolution", arguments=("float32[5, 7]",))
    with pytest.raises(ValueError, match="convolution doesn't say what it fills"):
        traffic([graph(call)])


@pytest.mark.parametrize(("text", "size"), [("float32[4096, 600]", 9830400), ("int64[]", 8)])
def test_sizes_are_read_from_texts(text: str, size: int) -> None:
    assert num_bytes(text) == size
    with pytest.raises(ValueError, match="must be like"):
        num_bytes(text.replace("[", "("))


def test_a_fused_program_moves_what_the_formula_says(points: dict[str, WorkPoint]) -> None:
    wide = points["softmax-wide"]
    assert wide.traffic.moved_bytes == wide.least_bytes == 2 * 4 * 512 * 50257
    assert wide.traffic.again_bytes == wide.least_bytes // 2  # two loops over each row
    # Must-fail twin: a library between the kernels makes them write and read the product again.
    linear = points["linear-relu"]
    results = 4 * 2048 * 1024
    assert linear.traffic.moved_bytes == linear.least_bytes + 2 * results


def test_attention_is_bound_by_memory_below_the_ridge_alone(points: dict[str, WorkPoint]) -> None:
    attention = points["attention"]
    assert attention.intensity == attention.best_intensity == 1024 / 4
    for target in TARGETS.values():
        ridge = target.bf16_flop_per_s / target.memory_bytes_per_s
        expected = "memory" if ridge > 256 else "computing"
        assert roofs.bound_by(target, attention) == expected


def test_the_least_time_is_the_longer_of_two(points: dict[str, WorkPoint]) -> None:
    gpu = TARGETS["a100"]
    for point in points.values():
        memory_s = point.traffic.moved_bytes / gpu.memory_bytes_per_s
        computing_s = point.flop / roofs.peak_flop_per_s(gpu, point.dtype)
        assert roofs.least_s(gpu, point) == pytest.approx(max(memory_s, computing_s))


def test_every_formula_is_of_a_program_in_the_gallery() -> None:
    assert set(WORK) <= {program.key for program in gallery()}
