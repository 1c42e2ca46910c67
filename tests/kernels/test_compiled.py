"""What the compiler makes of the default plans. Oracles: bytes counted on paper, ptxas's report.

Compiled for GPUs that aren't there, in a child process of about 20 s.
"""

from collections.abc import Callable
from typing import Any

import pytest

from fuseshard.compiler.described.targets import TARGETS

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2}
LATENCY_S = 1e-6
"""of a load from memory while the memory is busy, rounded up"""


@pytest.fixture(scope="module")
def found(compiled: Callable[[str], Any]) -> Any:
    return compiled("compiled_cases")


def weights(name: str, row: dict[str, Any]) -> int:
    """Elements of the weight that a program reads."""
    return 0 if "softmax" in name else 1 << (row["columns"] - 1).bit_length()


def storage_bytes(name: str) -> int:
    return BYTES[name.split()[1]]


def bytes_under_way() -> float:
    """Of one of an H200's multiprocessors, where memory is all that is waited for."""
    h200 = TARGETS["h200"]
    return h200.memory_bytes_per_s / h200.num_multiprocessors * LATENCY_S


def resident_blocks(row: dict[str, Any]) -> float:
    """Blocks that fit on a multiprocessor at a time."""
    return row["occupancy"] * TARGETS["h200"].max_threads_per_multiprocessor / row["threads"]


def test_rows_are_read_once_and_128_bits_at_a_time(found: Any) -> None:
    assert len(found["rows"]) == 2 * 7
    for name, row in found["rows"].items():
        elements = row["tile"] + weights(name, row)
        loads = elements * storage_bytes(name) // (16 * row["threads"])
        assert row["load_bits"] == [128] * loads, name
        assert row["narrow_ptx"] == [], name
        assert row["wide_ptx"] == row["loads"], name


def test_rows_that_begin_anywhere_are_read_one_at_a_time(found: Any) -> None:
    """Must-fail twin of the above."""
    for name, row in found["unaligned"].items():
        assert set(row["load_bits"]) == {32}, name
        assert row["narrow_ptx"] == ["global.b32"], name


def test_nothing_spills_at_the_sizes_that_are_timed(found: Any) -> None:
    groups = ("rows", "backward", "tiles", "float32")
    for name, row in [item for group in groups for item in found[group].items()]:
        assert (row["spills"], row["stack_bytes"]) == (0, 0), name


def test_more_is_under_way_than_the_memory_can_deliver(found: Any) -> None:
    """Little's law: bytes under way = bytes a second x latency, of which reads are a half.

    A block that computes has nothing under way, so there have to be several times as many.
    """
    needed = bytes_under_way() / 2
    for name, row in found["rows"].items():
        assert resident_blocks(row) * row["tile"] * storage_bytes(name) > 3 * needed, name


def test_backward_computes_while_the_next_rows_come(found: Any) -> None:
    """One block may be alone on its multiprocessor: it has to do both at a time."""
    needed = bytes_under_way() * 2 / 3
    for name, row in found["backward"].items():
        # x and dy wait in shared memory, two rows and more a block.
        waiting = 2 * row["tile"] * storage_bytes(name)
        assert row["shared_bytes"] >= waiting, name
        assert resident_blocks(row) * waiting > needed, name
        # Both are loaded before the loop and within it, the weights once.
        loads = 2 * waiting + weights(name, row) * storage_bytes(name)
        assert row["load_bits"] == [128] * (loads // (16 * row["threads"])), name


def test_the_yardstick_does_nothing_but_copy(found: Any) -> None:
    copy = found["copy"]
    assert (copy["load_bits"], copy["stores"], copy["spills"]) == ([128] * 4, 4, 0)
    assert (copy["shuffles"], copy["barriers"], copy["shared_bytes"]) == (0, 0, 0)
    # Positive control: a row's sum takes all three.
    softmax = found["rows"]["softmax_kernel bf16 8192"]
    assert min(softmax["shuffles"], softmax["barriers"], softmax["shared_bytes"]) > 0


def test_tensor_cores_multiply_16_bit_types_and_no_others(found: Any) -> None:
    assert all(row["tensor_core_ops"] > 0 for row in found["tiles"].values())
    assert all(row["tensor_core_ops"] == 0 for row in found["float32"].values())


def test_tiles_are_loaded_128_bits_at_a_time(found: Any) -> None:
    for name in ("attention 64", "attention 128"):
        assert set(found["tiles"][name]["load_bits"]) == {128}, name
    for name in ("cross entropy", "gradient"):
        # The others: one target and one sum of exp a row.
        widths = found["tiles"][name]["load_bits"]
        assert widths.count(128) == 24, name
        assert len(widths) - 24 <= 4, name


def test_every_kernel_fits_on_other_gpus(found: Any) -> None:
    assert len(found["others"]) == 5
    for name, row in found["others"].items():
        assert row["occupancy"] > 0, name
        assert row["spills"] == 0, name
