"""Memory read from a module's text. Oracle: texts with sizes worked out on paper."""

import pytest

from fuseshard.compiler.planning.plans import lifetimes, planned, pool_bytes, torch_take_overs
from fuseshard.compiler.planning.records import MemoryUse
from fuseshard.compiler.planning.timeline import timeline

HEAD = """
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, (3, 5), (5, 1), 'input')
"""

UNPLANNED = (
    HEAD
    + """\
    buf0 = empty_strided_cpu((3, 5), (5, 1), torch.float32)
    extern_kernels.mm(arg0_1, arg1_1, out=buf0)
    del arg0_1
    buf1 = empty_strided_cpu((3, 5), (5, 1), torch.float32)
    cpp_fused_0(buf0, buf1)
    del buf0
    buf2 = empty_strided_cpu((3, 5), (5, 1), torch.float32)
    extern_kernels.mm(buf1, arg1_1, out=buf2)
    del arg1_1
    del buf1
    return (buf2, )
"""
)
TABLE = 3 * 5 * 4


def test_each_table_is_live_until_its_del() -> None:
    found = timeline(UNPLANNED)
    assert found.use == MemoryUse(allocations=3, allocated_bytes=3 * TABLE, peak_bytes=2 * TABLE)
    assert found.calls == ("extern_kernels.mm", "cpp_fused_0", "extern_kernels.mm")
    assert found.moments[-1].live_bytes == TABLE  # the output


def test_a_further_name_keeps_memory_alive() -> None:
    text = UNPLANNED.replace("    del buf0\n", "    buf9 = buf0\n    del buf0\n")
    assert timeline(text).use.peak_bytes == 3 * TABLE


def test_views_and_pools_share_memory() -> None:
    text = (
        HEAD
        + """\
    pool0 = empty_strided_cpu((128, ), (1, ), torch.uint8)
    buf0 = alloc_from_pool(pool0, 0, torch.float32, (3, 5), (5, 1))
    buf1 = alloc_from_pool(pool0, 64, torch.float32, (3, 5), (5, 1))
    cpp_fused_0(arg0_1, buf0, buf1)
    buf2 = reinterpret_tensor(buf0, (5, 3), (1, 5), 0)
    del pool0, buf0, buf1
    return (buf2, )
"""
    )
    assert timeline(text).use == MemoryUse(allocations=1, allocated_bytes=128, peak_bytes=128)
    assert pool_bytes(text) == {"pool0": 128}


def test_memory_from_elsewhere_is_refused() -> None:
    text = HEAD + "    buf0 = torch.ops.aten.sort.stable(arg0_1)\n    return (buf0, )\n"
    with pytest.raises(ValueError, match="must be an empty_strided"):
        timeline(text)


def test_lives_are_counted_in_calls() -> None:
    lives = {b.name: (b.first, b.last, b.is_output) for b in lifetimes(UNPLANNED)}
    assert lives == {"buf0": (0, 1, False), "buf1": (1, 2, False), "buf2": (2, 3, True)}


def test_a_plan_moves_the_del_behind_the_heir() -> None:
    text = planned(UNPLANNED, {"buf2": "buf0"})
    assert "buf2 = reinterpret_tensor(buf0, (3, 5), (5, 1), 0); del buf0  # reuse" in text
    assert torch_take_overs(text) == {"buf2": "buf0"}
    assert timeline(text).use.allocations == 2


def test_a_reckless_plan_keeps_the_name_that_is_still_read() -> None:
    text = planned(UNPLANNED, {"buf1": "buf0"})
    assert "buf1 = reinterpret_tensor(buf0, (3, 5), (5, 1), 0)  # reuse" in text


def test_lives_of_a_module_that_reuses_are_refused() -> None:
    with pytest.raises(ValueError, match="must reuse none"):
        lifetimes(planned(UNPLANNED, {"buf2": "buf0"}))
