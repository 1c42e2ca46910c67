"""Figures of GPUs. Oracle: the data sheets as torch has them, and CUDA's programming guide."""

import pytest
import torch
from torch._inductor.analysis.device_info import lookup_device_info

from fuseshard.compiler.described.targets import GIB, KIB, TARGETS, Target, target

TORCHS_NAMES = {"h100": "NVIDIA H100", "a100": "NVIDIA A100", "mi300x": "AMD MI300X"}

# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": resident threads
# and blocks, KiB of shared memory a multiprocessor and a block.
GUIDE = {
    (8, 0): (2048, 32, 164, 163),
    (8, 9): (1536, 24, 100, 99),
    (9, 0): (2048, 32, 228, 227),
    (10, 0): (2048, 32, 228, 227),
}


@pytest.mark.parametrize("key", TORCHS_NAMES)
def test_peaks_are_those_that_torch_took_from_data_sheets(key: str) -> None:
    known, ours = lookup_device_info(TORCHS_NAMES[key]), TARGETS[key]
    assert known is not None
    assert ours.memory_bytes_per_s == known.dram_bw_gbs * 1e9
    assert ours.memory_bytes == known.dram_gb * GIB
    # H100's is with sparsity there. A100's is 312.5, which the data sheet rounds down.
    sparse = 2 if key == "h100" else 1
    bf16_flop_per_s = known.tops[torch.bfloat16] * 1e12 / sparse
    assert ours.bf16_flop_per_s == pytest.approx(bf16_flop_per_s, rel=2e-3)


@pytest.mark.parametrize("gpu", [t for t in TARGETS.values() if t.vendor == "nvidia"])
def test_limits_are_those_of_the_compute_capability(gpu: Target) -> None:
    threads, blocks, shared, shared_per_block = GUIDE[gpu.capability]
    assert gpu.max_threads_per_multiprocessor == threads
    assert gpu.max_blocks_per_multiprocessor == blocks
    assert gpu.shared_bytes_per_multiprocessor == shared * KIB
    assert gpu.shared_bytes_per_block_optin == shared_per_block * KIB
    assert gpu.architecture == "".join(map(str, gpu.capability))


def test_an_h200_is_an_h100_with_more_memory() -> None:
    h200, h100 = TARGETS["h200"], TARGETS["h100"]
    differing = {name for name in vars(h200) if getattr(h200, name) != getattr(h100, name)}
    assert differing == {"key", "name", "l2_bytes", "memory_bytes", "memory_bytes_per_s", "source"}


def test_every_target_says_where_its_figures_stand() -> None:
    assert all(gpu.source.startswith("https://") for gpu in TARGETS.values())
    assert all(key == gpu.key for key, gpu in TARGETS.items())
    assert [key for key, gpu in TARGETS.items() if gpu.hip] == ["mi300x"]


def test_an_unknown_target_is_refused() -> None:
    assert target("b200").name == "NVIDIA B200"
    with pytest.raises(ValueError, match=r"name is 'v100', must be one of \['h200', "):
        target("v100")
