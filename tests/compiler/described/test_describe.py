"""A described GPU. Oracles: public logs of real cards, and the same process before and after.

Four processes, no ranks.
"""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

from fuseshard.compiler.child import run_script
from fuseshard.compiler.described.targets import TARGETS

WORKER = (Path(__file__).parent / "worker.py").read_text()
CALLS = ("nvidia()", "amd()", "trained_first(guarded=True)", "trained_first(guarded=False)")

# From what others published of torch on these cards.
DEVICE_LINES = {
    "h200": "type='cuda', index=0, multi_processor_count=132, cc=90, major=9, "
    "regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048",
    "h100": "type='cuda', index=0, multi_processor_count=132, cc=90, major=9, "
    "regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048",
    "a100": "type='cuda', index=0, multi_processor_count=108, cc=80, major=8, "
    "regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048",
    "rtx4090": "type='cuda', index=0, multi_processor_count=128, cc=89, major=8, "
    "regs_per_multiprocessor=65536, max_threads_per_multi_processor=1536",
    "b200": "type='cuda', index=0, multi_processor_count=148, cc=100, major=10, "
    "regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048",
    "mi300x": "type='hip', index=0, multi_processor_count=304, cc='gfx942', major=9, "
    "regs_per_multiprocessor=65536, max_threads_per_multi_processor=2048",
}
TRITON = {
    "h200": "GPUTarget(backend='cuda', arch=90, warp_size=32)",
    "h100": "GPUTarget(backend='cuda', arch=90, warp_size=32)",
    "a100": "GPUTarget(backend='cuda', arch=80, warp_size=32)",
    "rtx4090": "GPUTarget(backend='cuda', arch=89, warp_size=32)",
    "b200": "GPUTarget(backend='cuda', arch=100, warp_size=32)",
    "mi300x": "GPUTarget(backend='hip', arch='gfx942', warp_size=64)",
}
HALF_ATTENTION = {
    "h200": "cudnn",
    "h100": "cudnn",
    "a100": "flash",
    "rtx4090": "flash",
    "b200": "cudnn",
    "mi300x": "flash",
}
REPLACED = {
    "accelerator",
    "attention",
    "available",
    "backends",
    "dispatcher",
    "driver",
    "fake mode",
    "hooks",
    "modules",
    "torch._C",
    "torch.cuda",
    "version",
}


def run(call: str) -> dict[str, Any]:
    result = run_script(f"{WORKER}\nreport({call})\n", timeout_s=300)
    assert result.exit_code == 0, result.error
    found: dict[str, Any] = json.loads(result.output.splitlines()[-1])
    return found


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, Any]]:
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(CALLS, pool.map(run, CALLS), strict=True))


