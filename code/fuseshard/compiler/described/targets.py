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
