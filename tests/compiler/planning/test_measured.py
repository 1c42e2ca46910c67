"""Planning with torch beside it. Oracles: the allocator's reports, torch's own decisions, eager.

Two small C++ compiles in all.
"""

from collections.abc import Iterator, Sequence

import pytest
import torch

from fuseshard.compiler.planning.by_hand import take_over
from fuseshard.compiler.planning.measured import (
    SETTINGS,
    memory_use,
    module_use,
    outcomes,
    plan_checks,
    program_uses,
    result_of,
    setting_uses,
    text_of,
)
from fuseshard.compiler.planning.plans import lifetimes, planned
from fuseshard.compiler.planning.programs import programs
from fuseshard.compiler.planning.records import Buffer, MemoryUse
from fuseshard.compiler.planning.timeline import timeline
from fuseshard.compiler.planning.written import module_text


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_the_allocator_reports_what_eager_mode_makes() -> None:
    x = torch.ones(100, 7)
    size = x.numel() * 4
    assert memory_use(lambda: (x * x) * x) == MemoryUse(
        allocations=2, allocated_bytes=2 * size, peak_bytes=2 * size
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_text_tells_what_the_allocator_sees(setting: str) -> None:
    program = programs()["gated"]
    text = text_of(program, setting)
    assert timeline(text).use == module_use(text, program)
    torch.testing.assert_close(result_of(text, program), program())


def test_our_plan_changes_no_bit_and_a_reckless_one_does() -> None:
    program = programs()["gated"]
    text = text_of(program, "nothing")
    ours = take_over(lifetimes(text))
    tried = {"by hand": ours, "reckless": {"buf1": "buf0"}}
    by_hand, reckless = outcomes(text, program, tried)
    assert (by_hand.plan, by_hand.handed_on, by_hand.difference) == ("by hand", 2, 0)
    assert (reckless.plan, reckless.handed_on) == ("reckless", 1)
    assert reckless.difference > 1e-3
    assert torch.equal(result_of(planned(text, ours), program), result_of(text, program))


def test_uses_are_those_of_eager_mode_and_of_each_module() -> None:
    program = programs()["pointwise"]
    found = setting_uses(program, {"default": text_of(program, "default")})
    assert [(way, use.allocations) for way, use in found.items()] == [("eager", 9), ("default", 1)]


def test_the_planner_decides_as_torch_does() -> None:
    checks = plan_checks(programs())
    assert [check.by_hand for check in checks] == [check.by_torch for check in checks]
    assert sum(len(check.by_hand) for check in checks) == 11
    for check in checks:
        assert check.bound_bytes <= check.packed_bytes <= check.pooled_bytes


def impatient(buffers: Sequence[Buffer]) -> dict[str, str]:
    """Hand on whatever is dead and fits, however long it has waited."""
    taken: dict[str, str] = {}
    for new in buffers:
        for old in reversed(buffers):
            dead = old.last < new.first and old.name not in taken.values()
            if dead and not old.is_output and old.num_bytes == new.num_bytes:
                taken[new.name] = old.name
                break
    return taken


def test_a_planner_that_never_asks_about_the_peak_decides_otherwise() -> None:
    """Must-fail twin: in the attention head, memory would wait through the fullest step."""
    attention = programs()["attention"]
    (check,) = plan_checks({"attention": attention})
    assert impatient(lifetimes(text_of(attention, "nothing"))) != check.by_torch == {}


def test_fusion_saves_the_gelu_and_reuse_the_products() -> None:
    small = programs()
    uses = program_uses({name: small[name] for name in ("products", "pointwise")})
    counts = [(u.eager.allocations, u.fused.allocations, u.default.allocations) for u in uses]
    assert counts == [(4, 4, 2), (9, 1, 1)]


def test_a_setting_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="must be one of"):
        text_of(programs()["gated"], "everything")


def test_a_function_without_operations_writes_nothing() -> None:
    with pytest.raises(ValueError, match="0 modules"):
        module_text(lambda x: x, torch.ones(2))


def test_an_error_in_the_function_comes_through() -> None:
    with pytest.raises(Exception, match="size"):
        module_text(lambda x: x @ x, torch.ones(2, 3))
