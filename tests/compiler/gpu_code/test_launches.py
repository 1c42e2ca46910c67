"""What a wrapper launches. Oracles: sizes of the tensors by arithmetic, eager mode's own calls.

One process for each vendor; both are shared with test_written.py.
"""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from torch.utils._python_dispatch import TorchDispatchMode

from tests.compiler.gpu_code.written_child import PROGRAMS, Loss, results, tokens

Graph = dict[str, Any]
PRODUCTS = {"mm", "addmm", "bmm"}


@pytest.fixture(scope="module")
def h200() -> dict[str, list[Graph]]:
    return results("nvidia")["h200"]


@pytest.fixture(scope="module")
def mi300x() -> dict[str, list[Graph]]:
    return results("amd")["mi300x"]


def launches(graphs: Iterable[Graph]) -> list[dict[str, Any]]:
    return [step for graph in graphs for step in graph["steps"] if "kernel" in step]


def calls(graphs: Iterable[Graph]) -> list[dict[str, Any]]:
    return [step for graph in graphs for step in graph["steps"] if "op" in step]


def launched(steps: Iterable[dict[str, Any]]) -> set[str]:
    return {step["kernel"] for step in steps if "kernel" in step}


def defined(graph: Graph) -> set[str]:
    return {kernel["name"] for kernel in graph["kernels"]}


@pytest.mark.parametrize("program", PROGRAMS)
def test_each_kernel_is_launched_and_no_other(h200, program: str) -> None:
    for graph in h200[program]:
        assert launched(graph["steps"]) == defined(graph)


def test_a_launch_that_is_cut_out_of_the_wrapper_is_missed(h200) -> None:
    """Must-fail twin."""
    backward = h200["layer norm"][-1]
    assert launched(results("nvidia")["cut"]) < defined(backward)


def elements(text: str) -> int:
    """Count the numbers in a tensor such as float32[4096, 600]."""
    return math.prod(int(size) for size in re.findall(r"\d+", text.partition("[")[2]))


def grids_by_arithmetic(
    graph: Graph, launch: dict[str, Any], rounded: Callable[[float], int]
) -> list[list[int]]:
    """One program for each tile of the result, which is the last tensor."""
    (kernel,) = (k for k in graph["kernels"] if k["name"] == launch["kernel"])
    result = [text for text in launch["arguments"] if "[" in text][-1]
    blocks = [c["blocks"]["XBLOCK"] for c in kernel["configurations"]]
    return [[rounded(elements(result) / block), 1, 1] for block in blocks]


@pytest.mark.parametrize("program", ["chain", "graph break", "dropout"])
def test_a_pointwise_grid_covers_the_result(h200, program: str) -> None:
    for graph in h200[program]:
        for launch in launches([graph]):
            assert launch["grids"] == grids_by_arithmetic(graph, launch, math.ceil)


def test_on_amd_a_pointwise_grid_covers_the_result_too(mi300x) -> None:
    (graph,) = mi300x["chain"]
    (launch,) = launches([graph])
    assert launch["grids"] == grids_by_arithmetic(graph, launch, math.ceil)


def test_a_grid_that_leaves_the_last_tile_out_is_another(h200) -> None:
    """Must-fail twin: no size is a multiple of a tile."""
    (graph,) = h200["chain"]
    (launch,) = launches([graph])
    assert launch["grids"] != grids_by_arithmetic(graph, launch, math.floor)


def test_a_row_reduction_gets_its_rows_divided_by_the_tile(h200) -> None:
    graph = h200["layer norm"][0]
    (launch,) = launches([graph])
    tiles = [c["blocks"]["XBLOCK"] for c in graph["kernels"][0]["configurations"]]
    assert len(tiles) > 1
    assert launch["grids"] == [[math.ceil(37 / tile), 1, 1] for tile in tiles]


def test_a_size_that_is_a_variable_is_passed_with_its_value(h200) -> None:
    (dynamic,), static = h200["dynamic layer norm"], h200["layer norm"][0]
    (launch,) = launches([dynamic])
    assert launch["arguments"][-2:] == ["37", "96"]
    assert launch["grids"] == launches([static])[0]["grids"]
    assert re.search(r"\bs\d+ = ", dynamic["wrapper"])
    assert not re.search(r"\bs\d+ = ", static["wrapper"])


def test_views_of_memory_whose_size_is_a_variable_are_made(h200) -> None:
    """Inductor's own get_args can't make them on torch 2.13."""
    forward, backward = h200["dynamic training"]
    assert re.search(r"\bs\d+ = ", backward["wrapper"])
    assert products([forward, backward]) == 2 + 3  # no gradient of the input is asked for


