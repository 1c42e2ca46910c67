"""What the switches do. Oracle: eager mode bit for bit, and the code that was written."""

import pytest
import torch

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.ledger import switches
from fuseshard.compiler.ledger.workloads import norm_hardswish

SIZE = 4099
"""no multiple of any vector width, and enough for two threads"""


def data() -> torch.Tensor:
    return torch.randn(SIZE, generator=torch.Generator().manual_seed(7))


@pytest.fixture(scope="module")
def variants() -> dict[tuple[str, ...], switches.Variant]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    offs = ((), ("scheduling",), ("inlining",), ("fusion",), ("vectors", "fusion"))
    made = {off: switches.variant(norm_hardswish, data(), off=off) for off in offs}
    torch.set_num_threads(threads)
    return made


def facts(variants, *off: str):
    return switches.written((), variants[off].source)


def test_either_fusion_alone_leaves_one_loop(variants) -> None:
    assert facts(variants).loops == 1
    assert facts(variants, "scheduling").loops == 1
    assert facts(variants, "inlining").loops == 1


def test_without_both_there_is_a_loop_an_operation(variants) -> None:
    """Positive control of the test before: the switch can be off."""
    assert facts(variants, "fusion").loops > 7
    assert facts(variants, "fusion").buffer_bytes > facts(variants).buffer_bytes


def test_vectors_are_mentioned_only_where_they_are_on(variants) -> None:
    assert facts(variants).vectors > 0
    assert facts(variants, "vectors", "fusion").vectors == 0


def test_every_loop_can_be_shared_by_threads(variants) -> None:
    for one in variants.values():
        found = switches.written((), one.source)
        assert found.parallel_loops == found.loops


def test_every_variant_computes_what_eager_mode_does(variants) -> None:
    x = data()
    expected = norm_hardswish(x)
    for one in variants.values():
        torch.testing.assert_close(one.alone(x), expected, rtol=0, atol=switches.ALLOWED_ERROR)


def test_a_variant_is_compiled_once_and_stays_as_it_was(variants) -> None:
    """Or a call after the options are back would silently compile the default."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    assert graphs_captured(lambda: [one.compiled(data()) for one in variants.values()]) == 0
    torch.set_num_threads(threads)


def test_a_different_result_is_not_timed() -> None:
    x = data()
    wrong = {"eager": lambda: norm_hardswish(x), "none": lambda: norm_hardswish(x) + 1e-3}
    with pytest.raises(ArithmeticError, match="none: the result is off"):
        switches._require_equal(wrong)


def test_another_name_is_no_switch() -> None:
    with pytest.raises(ValueError, match="must be among"):
        switches.variant(norm_hardswish, data(), off=("call",))
