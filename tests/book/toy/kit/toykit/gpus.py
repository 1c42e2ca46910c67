"""Twelve programs on five GPUs, made up: texts as long and as alike as those of real compilers.

A line of real PTX or SASS differs from its neighbours in a register or two, and two GPUs' texts
differ in one line (wrapper, Triton) or in most (machine code): both matter to what gzip makes of
them.
"""

import random
from collections.abc import Callable, Iterator
from functools import cache

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_code.records import Configuration, Phase, Resources
from fuseshard.show.explorer.explore import Explorer, Place, explore
from fuseshard.show.explorer.programs import (
    KernelCode,
    ProgramCode,
    Stage,
    TargetCode,
    stages_of,
)
from fuseshard.show.words import plain, word

NAMES = {
    "h200": "NVIDIA H200",
    "a100": "NVIDIA A100-SXM4-80GB",
    "rtx4090": "NVIDIA GeForce RTX 4090",
    "b200": "NVIDIA B200",
    "mi300x": "AMD Instinct MI300X",
}
MULTIPROCESSORS = {"h200": 132, "a100": 108, "rtx4090": 128, "b200": 148, "mi300x": 304}
PROGRAMS: dict[str, tuple[Phase, ...]] = {
    "softmax": ("inference",),
    "chain": ("inference",),
    "gelu-layernorm": ("inference",),
    "rmsnorm": ("inference",),
    "cross-entropy": ("inference", "inference"),
    "linear-softmax": ("inference",),
    "linear-relu": ("inference",),
    "dropout": ("forward", "backward"),
    "layernorm-train": ("forward", "backward", "backward", "backward"),
    "wide-softmax": ("inference",),
    "conv-bn-relu": ("inference", "inference", "inference"),
    "rmsnorm-train": ("forward", "backward", "backward", "backward"),
}
"""key -> phase of each kernel"""
SPLIT = "wide-softmax"
"""the program that AMD's card gets in three kernels, with names that NVIDIA's have not"""


@cache
def target(key: str) -> Target:
    """Describe a GPU; the figures are no card's but for the number of multiprocessors."""
    is_amd = key == "mi300x"
    return Target(
        key=key,
        name=NAMES[key],
        vendor="amd" if is_amd else "nvidia",
        architecture="gfx942" if is_amd else "90",
        capability=(9, 0),
        num_multiprocessors=MULTIPROCESSORS[key],
        warp_size=64 if is_amd else 32,
        max_threads_per_multiprocessor=2048,
        max_blocks_per_multiprocessor=32,
        shared_bytes_per_multiprocessor=228 * 1024,
        shared_bytes_per_block=48 * 1024,
        shared_bytes_per_block_optin=227 * 1024,
        l2_bytes=50 * 2**20,
        memory_bytes=2**37,
        memory_bytes_per_s=4.8e12,
        fp32_flop_per_s=6.7e13,
        bf16_flop_per_s=9.9e14,
        source="https://example.org",
    )


def explorer(*keys: str, start: Place | None = None) -> Explorer:
    """Return the explorer of some programs, or of all of them, on all GPUs."""
    programs = [program(key) for key in keys or PROGRAMS]
    return explore("explorer", word("Programs on GPUs"), programs, start=start)


def program(key: str) -> ProgramCode:
    """Return one program on all GPUs."""
    views = tuple(TargetCode(target=target(gpu), kernels=kernels(key, gpu)) for gpu in NAMES)
    return ProgramCode(key=key, label=plain(key), views=views)


def kernels(key: str, gpu: str) -> tuple[KernelCode, ...]:
    """Return a program's kernels on one GPU."""
    phases = PROGRAMS[key]
    stem = f"triton_per_fused_{key.replace('-', '_')}"
    if key == SPLIT and gpu == "mi300x":
        phases, stem = phases * 3, "triton_red_split"
    return tuple(kernel(f"{stem}_{i}", phase, gpu) for i, phase in enumerate(phases))