@pytest.fixture(scope="module")
def nvidia(reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return reports["nvidia()"]


@pytest.fixture(scope="module")
def amd(reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    return reports["amd()"]


@pytest.fixture(scope="module")
def targets(nvidia: dict[str, Any], amd: dict[str, Any]) -> dict[str, Any]:
    return {**nvidia["targets"], **amd["targets"]}


@pytest.mark.parametrize("key", TARGETS)
def test_torch_answers_as_the_target(targets: dict[str, Any], key: str) -> None:
    expected = TARGETS[key]
    assert targets[key]["answers"] == {
        "available": True,
        "count": 1,
        "current": 0,
        "name": expected.name,
        "capability": list(expected.capability),
        "multiprocessors": expected.num_multiprocessors,
        "memory": expected.memory_bytes,
        "bf16": True,
        "accelerator": "cuda",
        "triton": TRITON[key],
    }


@pytest.mark.parametrize("key", TARGETS)
def test_inductor_writes_the_line_that_it_writes_on_the_card(
    targets: dict[str, Any], key: str
) -> None:
    """Two cards after each other differ: that is the twin of every line."""
    (line,) = targets[key]["texts"]["softmax"]["device"]
    rest = f"max_threads_per_block=1024, warp_size={TARGETS[key].warp_size}"
    assert line == f"DeviceProperties({DEVICE_LINES[key]}, {rest})"
    assert len({targets[other]["texts"]["softmax"]["digest"] for other in TARGETS}) == 5


@pytest.mark.parametrize("key", TARGETS)
def test_fake_tensors_are_trained_on(targets: dict[str, Any], key: str) -> None:
    assert targets[key]["trained"] == ["cuda:0", [3, 5], "FakeTensor"]


@pytest.mark.parametrize("key", TARGETS)
def test_attention_in_half_precision_is_one_call_of_the_cards_library(
    targets: dict[str, Any], key: str
) -> None:
    text = targets[key]["texts"]["half"]
    assert (text["attention"], text["kernels"]) == ([HALF_ATTENTION[key]], 0)


@pytest.mark.parametrize("key", ["h200", "mi300x"])
def test_attention_in_single_precision_is_the_efficient_one(
    targets: dict[str, Any], key: str
) -> None:
    assert targets[key]["texts"]["single"]["attention"] == ["efficient"]


def test_a_boolean_mask_is_converted_as_on_the_card(targets: dict[str, Any]) -> None:
    """A real H200 does it with `where` in a kernel of its own; flash attention takes no mask."""
    masked = targets["h200"]["texts"]["masked"]
    assert (masked["attention"], masked["kernels"], masked["where"]) == (["cudnn"], 1, 1)
    assert targets["mi300x"]["texts"]["masked"]["attention"] == ["efficient"]


def test_attention_is_chosen_where_sizes_are_symbols(nvidia: dict[str, Any]) -> None:
    assert nvidia["symbolic"] == ["aten._scaled_dot_product_cudnn_attention.default"]


def test_a_program_that_leaves_no_implementation_hears_so(nvidia: dict[str, Any]) -> None:
    assert "No viable backend for scaled_dot_product_attention" in nvidia["no backend"]


def test_modules_keep_sharing_a_parameter_when_they_move(targets: dict[str, Any]) -> None:
    """The biases were never shared: the twin."""
    assert [found["ties"] for found in targets.values()] == [[True, False]] * len(TARGETS)


def test_everything_is_as_before(nvidia: dict[str, Any], amd: dict[str, Any]) -> None:
    """Must-fail twin: while a GPU is described, the same comparison sees every replacement."""
    assert nvidia["left"] == amd["left"] == []
    unseen = REPLACED - set(nvidia["during"])
    # A build for CUDA 13 has the accelerator, the kernels and the version that are described.
    expected = set() if torch.version.cuda is None else {"accelerator", "dispatcher", "version"}
    assert unseen == expected


def test_a_tensor_on_the_gpu_is_refused_afterwards(nvidia: dict[str, Any]) -> None:
    assert re.match("(NotImplemented|Runtime)Error: ", nvidia["tensor"])


def test_code_for_the_cpu_stays_the_same(reports: dict[str, dict[str, Any]]) -> None:
    """Before, after, and in a process that wrote for a GPU first."""
    nvidia = reports["nvidia()"]
    gpu_first = reports["trained_first(guarded=True)"]
    assert nvidia["cpu before"] == nvidia["cpu after"] == gpu_first["cpu after"]
    assert len(set(nvidia["cpu before"])) == 4
    assert nvidia["cpu unchanged"]


def test_a_target_gives_the_same_text_after_others(nvidia: dict[str, Any]) -> None:
    assert nvidia["again"] == nvidia["targets"]["h200"]
    assert nvidia["again"]["texts"] != nvidia["targets"]["a100"]["texts"]


def test_threads_describe_one_after_the_other(nvidia: dict[str, Any]) -> None:
    described = {key: TARGETS[key].name for key in TARGETS if TARGETS[key].vendor == "nvidia"}
    assert nvidia["threads"] == described


def test_a_second_description_in_the_same_thread_is_refused(nvidia: dict[str, Any]) -> None:
    assert nvidia["nested"].startswith("RuntimeError: described_gpu: this thread describes a GPU")


def test_an_error_inside_comes_through(nvidia: dict[str, Any]) -> None:
    assert nvidia["inside"] == "KeyError: 'mine'"


def test_an_unknown_replacement_is_refused(nvidia: dict[str, Any]) -> None:
    assert nvidia["unknown"].startswith(
        "ValueError: described_gpu: without holds ['nothing'], must be among ['memos', "
    )


def test_the_guard_can_be_left_out_in_a_fresh_process_only(nvidia: dict[str, Any]) -> None:
    assert "the device guard is registered in this process" in nvidia["guard"]


def test_a_process_describes_one_vendor(nvidia: dict[str, Any], amd: dict[str, Any]) -> None:
    assert "Inductor was loaded for nvidia in this process, must be for amd" in nvidia["amd"]
    assert "Inductor was loaded for amd in this process, must be for nvidia" in amd["nvidia"]
    assert (amd["vendor"], amd["spills"]) == ("amd", 32)


def test_the_guard_comes_before_the_first_backward_pass(
    reports: dict[str, dict[str, Any]],
) -> None:
    assert reports["trained_first(guarded=True)"]["said"] == "nothing"
    assert "call guard.register_guard() before" in reports["trained_first(guarded=False)"]["said"]