def test_a_kernel_written_by_hand_is_launched_on_its_own_grids(h200) -> None:
    first, second = launches(h200["by hand"])
    assert (first["grids"], second["grids"]) == ([[4, 1, 1]], [[7, 1, 1]])
    assert first["kernel"] != second["kernel"]


def test_a_template_gets_one_program_for_each_tile_of_the_product(h200) -> None:
    (graph,) = h200["chosen"]
    (launch,) = launches([graph])
    offered = graph["candidates"][0]
    description = offered["descriptions"][offered["names"].index("triton_mm_1")]
    tile = {n: int(v) for n, v in re.findall(r"(BLOCK_\w)=(\d+)", description)}
    tiles = math.ceil(130 / tile["BLOCK_M"]) * math.ceil(160 / tile["BLOCK_N"])
    assert launch["grids"] == [[tiles, 1, 1]]


class CountedProducts(TorchDispatchMode):
    """Counts the matrix products that eager mode calls a library for."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        self.count += func.overloadpacket.__name__ in PRODUCTS
        return func(*args, **(kwargs or {}))


def products_in_eager_mode(*, backward: bool) -> int:
    with CountedProducts() as counted:
        loss = Loss()(tokens(), tokens())
        if backward:
            loss.backward()
    return counted.count


def products(graphs: Iterable[Graph]) -> int:
    return sum(call["op"].removeprefix("extern_kernels.") in PRODUCTS for call in calls(graphs))


def test_as_many_matrix_products_as_in_eager_mode(h200, mi300x) -> None:
    expected = products_in_eager_mode(backward=True)
    assert expected == 15  # 5 linear layers, each once forward and twice backward
    assert products(h200["training"]) == expected
    assert products(h200["training in bfloat16"]) == expected
    assert products(mi300x["training"]) == expected


def test_without_the_backward_pass_there_are_fewer(h200) -> None:
    """Must-fail twin."""
    assert products(h200["training"]) != products_in_eager_mode(backward=False)
    assert products(h200["training"][:1]) == products_in_eager_mode(backward=False)


def test_arguments_of_a_library_call_are_told(h200) -> None:
    (product,) = calls(h200["linear"])
    assert product == {
        "op": "extern_kernels.mm",
        "arguments": ["float32[130, 96]", "float32[96, 160]", "out=float32[130, 160]"],
    }


def test_a_loop_on_the_cpu_is_told_from_a_launch(h200) -> None:
    graphs = h200["on both"]
    assert len(launches(graphs)) == 1
    (loop,) = calls(graphs)
    assert loop["op"].startswith("cpp_fused")
    assert loop["arguments"] == ["float32[37, 3]"]


def test_dropout_draws_a_seed_and_starts_one_kernel(h200) -> None:
    seed, launch = h200["dropout"][0]["steps"]
    assert seed["op"] == "aten.randint.low_out"
    # Torch 2.11 writes tl.rand, 2.13 a helper that draws four numbers at once.
    assert re.search(r"\w+\.rand\w*\(", h200["dropout"][0]["kernels"][0]["triton"])
    assert launch["kernel"] in defined(h200["dropout"][0])


def test_adamw_updates_all_parameters_in_two_launches(h200) -> None:
    steps, update = launches(h200["AdamW"])
    assert set(steps["arguments"]) == {"float32[]"}
    for size in (7, 12):  # parameter, gradient and both moments, three of them written
        assert update["arguments"].count(f"float32[{size}]") == 4 + 3
    assert {kernel["kind"] for kernel in h200["AdamW"][0]["kernels"]} == {"foreach"}


def test_half_precision_attention_is_chosen_as_on_the_card(h200, mi300x) -> None:
    def op(graphs: list[Graph]) -> str:
        (call,) = calls(graphs)
        return call["op"].removeprefix("aten._scaled_dot_product_").removesuffix(".default")

    a100 = results("nvidia")["a100"]
    assert op(h200["bfloat16 attention"]) == "cudnn_attention"
    assert op(a100["bfloat16 attention"]) == "flash_attention"
    assert op(mi300x["bfloat16 attention"]) == "flash_attention"
    assert op(h200["float32 attention"]) == "efficient_attention"
    assert op(a100["float32 attention"]) == "efficient_attention"


def test_attention_is_a_library_call_forward_and_backward(h200) -> None:
    ops = [call["op"] for call in calls(h200["training in bfloat16"])]
    forward = "aten._scaled_dot_product_cudnn_attention.default"
    backward = "aten._scaled_dot_product_cudnn_attention_backward.default"
    assert (ops.count(forward), ops.count(backward)) == (1, 1)
