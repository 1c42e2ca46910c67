"""Programs for a GPU that isn't there, end to end. Oracle: the same programs run by torch here."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from fuseshard.compiler import gpu
from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu_code.store import shared_store
from fuseshard.compiler.gpu_code.worker.parent import Worker
from fuseshard.compiler.gpu_code.worker.workers import interpreter, writer
from tests.compiler import gpu_programs as programs

ROOT = Path(__file__).parents[2]
X = torch.linspace(-3, 3, 5 * 70).view(5, 70)


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An empty store for this module, and no worker left after it."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        shared_store.cache_clear()
        yield folder
    shared_store.cache_clear()
    for worker in workers():
        worker.close()


def workers() -> list[Worker]:
    return [writer(target("h200")), writer(target("mi300x")), interpreter()]


@pytest.fixture(scope="module")
def softmax() -> gpu.GpuBuild:
    return gpu.build(programs.softmax, (X,))


@pytest.fixture(scope="module")
def layer() -> programs.Layer:
    torch.manual_seed(3)
    return programs.Layer()


@pytest.fixture(scope="module")
def trained(layer: programs.Layer) -> gpu.GpuBuild:
    return gpu.build(layer, (X.clone().requires_grad_(),), backward=True)


def test_a_program_becomes_one_kernel_with_a_program_for_each_row(softmax: gpu.GpuBuild) -> None:
    (kernel,) = softmax.kernels
    (launch,) = softmax.launches
    assert "aten.exp" in softmax.graph
    assert f"def {kernel.name}(" in softmax.wrapper
    assert kernel.triton in softmax.wrapper
    assert kernel.launches == (launch,)
    assert launch.arguments[:2] == ("float32[5, 70]", "float32[5, 70]")
    assert len(launch.grids) == len(kernel.configurations)
    assert (softmax.extern_calls, softmax.candidates) == ((), ())
    assert softmax.target.key == "h200"


def test_the_lines_of_the_program_stand_in_the_graph(softmax: gpu.GpuBuild) -> None:
    assert "code: return torch.softmax(x * 2, -1)" in softmax.graph
    assert str(ROOT) not in softmax.graph + softmax.wrapper


def test_a_kernel_is_compiled_down_to_the_machine_when_asked(softmax: gpu.GpuBuild) -> None:
    (kernel,) = softmax.kernels
    assert "tt.load" in kernel.ttir
    assert "#blocked" in kernel.ttgir
    assert "nvvm" in kernel.llir
    assert ".target sm_90" in kernel.ptx
    assert "LDG" in kernel.sass
    assert kernel.resources is kernel.machine(0).resources
    assert (kernel.spills, kernel.shared_bytes) == (0, kernel.resources.shared_bytes)
    assert 0 < kernel.registers < 256
    assert 0 < kernel.occupancy <= 1
    with pytest.raises(ValueError, match="index is 99, must be 0 to"):
        kernel.machine(99)


def test_another_vendor_has_another_assembly(softmax: gpu.GpuBuild) -> None:
    (kernel,) = gpu.build(programs.softmax, (X,), target="mi300x").kernels
    assert "gfx942" in kernel.assembly
    assert "gfx942" not in softmax.kernels[0].assembly
    for language in ("ptx", "sass"):
        with pytest.raises(ValueError, match=f"{language} is NVIDIA's.*use .assembly"):
            getattr(kernel, language)
    assert kernel.resources.registers > 0


def test_backward_has_graphs_of_both_phases(trained: gpu.GpuBuild) -> None:
    assert [graph.phase for graph in trained.graphs] == ["forward", "backward"]
    assert {kernel.phase for kernel in trained.kernels} == {"forward", "backward"}
    assert any("mm" in call.op for call in trained.extern_calls)
    assert sorted(trained.tensors) == [
        "inputs[0]",
        "linear.bias",
        "linear.weight",
        "norm.bias",
        "norm.weight",
    ]


def test_what_was_written_computes_what_torch_computes(softmax: gpu.GpuBuild) -> None:
    x = X.flip(0) * 0.5
    (output,) = gpu.interpret(softmax, (x,)).outputs
    # Two float32 roundings of exp and of a division, of numbers up to 1.
    torch.testing.assert_close(output, programs.softmax(x), rtol=4e-7, atol=1e-9)
    assert not torch.allclose(output, torch.softmax(x, -1), rtol=1e-3)


def test_parameters_are_taken_as_they_are_now(trained: gpu.GpuBuild, layer: programs.Layer) -> None:
    before = outputs(trained)
    torch.testing.assert_close(before, layer(X), rtol=1e-5, atol=1e-6)
    with torch.no_grad():
        layer.linear.weight.mul_(-2)
    after = outputs(trained)
    torch.testing.assert_close(after, layer(X), rtol=1e-5, atol=1e-6)
    assert not torch.allclose(before, after, rtol=1e-2)


def outputs(build: gpu.GpuBuild) -> torch.Tensor:
    found = gpu.interpret(build, (X,)).outputs[0]
    assert found is not None
    return found


def test_gradients_have_the_names_of_their_tensors(
    trained: gpu.GpuBuild, layer: programs.Layer
) -> None:
    tangent = torch.linspace(-1, 1, 5 * 12).view(5, 12)
    result = gpu.interpret(trained, (X,), tangents=[tangent])
    found = dict(zip(trained.tensors, result.gradients, strict=True))
    x = X.clone().requires_grad_()
    expected = torch.autograd.grad(layer(x), [x, *layer.parameters()], tangent)
    names = ["inputs[0]", *dict(layer.named_parameters())]
    for name, gradient in zip(names, expected, strict=True):
        torch.testing.assert_close(found[name], gradient, rtol=1e-4, atol=1e-5)
    assert not torch.allclose(found["norm.weight"], expected[names.index("norm.bias")])


def test_a_dynamic_build_takes_other_sizes(softmax: gpu.GpuBuild) -> None:
    build = gpu.build(programs.softmax, (X,), dynamic=True)
    x = torch.linspace(-1, 2, 3 * 90).view(3, 90)
    (output,) = gpu.interpret(build, (x,)).outputs
    torch.testing.assert_close(output, programs.softmax(x), rtol=4e-7, atol=1e-9)
    with pytest.raises(ValueError, match=r"float32\[3, 90\], must be float32\[5, 70\]"):
        gpu.interpret(softmax, (x,))


def test_autotuning_lists_its_candidates_and_writes_the_chosen_one() -> None:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b

    inputs = (torch.empty(256, 128), torch.empty(128, 512))
    build = gpu.build(product, inputs, mode="max-autotune-no-cudagraphs")
    (offered,) = build.candidates
    assert offered.chosen in offered.names
    assert len(build.extern_calls) == 1
    template = next(name for name in offered.names if name.startswith("triton_mm"))
    chosen = gpu.build(product, inputs, mode="max-autotune-no-cudagraphs", choose=template)
    assert chosen.candidates[0].chosen == template
    assert (chosen.extern_calls, len(chosen.kernels)) == ((), 1)


def test_a_second_build_is_the_first_ones_and_a_small_new_one_takes_less_than_a_second(
    softmax: gpu.GpuBuild,
) -> None:
    worker = writer(target("h200"))
    before = worker.pid
    assert gpu.build(programs.softmax, (X + 1,)).graphs is softmax.graphs
    seconds = []
    for rows in (6, 8, 9):
        begun = time.perf_counter()
        other = gpu.build(programs.softmax, (torch.empty(rows, 70),))
        seconds.append(time.perf_counter() - begun)
        assert other.graphs is not softmax.graphs
    assert min(seconds) < 1
    assert worker.pid == before


SECOND_PROCESS = """
import json, sys, tempfile, torch
from fuseshard.compiler import gpu
from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu_code.worker.workers import writer
from tests.compiler import gpu_programs as programs
tempfile.tempdir = {folder!r}
build = gpu.build(programs.softmax, (torch.empty(5, 70),))
found = dict(wrapper=build.wrapper, registers=build.kernels[0].registers)
found["worker"] = writer(target("h200")).pid
sys.executable = "/bin/false"  # what isn't on disk needs a worker, which can't start now
try:
    gpu.build(programs.softmax, (torch.empty(6, 71),))
