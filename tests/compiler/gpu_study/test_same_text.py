"""Texts with and without a card. Oracle: builds for one GPU in place of the card's, and edits.

Nothing here has a card; what plain torch.compile leaves is tried on the CPU.
"""

import json
import subprocess
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
import triton
from torch._inductor.runtime.triton_heuristics import CachingAutotuner

# Private, checked on Triton 3.6 and on the one of torch 2.13: which assembler is taken.
from triton.backends.nvidia.compiler import get_ptxas

from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu import GpuBuild
from fuseshard.compiler.gpu_code.records import Configuration
from fuseshard.compiler.gpu_study.programs import Program, by_key, gallery
from fuseshard.compiler.gpu_study.same_text import blanked
from fuseshard.compiler.gpu_study.same_text.card import Launcher, OnCard, on_card
from fuseshard.compiler.gpu_study.same_text.experiment import compare, same_text, same_text_report
from fuseshard.compiler.gpu_study.same_text.programs import compared_programs
from fuseshard.compiler.gpu_study.same_text.records import CardKernel
from fuseshard.measure.schema import RecordError, read

COUNTED = (
    "# AOT ID: ['3_forward']\n# kernel path: /tmp/x/y.py\nx = {'backend_hash': 'AB12', 'a': 1}\n"
    "    compiled_module_main('gpu.same-text', run)\n"
)


@pytest.fixture(scope="module")
def program() -> Program:
    (found,) = by_key(gallery(), "softmax")
    return found


def texts(build: GpuBuild) -> list[str]:
    return [graph.wrapper for graph in build.graphs]


def test_the_same_gpu_gives_the_same_text_and_another_does_not(program: Program) -> None:
    hidden = program.build("h200")
    same = compare(program, texts(program.build("h200")), hidden)
    assert (same.is_identical, same.difference, same.num_different) == (True, (), 0)
    assert (same.graphs, same.num_kernels) == (1, 1)
    other = compare(program, texts(program.build("a100")), hidden)
    assert not other.is_identical
    assert any("multi_processor_count=108" in line for line in other.difference)
    assert other.num_different == 2  # one line each


def test_a_graph_more_is_a_difference(program: Program) -> None:
    hidden = program.build("h200")
    assert not compare(program, [*texts(hidden), ""], hidden).is_identical


def test_what_no_kernel_reads_is_blanked_and_all_else_is_kept() -> None:
    again = COUNTED.replace("3_", "7_").replace("/tmp/x/y.py", "/var/z.py").replace("AB12", "CD34")
    again = again.replace("gpu.same-text", "None")
    assert blanked.blanked(COUNTED) == blanked.blanked(again)
    assert blanked.blanked(COUNTED) != blanked.blanked(COUNTED.replace("'a': 1", "'a': 2"))
    assert blanked.blanked(COUNTED) != blanked.blanked(COUNTED.replace("_forward", "_backward"))


def test_a_kernel_of_the_card_is_found_among_the_candidates(program: Program) -> None:
    hidden = program.build("h200")
    (kernel,) = hidden.kernels
    chosen = kernel.configurations[0]
    made = Configuration(blocks={"XBLOCK": 64}, num_warps=8, num_stages=1)
    launchers = [
        Launcher(name=kernel.name, chosen=chosen, registers=3, spills=0, cubin=None),
        Launcher(name=kernel.name, chosen=made, registers=4, spills=0, cubin=None),
        Launcher(name="another", chosen=made, registers=5, spills=0, cubin=None),
    ]
    known, unknown = compare(program, texts(hidden), hidden, launchers).kernels
    assert (known.index, known.card_registers) == (0, 3)
    assert known.registers == kernel.machine(0).resources.registers
    assert (unknown.index, unknown.registers, unknown.is_same_machine_code) == (None, None, None)


def assembled(ptx: str, path: Path) -> bytes:
    """Assemble PTX as Triton does for an H200."""
    source, binary = path / "kernel.ptx", path / "kernel.cubin"
    source.write_text(ptx)
    command = [get_ptxas(90).path, "--gpu-name=sm_90a", str(source), "-o", str(binary)]
    subprocess.run(command, check=True, timeout=60)
    return binary.read_bytes()


