"""The page on which readers explore code (pure data). Oracle: kernels that the test makes."""

import pytest

from fuseshard.compiler.gpu_code.records import (
    Configuration,
    GpuGraph,
    KernelSource,
    MachineCode,
    Resources,
)
from fuseshard.compiler.gpu_study.records import CompiledKernel, ProgramTexts
from fuseshard.show.chapters.triton import explorer

CONFIGURATION = Configuration(blocks={"XBLOCK": 1}, num_warps=4, num_stages=1)


def texts(target: str, body: str, registers: int, *, program: str = "softmax") -> ProgramTexts:
    source = KernelSource(
        name="kernel_0",
        phase="inference",
        kind="pointwise",
        triton=f"# for {target}\n@triton.jit\ndef kernel_0(x):\n    {body}\n",
        size_hints={"x": 8},
        configurations=(CONFIGURATION,),
    )
    graph = GpuGraph(
        phase="inference",
        aten="graph",
        post_grad="graph",
        wrapper="call",
        kernels=(source,),
        steps=(),
        inputs=("x",),
        outputs=("y",),
        input_tensors=(0,),
    )
    resources = Resources(
        registers=registers,
        spills=0,
        stack_bytes=0,
        shared_bytes=0,
        loads=1,
        stores=1,
        load_bits=(128,),
        shuffles=0,
        barriers=0,
        tensor_core_ops=0,
        instructions=9,
        occupancy=0.5,
        limited_by="blocks",
    )
    machine = MachineCode(
        target=target,
        configuration=CONFIGURATION,
        ttir="ttir",
        ttgir="ttgir",
        llir="llir",
        assembly="assembly",
        sass=None if target == "mi300x" else "SASS",
        resources=resources,
        compile_s=0.1,
    )
    kernel = CompiledKernel(graph=graph, source=source, machine=machine)
    return ProgramTexts(program=program, target=target, kernels=(kernel,))


def built(program: str, *bodies: str) -> tuple[ProgramTexts, ...]:
    targets = ("h200", "a100", "mi300x")
    return tuple(
        texts(target, body, 30 + index, program=program)
        for index, (target, body) in enumerate(zip(targets, bodies, strict=True))
    )


def test_kernels_are_compared_without_what_is_said_of_the_card() -> None:
    same = built("softmax", "a", "a", "a")
    assert len({explorer.kernels(one) for one in same}) == 1
    assert len({explorer.kernels(one) for one in built("softmax", "a", "b", "a")}) == 2


@pytest.mark.parametrize(
    ("bodies", "same", "everywhere"),
    [(("a", "a", "a"), 2, 2), (("a", "a", "b"), 2, 1), (("a", "b", "b"), 1, 1)],
)
def test_programs_are_counted_by_vendor(
    bodies: tuple[str, str, str], same: int, everywhere: int
) -> None:
    said = str(explorer.equal_finding([built("softmax", "x", "x", "x"), built("gelu", *bodies)]))
    assert said.startswith(f"of 2 programs, {same} are the same Triton kernels on all 2")
    assert f"and {everywhere} of them on AMD's" in said


def test_registers_span_the_cards() -> None:
    assert "between 30 and 32 registers" in str(
        explorer.registers_finding(built("softmax", "a", "a", "a"))
    )


def test_every_program_has_every_gpu_and_none_may_lack_one() -> None:
    programs = [built("softmax", "a", "a", "b"), built("gelu", "a", "a", "a")]
    made = explorer.program_explorer(programs)
    assert [program.key for program in made.programs] == ["softmax", "gelu"]
    assert made.start == ("softmax", "h200", "triton")
    # Must-fail twin: a program that wasn't built for the last GPU.
    with pytest.raises(ValueError, match="mi300x"):
        explorer.program_explorer([programs[0], programs[1][:-1]])
