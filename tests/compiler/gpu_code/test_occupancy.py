"""Theoretical occupancy. Oracles: NVIDIA's own calculator, and figures worked out by hand.

The calculator is a header without any library (cuda_occupancy.h) that Triton's wheel brings along.
One C++ compile of a second.
"""

import dataclasses
import importlib.util
import itertools
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from fuseshard.compiler.described.targets import TARGETS, Target
from fuseshard.compiler.gpu_code.occupancy import block_limits, occupancy
from fuseshard.measure.provenance import compiler_command

NVIDIA = [key for key, target in TARGETS.items() if target.vendor == "nvidia"]
KIB = 1024
WARPS = (1, 2, 3, 4, 5, 8, 16, 32, 33)
SHARED = (0, 1, 128, 129, 12 * KIB, 47 * KIB + 1, 99 * KIB, 100 * KIB, 227 * KIB, 228 * KIB)
CASES = [
    *itertools.product(range(1, 258), WARPS, [0]),
    *itertools.product([24, 128], WARPS, SHARED),
    *itertools.product([24], [1, 8], range(0, 230 * KIB, 509)),
]
"""registers, warps, bytes of shared memory"""

PROGRAM = r"""
#include <cstdio>
#include <cstdlib>
#include "cuda_occupancy.h"
int main(int, char **values) {
    auto number = [&](int i) { return std::atoi(values[i]); };
    cudaOccDeviceProp gpu;
    gpu.computeMajor = number(1);
    gpu.computeMinor = number(2);
    gpu.maxThreadsPerBlock = number(3);
    gpu.maxThreadsPerMultiprocessor = number(4);
    gpu.regsPerBlock = gpu.regsPerMultiprocessor = number(5);
    gpu.warpSize = 32;
    gpu.sharedMemPerBlock = 48 * 1024;
    gpu.sharedMemPerMultiprocessor = number(6);
    gpu.sharedMemPerBlockOptin = number(7);
    gpu.reservedSharedMemPerBlock = 1024;
    gpu.numSms = 1;
    cudaOccDeviceState state;
    state.carveoutConfig = SHAREDMEM_CARVEOUT_MAX_SHARED;
    int registers, warps, shared;
    while (std::scanf("%d %d %d", &registers, &warps, &shared) == 3) {
        cudaOccFuncAttributes kernel;
        kernel.maxThreadsPerBlock = gpu.maxThreadsPerBlock;
        kernel.numRegs = registers;
        kernel.maxDynamicSharedSizeBytes = shared;
        kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
        cudaOccResult result;
        int error = cudaOccMaxActiveBlocksPerMultiprocessor(
            &result, &gpu, &kernel, &state, 32 * warps, shared);
        std::printf("%d\n", error ? -error : result.activeBlocksPerMultiprocessor);
    }
}
"""


@pytest.fixture(scope="module")
def calculator(tmp_path_factory: pytest.TempPathFactory) -> Path:
    triton = importlib.util.find_spec("triton")  # finds it without loading it
    assert triton is not None and triton.submodule_search_locations
    headers = Path(triton.submodule_search_locations[0]) / "backends/nvidia/include"
    folder = tmp_path_factory.mktemp("calculator")
    (folder / "calculator.cpp").write_text(PROGRAM)
    command = [
        compiler_command(),
        "-w",
        f"-I{headers}",
        "calculator.cpp",
        "-o",
        "calculator",
    ]
    subprocess.run(command, cwd=folder, check=True, timeout=60)
    return folder / "calculator"