def test_machine_codes_are_the_same_or_their_difference_is_kept(
    program: Program, tmp_path: Path
) -> None:
    """The card's binary is the kernel's own PTX, assembled; then with another operation in it."""
    hidden = program.build("h200")
    (kernel,) = hidden.kernels
    ptx = kernel.machine(0).assembly
    cubins = [assembled(ptx, tmp_path), assembled(ptx.replace("div.full", "mul"), tmp_path), None]
    launchers = [
        Launcher(
            name=kernel.name,
            chosen=kernel.configurations[0],
            registers=3,
            spills=0,
            cubin=cubin,
        )
        for cubin in cubins
    ]
    same, other, unknown = compare(program, texts(hidden), hidden, launchers).kernels
    assert (same.is_same_machine_code, same.difference) == (True, ())
    assert other.is_same_machine_code is False
    assert 1 <= len(other.difference) <= blanked.SHOWN
    assert all(line.startswith(("- ", "+ ")) for line in other.difference)
    assert (unknown.is_same_machine_code, unknown.difference) == (None, ())


def test_of_a_long_difference_the_first_lines_are_kept_and_cut() -> None:
    left, right = (f"{'x' * 100}{name}{'y' * 100}\n" * 20 for name in "ab")
    kept = blanked.first_lines(left, right)
    assert len(kept) == blanked.SHOWN
    assert all(line.startswith("- … ") and len(line) <= blanked.LONGEST + 4 for line in kept)
    assert blanked.first_lines(left, left) == ()


def test_a_kernel_recorded_without_its_difference_still_loads() -> None:
    kernel = CardKernel(
        name="k",
        chosen=Configuration(blocks={"XBLOCK": 1}, num_warps=2, num_stages=1),
        index=0,
        card_registers=40,
        card_spills=0,
        registers=40,
        spills=0,
        is_same_machine_code=False,
        difference=("- FADD",),
    )
    data = json.loads(json.dumps(asdict(kernel)))
    assert read(CardKernel, data, "new") == kernel
    del data["difference"]
    assert read(CardKernel, data, "old") == replace(kernel, difference=())
    with pytest.raises(RecordError, match=r"new\.difference: "):
        read(CardKernel, data | {"difference": "- FADD"}, "new")


def test_plain_torch_compile_hands_over_text_and_module() -> None:
    """On the CPU, where the modules hold no autotuner of Triton's."""
    small = Program(key="double", fn=lambda x: x * 2, inputs=(torch.empty(7, 3),))
    found = on_card(small, "cpu")
    (text,) = found.texts
    assert "cpp_fused_mul" in text
    assert callable(found.modules[0].call)
    assert found.launchers() == []


def test_a_program_that_fails_on_the_card_does_not_stop_the_others(program: Program) -> None:
    """There is no card here, so the card's side fails."""
    (one,) = same_text_report([program], target("h200")).programs
    assert one.failure is not None
    assert "CUDA" in one.failure or "NVIDIA" in one.failure
    assert (one.is_identical, one.graphs) == (False, 0)


def tuner(*configs: triton.Config) -> CachingAutotuner:
    """Inductor's autotuner as a run on a card leaves it: all results, and what is left of them."""
    made = CachingAutotuner.__new__(CachingAutotuner)
    made.launchers = [SimpleNamespace(config=config, n_regs=40, n_spills=1) for config in configs]
    results = [triton.Config({"XBLOCK": 8}), *configs]
    made.compile_results = [
        SimpleNamespace(config=config, kernel=SimpleNamespace(asm={"cubin": str(i).encode()}))
        for i, config in enumerate(results)
    ]
    return made


def test_what_the_autotuner_settled_on_is_read_with_its_binary() -> None:
    config = triton.Config({"XBLOCK": 1}, num_warps=2, num_stages=1)
    settled, undecided = tuner(config), tuner(config, triton.Config({"XBLOCK": 4}))
    card = OnCard(modules=[SimpleNamespace(kernel=settled, other=undecided, call=print)])
    (launcher,) = card.launchers()
    assert launcher == Launcher(
        name="kernel",
        chosen=Configuration(blocks={"XBLOCK": 1}, num_warps=2, num_stages=1),
        registers=40,
        spills=1,
        cubin=b"1",
    )


def test_at_least_twenty_programs_are_compared_on_a_card() -> None:
    keys = [program.key for program in compared_programs()]
    assert len(set(keys)) == len(keys) >= 20
    assert (same_text.id, same_text.needs) == ("gpu.same-text", "cuda")
