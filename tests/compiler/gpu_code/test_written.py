"""What Inductor writes for a described GPU. Oracles: torch's eager mode on the CPU, repetition.

One process for each vendor; both are shared with test_launches.py.
"""

import math
import re
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.compiler.gpu_code.written_child import (
    PROGRAMS,
    REFUSED,
    WEIGHTS,
    chain,
    results,
    tensors,
)

Graph = dict[str, Any]


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return results("nvidia")


@pytest.fixture(scope="module")
def h200(found) -> dict[str, list[Graph]]:
    return found["h200"]


@pytest.fixture(scope="module")
def mi300x() -> dict[str, list[Graph]]:
    return results("amd")["mi300x"]


def run_aten(graph: Graph, arguments: list[Any], *, text: str | None = None) -> tuple[Any, ...]:
    """Run the ATen graph as the Python that it is, on the CPU."""
    source = re.sub(r"^class .*\(torch", "class Graph(torch", text or graph["aten"])
    source = source.replace("device(type='cuda', index=0)", "device(type='cpu')")
    names: dict[str, Any] = {"torch": torch, "device": torch.device, "inf": math.inf}
    exec(source, names)
    return names["Graph"]()(*arguments)


def real(name: str) -> tuple[Any, list[torch.Tensor]]:
    """Make a program on the CPU, with numbers, and list its tensors."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        fn, args = PROGRAMS[name].make()
    return fn, tensors(fn, args)


def arguments_of(graph: Graph, given: list[torch.Tensor]) -> list[torch.Tensor]:
    """Put the program's tensors where the graph wants them."""
    return [given[number].detach() for number in graph["input_tensors"]]


@pytest.mark.parametrize("name", ["softmax", "wider softmax", "chain", "linear"])
def test_the_graph_computes_what_the_program_does(h200, name: str) -> None:
    (graph,) = h200[name]
    fn, given = real(name)
    (result,) = run_aten(graph, arguments_of(graph, given))
    torch.testing.assert_close(result, fn(given[-1]))


@pytest.mark.parametrize("name", ["softmax", "chain"])
def test_amd_gets_a_graph_that_computes_the_same(mi300x, name: str) -> None:
    (graph,) = mi300x[name]
    fn, given = real(name)
    (result,) = run_aten(graph, arguments_of(graph, given))
    torch.testing.assert_close(result, fn(given[-1]))


def test_a_graph_with_another_operator_computes_something_else(h200) -> None:
    """Must-fail twin."""
    (graph,) = h200["softmax"]
    fn, given = real("softmax")
    text = graph["aten"].replace("aten.exp.", "aten.sin.")
    assert text != graph["aten"]
    (result,) = run_aten(graph, arguments_of(graph, given), text=text)
    assert not torch.allclose(result, fn(given[-1]))


def trained(graphs: list[Graph], given: list[torch.Tensor]) -> list[torch.Tensor]:
    """Run forward and backward graph, and return the result and the gradients in `given`'s order.

    What the backward graph takes it finds by name: tangents, and what the forward graph returns.
    """
    forward, backward = graphs
    outputs = run_aten(forward, arguments_of(forward, given))
    by_name = dict(zip(forward["outputs"], outputs, strict=True))
    by_name["tangents_1"] = torch.full_like(outputs[0], 0.5)
    gradients = run_aten(backward, [by_name[name] for name in backward["inputs"]])
    in_order = dict(zip(forward["input_tensors"], gradients, strict=True))
    return [outputs[0], *(in_order[number] for number in range(len(given)))]


@pytest.mark.parametrize("target", ["h200", "mi300x"])
def test_the_backward_graph_computes_autograds_gradients(h200, mi300x, target: str) -> None:
    graphs = {"h200": h200, "mi300x": mi300x}[target]["layer norm"]
    fn, given = real("layer norm")
    result = fn(given[-1])
    expected = torch.autograd.grad(result, given, torch.full_like(result, 0.5))
    torch.testing.assert_close(trained(graphs, given), [result, *expected])


def test_gradients_of_parameters_in_another_order_are_others(h200) -> None:
    """Must-fail twin: the numbers of the caller's tensors decide what is what."""
    fn, given = real("layer norm")
    result = fn(given[-1])
    expected = torch.autograd.grad(result, [given[1], given[0], given[2]], result * 0 + 0.5)
    for mine, theirs in zip(trained(h200["layer norm"], given)[1:3], expected[:2], strict=True):
        assert not torch.allclose(mine, theirs)


def test_phases_come_in_order(h200) -> None:
    phases = {name: [graph["phase"] for graph in graphs] for name, graphs in h200.items()}
    assert phases["softmax"] == ["inference"]
    assert phases["training"] == ["forward", "backward"]
    assert phases["graph break"] == ["inference", "inference"]
    for graphs in h200.values():
        for graph in graphs:
            assert {kernel["phase"] for kernel in graph["kernels"]} <= {graph["phase"]}


def test_what_a_graph_break_hands_on_is_no_tensor_of_the_callers(h200) -> None:
    first, second = h200["graph break"]
    assert first["input_tensors"] == [0]
    assert sorted(second["input_tensors"], key=str) == [0, None]


def test_a_size_is_no_tensor_of_the_callers(h200) -> None:
    (graph,) = h200["dynamic layer norm"]
    assert sorted(graph["input_tensors"], key=str) == [0, 1, 2, None]


def test_every_parameter_of_minigpt_is_found(h200) -> None:
    graph = h200["training"][0]
    _, given = real("training")
    assert sorted(graph["input_tensors"]) == list(range(len(given)))
    by_number = dict(zip(graph["input_tensors"], graph["inputs"], strict=True))
    shapes = dict(re.findall(r'(primals_\d+): "\w+(\[[^]]*\])', graph["aten"]))
    assert [shapes[by_number[n]] for n in range(len(given))] == [str(list(t.shape)) for t in given]


