"""What the process that writes GPU code is asked to do."""

from typing import Any

# Private, checked on torch 2.11 and 2.13: tensors that have a shape and no numbers.
from torch._subclasses.fake_tensor import FakeTensorMode

from fuseshard.compiler.described.describe import described_gpu
from fuseshard.compiler.described.guard import register_guard
from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu_code import machine, written
from fuseshard.compiler.gpu_code.records import GpuGraph, KernelSource, MachineCode
from fuseshard.compiler.gpu_code.worker.travel import unpack


def start() -> None:
    """Give CUDA a device guard, which has to be there before anything trains."""
    register_guard()


def write(content: bytes, target_name: str, options: dict[str, Any]) -> tuple[GpuGraph, ...]:
    """Write a program for a GPU that isn't there.

    Args:
        content: the program, as `pack` made it.
        target_name: the GPU.
        options: fields of `WriteOptions`.
    """
    gpu = target(target_name)
    checked = written.WriteOptions(**options)
    with described_gpu(gpu), FakeTensorMode():
        fn, args, numbers = unpack(content)
        return written.write(fn, args, gpu, options=checked, numbers=numbers)


def compile_kernel(source: KernelSource, index: int, target_name: str) -> MachineCode:
    """Compile a kernel that Inductor wrote, under one of its configurations."""
    gpu = target(target_name)
    with described_gpu(gpu):
        return machine.compile_kernel(source, index, gpu)


def compile_triton(content: bytes, target_name: str, options: dict[str, int]) -> MachineCode:
    """Compile a hand-written kernel.

    Args:
        content: the kernel with signature and constants, as `pack` made it.
        target_name: the GPU.
        options: num_warps and num_stages.
    """
    fn, (signature, constants), _ = unpack(content)
    return machine.compile_triton(fn, signature, constants, target(target_name), **options)