except RuntimeError as error:
    found["other size"] = str(error)
print(json.dumps(found))
"""


def test_another_process_finds_it_on_disk(softmax: gpu.GpuBuild, folder: Path) -> None:
    registers = softmax.kernels[0].registers
    done = subprocess.run(
        [sys.executable, "-c", SECOND_PROCESS.format(folder=str(folder))],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        timeout=60,
    )
    found = json.loads(done.stdout)
    assert "ended with exit code 1" in found.pop("other size")
    assert found == {"wrapper": softmax.wrapper, "registers": registers, "worker": None}


@pytest.mark.parametrize(
    ("arguments", "options", "complaint"),
    [
        ((programs.softmax, (X,)), {"target": "h300"}, "name is 'h300', must be one of"),
        ((programs.softmax, X), {}, r"example_inputs is a Tensor, must be a tuple or list"),
        ((programs.softmax, (X,)), {"backwards": True}, r"options \['backwards'\], must be"),
        ((programs.softmax, (X,)), {"mode": "fastest"}, "mode is 'fastest', must be one of"),
        ((programs.softmax, (X,)), {"autocast": "int8"}, "autocast is 'int8', must be one of"),
        ((programs.softmax, (X,)), {"backward": True}, "no backward graph"),
        ((programs.asks_for_a_number, (X,)), {}, "asks for the numbers in a tensor"),
        ((torch.compile(programs.softmax), (X,)), {}, "already compiled"),
    ],
)
def test_what_cannot_be_written_is_one_clear_error(
    arguments: tuple[Any, ...], options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        gpu.build(*arguments, **options)


def test_inputs_that_do_not_fit_are_named(softmax: gpu.GpuBuild) -> None:
    with pytest.raises(ValueError, match=r"inputs\[0\] is float64\[5, 70\], must be float32"):
        gpu.interpret(softmax, (X.double(),))
    with pytest.raises(ValueError, match="inputs is a Tensor, must be a tuple or list"):
        gpu.interpret(softmax, X)
    with pytest.raises(ValueError, match="a tensor on the meta device has no numbers"):
        gpu.interpret(softmax, (torch.empty(5, 70, device="meta"),))


def test_a_program_in_parts_is_written_and_not_interpreted() -> None:
    build = gpu.build(lambda x: programs.broken(x.exp()).neg(), (X,))
    assert len(build.graphs) > 1
    with pytest.raises(ValueError, match="after a graph break Python runs between the graphs"):
        gpu.interpret(build, (X,))


def test_a_tie_that_was_not_there_is_refused() -> None:
    build = gpu.build(torch.add, (X, X.clone()))
    with pytest.raises(ValueError, match="has 1 tensors, must have 2 as when it was built"):
        gpu.interpret(build, (X, X))
    assert gpu.interpret(build, (X, X * 2)).outputs[0] is not None


def test_a_kernel_by_hand_is_compiled_and_interpreted() -> None:
    signature = {"x_ptr": "*fp32:16", "y_ptr": "*fp32:16", "size": "i32"}
    h200 = gpu.compile_triton(programs.scale_kernel, signature, {"factor": 3})
    a100 = gpu.compile_triton(programs.scale_kernel, signature, {"factor": 3}, target="a100")
    assert (".target sm_90" in h200.assembly, ".target sm_80" in a100.assembly) == (True, True)
    assert gpu.compile_triton(programs.scale_kernel, signature, {"factor": 3}) is h200
    x = torch.arange(100.0)
    assert torch.equal(gpu.interpret_triton(programs.scale, x), 3 * x)
    with pytest.raises(ValueError, match="must name each of"):
        gpu.compile_triton(programs.scale_kernel, signature, {})


def test_this_process_has_no_gpu_all_the_while(softmax: gpu.GpuBuild) -> None:
    assert softmax.kernels
    assert not torch.cuda.is_available()
    module = torch.compile(nn.ReLU(), backend="eager")
    assert torch.equal(module(X), X.relu())


def test_a_loop_without_end_is_given_up() -> None:
    with pytest.raises(TimeoutError, match="ran for 1 s without an answer"):
        gpu.build(programs.loops, (X,), limit_s=1)
    assert writer(target("h200")).pid is None