def test_repetition_gives_the_same_text(h200) -> None:
    assert h200["softmax"] == h200["softmax again"]
    assert h200["chosen"] == h200["chosen again"]


def test_another_size_gives_another_text(h200) -> None:
    """Must-fail twin."""
    for text in ("aten", "post_grad", "wrapper"):
        assert h200["softmax"][0][text] != h200["wider softmax"][0][text]


def test_no_path_or_address_of_this_machine_is_in_a_comment(h200) -> None:
    graph = h200["constant"][0]
    (constant,) = re.findall(r"^_tensor_constant0 = None  # (.*)$", graph["wrapper"], re.MULTILINE)
    assert constant == "device(type='cpu') torch.float32 (11,) (1,)"
    places = re.findall(r"# File: (.*?):", graph["aten"])
    assert set(places) == {"written_child.py"}
    assert graph["wrapper"].startswith("# AOT ID: ['0_inference']")


def test_constants_travel_with_their_numbers(h200) -> None:
    constants = h200["constant"][0]["constants"]
    assert {constant["name"] for constant in constants} >= {"_tensor_constant0"}
    assert {tuple(constant["numbers"]) for constant in constants} == {tuple(WEIGHTS)}
    assert h200["chain"][0]["constants"] == []


def test_the_device_is_written_into_each_kernel(h200, mi300x) -> None:
    for graphs, line in ((h200, "multi_processor_count=132"), (mi300x, "cc='gfx942'")):
        for kernel in graphs["training"][0]["kernels"]:
            assert line in kernel["triton"]
    assert "multi_processor_count=132" not in mi300x["training"][0]["wrapper"]


def test_autocast_computes_products_in_bfloat16(h200) -> None:
    def types(name: str) -> set[str]:
        steps = [step for graph in h200[name] for step in graph["steps"]]
        products = [step for step in steps if step.get("op", "").startswith("extern_kernels")]
        return {
            text.partition("[")[0].removeprefix("out=")
            for p in products
            for text in p["arguments"]
            if "[" in text
        }

    assert types("training in bfloat16") == {"bfloat16"}
    assert types("training") == {"float32"}


def test_the_search_offers_the_library_first_and_it_is_taken(h200) -> None:
    (offered,) = h200["searched"][0]["candidates"]
    assert (offered["names"][0], offered["chosen"]) == ("mm", "mm")
    assert len(offered["names"]) == len(offered["descriptions"]) > 10
    assert h200["linear"][0]["candidates"] == []


def test_a_template_takes_the_bias_and_the_relu_in(h200) -> None:
    (graph,) = h200["chosen"]
    assert graph["candidates"][0]["chosen"] == "triton_mm_1"
    assert [kernel["kind"] for kernel in graph["kernels"]] == ["template"]
    assert len(graph["steps"]) == 1
    assert len(h200["searched"][0]["steps"]) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("number", "asks for the numbers in a tensor .*_local_scalar_dense"),
        ("branch", "asks for the numbers in a tensor"),
        ("no graph", r"LSTM gave 0 graphs .*RNN, GRU, or LSTM"),
        ("part without a graph", r"failed outside of Dynamo's graphs .*RNN, GRU, or LSTM"),
        ("nothing to compile", "Identity gave 0 graphs"),
        ("compiled", "chain is compiled already"),
        ("compiled module", "is compiled already"),
        ("no gradient", "has no backward graph"),
        ("mode", "mode is 'fastest', must be one of .*'max-autotune'"),
        ("autocast", "autocast is 'float8'"),
        ("candidate", "choose is 'triton_mm_9999', must be one of .*'mm', 'triton_mm_0'"),
        ("candidate without a search", "nothing was offered"),
        ("own error", "KeyError: 'nowhere'"),
        ("shapes", r"same reduction dim.*\n +File \"written_child.py\""),
    ],
)
def test_what_can_not_be_written_is_said(found, name: str, words: str) -> None:
    kind, message, _ = found["refused"][name]
    assert kind == "UnsupportedProgramError"
    assert re.search(words, message, re.DOTALL)


def test_each_refusal_is_tested(found) -> None:
    assert len(found["refused"]) == len(REFUSED) == 14


def test_the_original_error_is_the_cause(found) -> None:
    causes = {name: cause for name, (_, _, cause) in found["refused"].items()}
    assert causes["own error"] == "KeyError"
    assert causes["number"] == "DataDependentOutputException"
    assert causes["no gradient"] == "NoneType"


def test_another_gpu_or_none_is_refused(found) -> None:
    kind, message, _ = found["elsewhere"]
    assert kind == "ValueError"
    assert "is NVIDIA H200, must be NVIDIA A100" in message


def test_real_tensors_are_refused(found) -> None:
    kind, message, _ = found["real tensors"]
    assert kind == "ValueError"
    assert "no active FakeTensorMode" in message


def test_nothing_of_the_process_is_changed(found) -> None:
    assert found["is_unchanged"]


def test_a_small_program_takes_less_than_a_second(found) -> None:
    """Processor time, since other processes may run. The second time: the first one imports."""
    assert found["small_cpu_s"] < 1
    assert found["peak_kib"] < 1e6


def test_the_program_itself_still_computes() -> None:
    """Positive control: the process that reads the results was never described a GPU."""
    x = torch.ones(2)
    torch.testing.assert_close(chain(x), functional.relu(x.sin() + x.cos()))
    assert not torch.cuda.is_available()