def kernel(name: str, phase: Phase, gpu: str) -> KernelCode:
    """Return one kernel on one GPU, with texts and resources."""
    number = random.Random(name + gpu)
    registers = number.randrange(24, 128)
    resources = Resources(
        registers=registers,
        spills=number.choice((0, 0, 0, 2)),
        stack_bytes=0,
        shared_bytes=number.choice((0, 16, 1024, 32768)),
        loads=6,
        stores=number.randrange(1, 6),
        load_bits=(128,) * 4 + (32,) * 2,
        shuffles=10,
        barriers=2,
        tensor_core_ops=0,
        instructions=448,
        occupancy=min(1.0, 64 * 8 // registers / 8),
        limited_by="registers" if registers > 64 else "blocks",
    )
    configuration = Configuration(blocks={"XBLOCK": 1, "R0_BLOCK": 1024}, num_warps=4, num_stages=1)
    texts = {stage: text(name, gpu, stage) for stage in stages_of(target(gpu).vendor)}
    return KernelCode(
        name=name, phase=phase, texts=texts, configuration=configuration, resources=resources
    )


def text(name: str, gpu: str, stage: Stage) -> str:
    """Return a kernel's text; GPUs share it as far as real compilers write the same for them."""
    vendor = target(gpu).vendor
    shared_by = {
        "aten": "",
        "wrapper": vendor,
        "triton": vendor,
        "ttir": vendor,
        "ttgir": vendor,
        "llir": vendor if gpu == "mi300x" else "new" if gpu == "b200" else "old",
        "assembly": gpu,
        "sass": gpu,
    }[stage]
    # The same on all GPUs that share it, and another one for each kernel.
    number = random.Random(f"{name} {stage} {shared_by}")
    lines = list(_LINES[stage](name, number, vendor))
    if stage in ("wrapper", "triton"):
        lines[3] = f"    device = DeviceProperties(multi_processor_count={MULTIPROCESSORS[gpu]})"
    if stage == "ttgir":
        lines[0] = f'module attributes {{ttg.target = "{gpu}", "ttg.num-warps" = 4 : i32}} {{'
    return "\n".join(lines) + "\n"


Number = random.Random


def _aten(name: str, number: Number, vendor: str) -> Iterator[str]:
    yield "class GraphModule(torch.nn.Module):"
    yield '    def forward(self, arg0_1: "f32[4096, 600][600, 1]cuda:0"):'
    for i in range(12):
        op = number.choice(("amax", "sub", "exp", "sum", "div"))
        yield f'        {op}_{i}: "f32[4096, 600][600, 1]" = torch.ops.aten.{op}.default(arg0_1)'


def _python(name: str, number: Number, vendor: str) -> Iterator[str]:
    yield "import triton"
    yield "import triton.language as tl"
    yield f"def {name}(in_ptr0, out_ptr2, xnumel, r0_numel, XBLOCK: tl.constexpr):"
    yield "    device = None"
    yield "    # each program takes one row & writes it back where rindex < r0_numel"
    for i in range(60):
        op = number.choice(("exp", "maximum", "sum", "where", "load", "broadcast_to"))
        yield f"    tmp{i} = tl.{op}(tmp{max(0, i - number.randrange(1, 4))}, [XBLOCK, R0_BLOCK])"


def _wrapper(name: str, number: Number, vendor: str) -> Iterator[str]:
    yield from _python(name, number, vendor)
    for i in range(90):
        yield f"        buf{i} = empty_strided_{vendor}(({number.randrange(9999)}, 600), (600, 1))"


def _mlir(name: str, number: Number, vendor: str) -> Iterator[str]:
    yield "module {"
    yield f"  tt.func public @{name}(%in_ptr0: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{"
    for i in range(60):
        op = number.choice(("arith.addf", "arith.mulf", "tt.splat", "tt.expand_dims", "tt.load"))
        values = f"%tmp{max(0, i - 1)}, %cst_{number.randrange(9)}"
        yield f"    %tmp{i} = {op} {values} : tensor<1x1024xf32>"


def _llvm(name: str, number: Number, vendor: str) -> Iterator[str]:
    yield f"define ptx_kernel void @{name}(ptr addrspace(1) %0, i32 %1) local_unnamed_addr #0 {{"
    for i in range(2, 1500):
        op = number.choice(("fadd", "fmul", "fsub", "tail call float @llvm.nvvm.fma.rn.f"))
        first, second = (max(0, i - number.randrange(1, 40)) for _ in range(2))
        yield f"  %{i} = {op} float %{first}, %{second}"


def _assembly(name: str, number: Number, vendor: str) -> Iterator[str]:
    yield f"{name}:" if vendor == "amd" else f".visible .entry {name}("
    for i in range(1100):
        register = number.randrange(1, 200)
        if vendor == "amd":
            op = number.choice(("v_add_f32_e32", "v_fma_f32", "v_mul_f32_e32", "v_exp_f32_e32"))
            yield f"\t{op} v{register}, v{number.randrange(60)}, s{number.randrange(20)}"
        else:
            op = number.choice(("add.f32", "fma.rn.f32", "mul.f32", "ex2.approx.ftz.f32"))
            yield f"\t{op} \t%r{i}, %r{max(0, i - register)}, %r{max(0, i - 1)};"


def _sass(name: str, number: Number, vendor: str) -> Iterator[str]:
    for _ in range(480):
        op = number.choice(("FADD", "FFMA", "FMUL", "MUFU.EX2", "LDG.E.EF.128", "IMAD.WIDE"))
        registers = [f"R{number.randrange(64)}" for _ in range(3)]
        yield f"     {op} {', '.join(registers)} ;"


_LINES: dict[Stage, Callable[[str, Number, str], Iterator[str]]] = {
    "aten": _aten,
    "wrapper": _wrapper,
    "triton": _python,
    "ttir": _mlir,
    "ttgir": _mlir,
    "llir": _llvm,
    "assembly": _assembly,
    "sass": _sass,
}
