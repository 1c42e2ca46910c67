"""The GPUs that code can be written for without having one, as plain data. Torch-free.

An unknown GPU is an error: no figure is guessed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
"""data sheets write GB of memory and mean this: an H200 of "141 GB" offers 139.8 GiB"""

# What each card reports to torch (multiprocessors, threads, registers, L2 cache) is as in public
# logs of torch on it. Shared memory and blocks are those of the compute capability, in CUDA's
# programming guide. Memory and peaks are the data sheet's.
_H200 = _nvidia(
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
    bf16_flop_per_s=1979e12 / 2,  # the data sheet's with sparsity, halved
    source="https://www.nvidia.com/en-us/data-center/h200/",
)
# The same chip with less of everything around it.
_H100 = replace(
    _H200,
    key="h100",
    name="NVIDIA H100 80GB HBM3",
    l2_bytes=50 * MIB,
    memory_bytes=80 * GIB,
    memory_bytes_per_s=3.35e12,
    source="https://www.nvidia.com/en-us/data-center/h100/",
)
_A100 = _nvidia(
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
    source="https://www.nvidia.com/content/dam/en-zz/Solutions/Data-Center/a100/pdf/"
    "nvidia-a100-datasheet-us-nvidia-1758950-r4-web.pdf",
)
_RTX4090 = _nvidia(
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
    bf16_flop_per_s=165.2e12,  # sums kept in float32
    source="https://images.nvidia.com/aem-dam/Solutions/geforce/ada/"
    "nvidia-ada-gpu-architecture.pdf",
)
_B200 = _nvidia(
    "b200",
    "NVIDIA B200",
    (10, 0),
    num_multiprocessors=148,
    max_threads_per_multiprocessor=2048,
    max_blocks_per_multiprocessor=32,
    shared_bytes_per_multiprocessor=228 * KIB,
    shared_bytes_per_block_optin=227 * KIB,
    l2_bytes=126 * MIB,
    memory_bytes=180 * GIB,  # as built into HGX and DGX B200; the brief says "up to 192 GB"
    memory_bytes_per_s=8e12,
    fp32_flop_per_s=80e12,
    bf16_flop_per_s=2250e12,
    source="https://nvdam.widen.net/s/xqt56dflgh/nvidia-blackwell-architecture-technical-brief",
)
_MI300X = Target(
    key="mi300x",
    name="AMD Instinct MI300X",
    vendor="amd",
    architecture="gfx942",
    capability=(9, 4),
    num_multiprocessors=304,
    warp_size=64,
    max_threads_per_multiprocessor=2048,
    max_blocks_per_multiprocessor=32,  # of one wavefront each; of larger ones LLVM counts on 16
    registers_per_multiprocessor=512 * KIB // 4,
    shared_bytes_per_multiprocessor=64 * KIB,
    shared_bytes_per_block=64 * KIB,
    shared_bytes_per_block_optin=64 * KIB,
    l2_bytes=4 * MIB,  # of one of its eight dies
    memory_bytes=192 * GIB,
    memory_bytes_per_s=5.3e12,
    fp32_flop_per_s=163.4e12,
    bf16_flop_per_s=1307.4e12,
    source="https://www.amd.com/content/dam/amd/en/documents/instinct-tech-docs/data-sheets/"
    "amd-instinct-mi300x-data-sheet.pdf",
    hip="6.4.43482",
)
TARGETS = {each.key: each for each in (_H200, _H100, _A100, _RTX4090, _B200, _MI300X)}
"""key -> target"""


def target(name: str) -> Target:
    """Find a target by its key, such as "h200".

    Raises:
        ValueError: no target has that key.
    """
    if name not in TARGETS:
        raise ValueError(
            f"target: name is {name!r}, must be one of {list(TARGETS)} (nothing else is known well "
            "enough to write code for it); use one of those."
        )
    return TARGETS[name]
