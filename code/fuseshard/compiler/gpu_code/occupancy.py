"""How many warps of a kernel fit on one multiprocessor at a time. Torch-free.

A block stays on its multiprocessor until it ends, and takes registers, shared memory, room for
its threads and a place among the blocks. Whatever runs out first is the limit. The more warps
are there, the more there are to run while others wait for memory; that more of them is faster
is not said.
"""

from __future__ import annotations

from typing import Literal

from fuseshard.compiler.described.targets import Target

Limit = Literal["threads", "blocks", "registers", "shared memory"]

SCHEDULERS = 4
"""parts of a multiprocessor with registers of their own: NVIDIA's sub-partitions, AMD's SIMDs"""

# NVIDIA, compute capability 8.0 to 12.1. Source: cuda_occupancy.h of CUDA 13, NVIDIA's own
# occupancy calculator, and the table "Technical Specifications per Compute Capability" of the
# CUDA Programming Guide.
REGISTER_GRANULE = 256
"""registers; a warp gets a multiple of this"""
MAX_REGISTERS = 256
"""registers of a thread, with the one that always reads as zero"""
SHARED_GRANULE = 128
"""bytes; a block gets a multiple of this"""
RESERVED_SHARED_BYTES = 1024
"""bytes of each block's shared memory that CUDA keeps for itself"""

# AMD, CDNA 3. Source: LLVM, lib/Target/AMDGPU/Utils/AMDGPUBaseInfo.cpp (getTotalNumVGPRs,
# getVGPRAllocGranule, getLdsDwGranularity, for gfx942), and ROCm Compute Profiler, "Pipeline
# descriptions" (8 waves and 128 KiB of vector registers a SIMD).
VECTOR_REGISTERS = 512
"""vector registers of a SIMD, each 64 lanes wide, shared by its waves"""
VECTOR_GRANULE = 8
"""vector registers; a wave gets a multiple of this, accumulation registers included"""
LDS_GRANULE = 512
"""bytes; a workgroup gets a multiple of this"""


def occupancy(
    target: Target, *, registers: int, shared_bytes: int, num_warps: int
) -> tuple[float, Limit]:
    """Find which share of a multiprocessor's places for warps a kernel can fill.

    It is an upper bound, reached while there are enough blocks. Left out on NVIDIA: a driver that
    gives the L1 cache more of the memory that it shares with blocks, named barriers, clusters,
    and Blackwell's tensor memory. Left out on AMD: scalar registers (above 96 a wave, 7 waves
    instead of 8 fit on a SIMD) and scratch memory.

    Args:
        target: the GPU.
        registers: 32-bit registers a thread; on AMD vector registers, accumulation ones included.
        shared_bytes: bytes that a block asks for.
        num_warps: warps of a block; waves on AMD.

    Returns:
        Resident warps over the most that fit, 0 for a kernel that can't start; and what limits
        them. Of several the first of "threads", "blocks", "registers", "shared memory".

    Raises:
        ValueError: fewer than one warp, or a negative size.
    """
    limits = block_limits(
        target, registers=registers, shared_bytes=shared_bytes, num_warps=num_warps
    )
    limit = min(limits, key=limits.__getitem__)
    places = target.max_threads_per_multiprocessor // target.warp_size
    return limits[limit] * num_warps / places, limit


def block_limits(
    target: Target, *, registers: int, shared_bytes: int, num_warps: int
) -> dict[Limit, int]:
    """Count how many blocks each resource has room for, as if the others were endless.

    Args:
        target: the GPU.
        registers: 32-bit registers a thread; on AMD vector registers, accumulation ones included.
        shared_bytes: bytes that a block asks for.
        num_warps: warps of a block; waves on AMD.

    Raises:
        ValueError: fewer than one warp, or a negative size.
    """
    if num_warps < 1 or min(registers, shared_bytes) < 0:
        raise ValueError(
            f"block_limits: got {num_warps} warps, {registers} registers and {shared_bytes} bytes "
            "of shared memory, must be at least 1, 0 and 0; pass what the compiler reports."
        )
    is_amd = target.vendor == "amd"
    warps = _amd_warps(registers) if is_amd else _nvidia_warps(target, registers)
    threads = num_warps * target.warp_size
    starts = threads <= target.max_threads_per_block
    return {
        "threads": target.max_threads_per_multiprocessor // threads if starts else 0,
        "blocks": target.max_blocks_per_multiprocessor,
        "registers": warps // num_warps,
        "shared memory": _blocks_by_shared(target, shared_bytes),
    }


def _nvidia_warps(target: Target, registers: int) -> int:
    """Count the warps that NVIDIA's registers suffice for; each scheduler rounds down."""
    if registers > MAX_REGISTERS:
        return 0
    a_warp = max(_rounded_up(registers * target.warp_size, REGISTER_GRANULE), REGISTER_GRANULE)
    return SCHEDULERS * (target.registers_per_multiprocessor // SCHEDULERS // a_warp)


def _amd_warps(registers: int) -> int:
    """Count the waves that AMD's vector registers suffice for."""
    a_wave = max(_rounded_up(registers, VECTOR_GRANULE), VECTOR_GRANULE)
    return SCHEDULERS * (VECTOR_REGISTERS // a_wave)


def _blocks_by_shared(target: Target, shared_bytes: int) -> int:
    if shared_bytes > target.shared_bytes_per_block_optin:
        return 0
    if target.vendor == "amd":
        a_block = max(_rounded_up(shared_bytes, LDS_GRANULE), 1)
    else:
        a_block = _rounded_up(shared_bytes + RESERVED_SHARED_BYTES, SHARED_GRANULE)
    return target.shared_bytes_per_multiprocessor // a_block


def _rounded_up(count: int, granule: int) -> int:
    return -(-count // granule) * granule
