"""Kernels compiled for GPUs that aren't there. Oracles: counts on paper, and other tools.

The other tools are cuobjdump, and LLVM's own notes in AMD's assembly. Everything is compiled in
two child processes at the same time, about 25 s.
"""

import json
import math
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_code.occupancy import block_limits

KEYS = ("h200", "a100", "rtx4090", "b200", "mi300x")
WARP = {key: TARGETS[key].warp_size for key in KEYS}
ELEMENTS = 1024
"""of the tile in each copy and each sum"""
SIMDS = 4
"""parts of a compute unit of AMD's, each with registers of its own"""


@pytest.fixture(scope="module")
def children() -> dict[str, Any]:
    commands = {"machine": ["machine_cases.py"], "inductor": ["inductor_cases.py", "h200", "a100"]}
    with ExitStack() as stack:
        running = {name: stack.enter_context(started(*c)) for name, c in commands.items()}
        for process in running.values():
            stack.callback(process.kill)  # of one that outlives the other's failure
        return {name: result(process) for name, process in running.items()}


def started(script: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(Path(__file__).with_name(script)), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result(process: subprocess.Popen[str]) -> Any:
    output, errors = process.communicate(timeout=300)
    assert (process.returncode, errors) == (0, "")
    return json.loads(output)


@pytest.fixture(scope="module")
def found(children: dict[str, Any]) -> Any:
    return children["machine"]


@pytest.fixture(scope="module")
def inductor(children: dict[str, Any]) -> Any:
    return children["inductor"]


@pytest.mark.parametrize("key", KEYS)
def test_aligned_pointers_are_read_four_floats_at_a_time(found: Any, key: str) -> None:
    a_thread = ELEMENTS // (4 * WARP[key])
    aligned, unaligned = (found["targets"][key][name] for name in ("aligned", "unaligned"))
    assert aligned["load_bits"] == [128] * (a_thread // 4)
    assert (aligned["loads"], aligned["stores"]) == (a_thread // 4, a_thread // 4)
    # Must-fail twin: the same kernel, without the word that pointers are divisible by 16.
    assert unaligned["load_bits"] == [32] * a_thread
    assert (unaligned["loads"], unaligned["stores"]) == (a_thread, a_thread)


@pytest.mark.parametrize("key", KEYS)
def test_a_warp_adds_up_in_as_many_steps_as_it_can_be_halved(found: Any, key: str) -> None:
    one_warp = found["targets"][key]["one warp"]
    assert one_warp["shuffles"] == math.log2(WARP[key])
    assert (one_warp["barriers"], one_warp["shared_bytes"]) == (0, 0)


@pytest.mark.parametrize("key", KEYS)
def test_warps_hand_on_through_shared_memory_and_wait(found: Any, key: str) -> None:
    four_warps = found["targets"][key]["four warps"]
    assert four_warps["shuffles"] == math.log2(WARP[key]) + math.log2(4)
    assert four_warps["barriers"] >= 1
    assert four_warps["shared_bytes"] == 4 * 4  # a float of each warp


@pytest.mark.parametrize("key", KEYS)
def test_only_a_matrix_product_uses_the_tensor_cores(found: Any, key: str) -> None:
    kernels = found["targets"][key]
    assert kernels["product"]["tensor_core_ops"] > 0
    assert kernels["aligned"]["tensor_core_ops"] == kernels["four warps"]["tensor_core_ops"] == 0


@pytest.mark.parametrize(("key", "fits", "too_large"), [("h200", 8, 64), ("mi300x", 8, 256)])
def test_a_tile_too_large_for_one_warp_spills(
    found: Any, key: str, fits: int, too_large: int
) -> None:
    small, large = (found["tiles"][f"{key} {rows}"] for rows in (fits, too_large))
    assert (small["spills"], small["stack_bytes"], small["words spilled"]) == (0, 0, 0)
    assert large["spills"] > 0
    # The machine code stores what the assembler's report says, word by word.
    assert large["spills"] == large["words spilled"]
    # A place on the stack is used again for other registers, never twice at a time.
    assert 0 < large["stack_bytes"] <= 4 * (large["spills"] + 4)


@pytest.mark.parametrize("key", ["h200", "a100"])
def test_other_tools_see_the_same_kernel(found: Any, key: str) -> None:
    for ours, theirs in found["tools"][key].values():
        assert ours == theirs
    opcodes, _ = found["tools"][key]["opcodes"]
    code = found["tiles"][f"{key} 64"]
    assert sum(opcodes.values()) == code["instructions"]
    # Must-fail twin: the other architecture has another kernel.
    (other,) = {"h200", "a100"} - {key}
    assert opcodes != found["tools"][other]["opcodes"][1]


def test_llvm_names_the_same_number_of_waves(found: Any) -> None:
    kernels = [*found["targets"]["mi300x"].values()]
    kernels += [found["tiles"][f"mi300x {rows}"] for rows in (8, 32, 256)]
    target = TARGETS["mi300x"]
    waves = []
    for kernel in kernels:
        registers = kernel["registers"]
        limits = block_limits(target, registers=registers, shared_bytes=0, num_warps=1)
        waves.append(min(limits["registers"], limits["threads"]) // SIMDS)
    assert waves == [kernel["LLVM's waves"] for kernel in kernels]
    assert len(set(waves)) > 2


@pytest.mark.parametrize("key", ["h200", "mi300x"])
def test_texts_hold_code_and_no_trace_of_this_machine(found: Any, key: str) -> None:
    texts = {name: text for name, text in found["stages"][key].items() if text is not None}
    expected = {"ttir": "tt.reduce", "ttgir": "#ttg.blocked", "llir": "define "}
    expected |= {"assembly": ".reqntid 128", "sass": "SHFL.BFLY"} if key == "h200" else {}
    for name, part in expected.items():
        assert part in texts[name]
    assert ("sass" in texts) == (key == "h200")
    folder = str(Path(__file__).parent)
    spelt = "\n".join(f".b8 {ord(letter)}" for letter in folder)
    for text in texts.values():
        for trace in (folder, "loc(", "!dbg", ".debug_", ".loc\t", "/*0", spelt):
            assert trace not in text


def test_a_compile_leaves_nothing_behind(found: Any) -> None:
    left = found["leftovers"]
    assert (left["same state"], left["printed"], left["folders"]) == (True, "", 0)
    assert left["control"] > 0


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("not triton", "TypeError: compile_triton: fn is builtin_function_or_method, must be"),
        ("argument", "must name each of ['block', 'count', 'result', 'source'] once"),
        ("tool", "MissingToolError: compile: Triton says 'Cannot find ptxas'"),
        ("package", "MissingToolError: compile: Triton can't be imported"),
    ],
)
def test_what_is_missing_is_named(found: Any, case: str, message: str) -> None:
    assert message in found["errors"][case]


def test_a_row_of_600_takes_five_vector_loads_and_two_reductions(inductor: Any) -> None:
    """32 threads read 4 floats each, 128 a time; a softmax reduces for the maximum and the sum."""
    (softmax,) = inductor["codes"]["rows"]
    counts = softmax["resources"]
    assert softmax["configuration"]["num_warps"] == 1
    assert counts["load_bits"] == [128] * math.ceil(600 / 128)
    assert counts["shuffles"] == 2 * math.log2(32)
    assert (counts["spills"], counts["barriers"]) == (0, 0)


def test_a_matrix_template_uses_the_tensor_cores(inductor: Any) -> None:
    (template,) = inductor["codes"]["template"]
    (softmax,) = inductor["codes"]["rows"]
    assert template["resources"]["tensor_core_ops"] > softmax["resources"]["tensor_core_ops"] == 0


def test_each_configuration_is_the_one_that_was_asked_for(inductor: Any) -> None:
    codes = inductor["codes"]["columns"]
    assert [code["configuration"] for code in codes] == inductor["asked"]
    assert len(codes) > 1
    for code in codes:
        asked = code["configuration"]
        x, r = asked["blocks"]["XBLOCK"], asked["blocks"]["R0_BLOCK"]
        assert f".reqntid {32 * asked['num_warps']}" in code["assembly"]
        assert f"tensor<{x}x{r}xf32>" in code["ttir"]


def test_the_tile_decides_how_wide_a_thread_reads(inductor: Any) -> None:
    """Neighbours in memory lie along XBLOCK: a thread reads those of its elements, at most 4."""
    widths = []
    for code in inductor["codes"]["columns"]:
        asked = code["configuration"]
        x, r = asked["blocks"]["XBLOCK"], asked["blocks"]["R0_BLOCK"]
        a_thread = x * r // (32 * asked["num_warps"])
        widths.append(32 * min(4, x, a_thread))
        assert set(code["resources"]["load_bits"]) == {widths[-1]}
    assert {32, 128} <= set(widths)


def test_an_index_or_a_target_that_does_not_fit_is_refused(inductor: Any) -> None:
    assert inductor["index"].startswith("compile_kernel: index is ")
    assert "was written for (90: its candidates depend on it)" in inductor["target"]
