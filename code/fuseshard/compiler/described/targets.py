"""The GPUs that code can be written for without having one, as plain data. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Vendor = Literal["nvidia", "amd"]


@dataclass(frozen=True, kw_only=True)
class Target:
    """What Inductor, Triton and an occupancy calculation ask of a GPU."""

    key: str
    """its name in this book's calls, such as "h200\""""
    name: str
    """as torch.cuda.get_device_name prints it"""
    vendor: Vendor
    architecture: str
    """as Triton names it: "90" for compute capability 9.0, "gfx942" for CDNA 3"""
    capability: tuple[int, int]
    """compute capability; for AMD what torch reports in its place"""
    num_multiprocessors: int
    """streaming multiprocessors, or compute units"""
    warp_size: int
    """threads that run in step: 32, or 64 on CDNA"""
    max_threads_per_multiprocessor: int
    max_blocks_per_multiprocessor: int
    max_threads_per_block: int = 1024
    registers_per_multiprocessor: int = 65536
    """32-bit registers"""
    shared_bytes_per_multiprocessor: int
    shared_bytes_per_block: int
    """that a block gets without asking"""
    shared_bytes_per_block_optin: int
    """that a block can ask for"""
    l2_bytes: int
    memory_bytes: int
    memory_bytes_per_s: float
    """peak of the data sheet"""
    fp32_flop_per_s: float
    """peak of the data sheet, without tensor cores"""
    bf16_flop_per_s: float
    """peak of the data sheet, with tensor cores and without sparsity"""
    source: str
    """where the figures of the data sheet stand, a URL"""
    hip: str | None = None
    """ROCm's version as torch.version.hip gives it; None on NVIDIA"""


def _nvidia(key: str, name: str, capability: tuple[int, int], **figures: object) -> Target:
    """Fill in what all of NVIDIA's targets share."""
    major, minor = capability
    return Target(
        key=key,
        name=name,
        vendor="nvidia",
        architecture=f"{major}{minor}",
        capability=capability,
        warp_size=32,
        shared_bytes_per_block=48 * 1024,
        **figures,  # type: ignore[arg-type] # checked by the dataclass's own signature
    )


KIB = 1024
MIB = 1024 * KIB
GIB = 1024 * MIB

TARGETS = {
    target.key: target
    for target in (
        _nvidia(
            "h200",
            "NVIDIA H200",
            (9, 0),
            num_multiprocessors=132,
            max_threads_per_multiprocessor=2048,
            max_blocks_per_multiprocessor=32,
            shared_bytes_per_multiprocessor=228 * KIB,
            shared_bytes_per_block_optin=227 * KIB,
            l2_bytes=60 * MIB,
            memory_bytes=141 * GIB,
            memory_bytes_per_s=4.8e12,
            fp32_flop_per_s=67e12,
            bf16_flop_per_s=989e12,
            source="https://www.nvidia.com/en-us/data-center/h200/",
        ),
        _nvidia(
            "h100",
            "NVIDIA H100 80GB HBM3",
            (9, 0),
            num_multiprocessors=132,
            max_threads_per_multiprocessor=2048,
            max_blocks_per_multiprocessor=32,
            shared_bytes_per_multiprocessor=228 * KIB,
            shared_bytes_per_block_optin=227 * KIB,
            l2_bytes=50 * MIB,
            memory_bytes=80 * GIB,
            memory_bytes_per_s=3.35e12,
            fp32_flop_per_s=67e12,
            bf16_flop_per_s=989e12,
            source="https://www.nvidia.com/en-us/data-center/h100/",
        ),
        _nvidia(
            "a100",
            "NVIDIA A100-SXM4-80GB",
            (8, 0),
            num_multiprocessors=108,
            max_threads_per_multiprocessor=2048,
            max_blocks_per_multiprocessor=32,
            shared_bytes_per_multiprocessor=164 * KIB,
            shared_bytes_per_block_optin=163 * KIB,
            l2_bytes=40 * MIB,
            memory_bytes=80 * GIB,
            memory_bytes_per_s=2.039e12,
            fp32_flop_per_s=19.5e12,
            bf16_flop_per_s=312e12,
            source="https://www.nvidia.com/en-us/data-center/a100/",
        ),
        _nvidia(
            "rtx4090",
            "NVIDIA GeForce RTX 4090",
            (8, 9),
            num_multiprocessors=128,
            max_threads_per_multiprocessor=1536,
            max_blocks_per_multiprocessor=24,
            shared_bytes_per_multiprocessor=100 * KIB,
            shared_bytes_per_block_optin=99 * KIB,
            l2_bytes=72 * MIB,
            memory_bytes=24 * GIB,
            memory_bytes_per_s=1.008e12,
            fp32_flop_per_s=82.6e12,
            bf16_flop_per_s=165.2e12,
            source="https://images.nvidia.com/aem-dam/Solutions/Data-Center/l4/nvidia-ada-gpu-architecture-whitepaper-v2.1.pdf",
        ),
        _nvidia(
            "b200",
            "NVIDIA B200",
            (10, 0),
            num_multiprocessors=148,
            max_threads_per_multiprocessor=2048,
            max_blocks_per_multiprocessor=32,
            shared_bytes_per_multiprocessor=228 * KIB,
            shared_bytes_per_block_optin=227 * KIB,
            l2_bytes=126 * MIB,
            memory_bytes=180 * GIB,
            memory_bytes_per_s=8e12,
            fp32_flop_per_s=80e12,
            bf16_flop_per_s=2250e12,
            source="https://www.nvidia.com/en-us/data-center/hgx/",
        ),
        Target(
            key="mi300x",
            name="AMD Instinct MI300X",
            vendor="amd",
            architecture="gfx942",
            capability=(9, 4),
            num_multiprocessors=304,
            warp_size=64,
            max_threads_per_multiprocessor=2048,
            max_blocks_per_multiprocessor=32,
            shared_bytes_per_multiprocessor=64 * KIB,
            shared_bytes_per_block=64 * KIB,
            shared_bytes_per_block_optin=64 * KIB,
            l2_bytes=4 * MIB,
            memory_bytes=192 * GIB,
            memory_bytes_per_s=5.3e12,
            fp32_flop_per_s=163.4e12,
            bf16_flop_per_s=1307.4e12,
            source="https://www.amd.com/en/products/accelerators/instinct/mi300/mi300x.html",
            hip="6.4.43482",
        ),
    )
}


def target(name: str) -> Target:
    """Find a target by its key.

    Raises:
        ValueError: no target has that key.
    """
    if name not in TARGETS:
        raise ValueError(f"target: name is {name!r}, must be one of {list(TARGETS)}.")
    return TARGETS[name]