def blocks_by_calculator(
    calculator: Path, target: Target, cases: Iterable[tuple[int, ...]]
) -> list[int]:
    figures = (
        *target.capability,
        target.max_threads_per_block,
        target.max_threads_per_multiprocessor,
        target.registers_per_multiprocessor,
        target.shared_bytes_per_multiprocessor,
        target.shared_bytes_per_block_optin,
    )
    lines = "\n".join(" ".join(map(str, case)) for case in cases)
    done = subprocess.run(
        [str(calculator), *map(str, figures)],
        input=lines,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [int(word) for word in done.stdout.split()]


def blocks(target: Target, registers: int, num_warps: int, shared_bytes: int) -> int:
    limits = block_limits(
        target, registers=registers, num_warps=num_warps, shared_bytes=shared_bytes
    )
    return min(limits.values())


@pytest.mark.parametrize("key", NVIDIA)
def test_nvidias_calculator_agrees_everywhere(calculator: Path, key: str) -> None:
    target = TARGETS[key]
    expected = blocks_by_calculator(calculator, target, CASES)
    assert len(set(expected)) > 10
    assert [blocks(target, *case) for case in CASES] == expected
    # Must-fail twins: a granule less of either memory shows.
    for name, granule in (("registers", 1024), ("shared_bytes", 128)):
        field = f"{name}_per_multiprocessor"
        other = dataclasses.replace(target, **{field: getattr(target, field) - granule})
        assert [blocks(other, *case) for case in CASES] != expected


@pytest.mark.parametrize(
    ("key", "registers", "shared_bytes", "num_warps", "expected"),
    [
        # 65536 registers in 4 parts of 16384; 64 * 32 = 2048 a warp, so 8 warps a part.
        ("a100", 64, 0, 8, (32 / 64, "registers")),
        # 37 * 32 = 1184, given 1280: 12 warps a part, 48 in all. Undivided, 51 would fit.
        ("h200", 37, 0, 2, (48 / 64, "registers")),
        ("h200", 32, 0, 8, (1.0, "threads")),
        ("h200", 57, 0, 1, (32 / 64, "blocks")),
        ("rtx4090", 62, 0, 1, (24 / 48, "blocks")),
        ("rtx4090", 40, 0, 4, (1.0, "threads")),
        # 228 KiB over 12 + 1 KiB is 17; without the reserved one it would be 19.
        ("h200", 8, 12 * KIB, 1, (17 / 64, "shared memory")),
        ("b200", 8, 12 * KIB + 1, 1, (17 / 64, "shared memory")),
        # 227 KiB + 1 KiB is all there is; one byte more doesn't start.
        ("b200", 128, 227 * KIB, 16, (16 / 64, "registers")),
        ("b200", 128, 227 * KIB + 1, 16, (0.0, "shared memory")),
        # 128 registers for 32 warps are twice what there is.
        ("h200", 128, 0, 32, (0.0, "registers")),
        ("h200", 16, 0, 33, (0.0, "threads")),
        # 512 registers a SIMD in granules of 8: 64 for 8 waves, 72 for 7.
        ("mi300x", 64, 0, 4, (1.0, "threads")),
        ("mi300x", 65, 0, 4, (28 / 32, "registers")),
        # Of 28 places a block of 8 waves can use 24.
        ("mi300x", 70, 0, 8, (24 / 32, "registers")),
        ("mi300x", 378, 0, 1, (4 / 32, "registers")),
        ("mi300x", 513, 0, 1, (0.0, "registers")),
        ("mi300x", 70, 32 * KIB, 8, (16 / 32, "shared memory")),
        # One byte more takes 512 bytes more, and two blocks no longer fit into 64 KiB.
        ("mi300x", 70, 32 * KIB + 1, 8, (8 / 32, "shared memory")),
        ("mi300x", 16, 64 * KIB + 1, 4, (0.0, "shared memory")),
        ("mi300x", 16, 0, 17, (0.0, "threads")),
    ],
)
def test_figures_by_hand(
    key: str, registers: int, shared_bytes: int, num_warps: int, expected: tuple[float, str]
) -> None:
    found = occupancy(
        TARGETS[key], registers=registers, shared_bytes=shared_bytes, num_warps=num_warps
    )
    assert found == expected


@pytest.mark.parametrize("key", TARGETS)
def test_asking_for_more_never_gives_more(key: str) -> None:
    target = TARGETS[key]
    for num_warps in (1, 4, 7):
        by_registers = [blocks(target, r, num_warps, 0) for r in range(600)]
        by_shared = [blocks(target, 16, num_warps, KIB * s) for s in range(230)]
        for falling in (by_registers, by_shared):
            assert falling == sorted(falling, reverse=True)
            assert (falling[0] > 1, falling[-1]) == (True, 0)


@pytest.mark.parametrize("key", TARGETS)
def test_a_share_stays_between_nothing_and_all(key: str) -> None:
    shares = [
        occupancy(TARGETS[key], registers=r, shared_bytes=s, num_warps=w)
        for r, w, s in itertools.product(range(0, 600, 41), WARPS, SHARED)
    ]
    assert min(shares)[0] == 0.0
    assert max(shares)[0] == 1.0
    assert {limit for _, limit in shares} >= {"threads", "registers", "shared memory"}


@pytest.mark.parametrize(
    ("registers", "shared_bytes", "num_warps"), [(-1, 0, 4), (16, -1, 4), (16, 0, 0)]
)
def test_impossible_sizes_are_refused(registers: int, shared_bytes: int, num_warps: int) -> None:
    with pytest.raises(ValueError, match="must be at least 1, 0 and 0"):
        occupancy(
            TARGETS["h200"], registers=registers, shared_bytes=shared_bytes, num_warps=num_warps
        )
