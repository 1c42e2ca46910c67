"""What the chapter on Inductor shows of memory. Oracle: records made by hand; no torch."""

import pytest

from fuseshard.compiler.planning.records import (
    MemoryUse,
    Moment,
    Outcome,
    PlanCheck,
    ProgramUse,
    Timeline,
)
from fuseshard.show.chapters.planning import memory, verdicts
from fuseshard.show.records import Figure, Number

KIB = 1024


def use(allocations: int, kib: int) -> MemoryUse:
    return MemoryUse(allocations=allocations, allocated_bytes=2 * kib * KIB, peak_bytes=kib * KIB)


def line(*kib: int) -> Timeline:
    moments = [Moment(deed="allocate", names=("buf0",), live_bytes=kib[0] * KIB)]
    moments += [Moment(deed="call", names=("f",), live_bytes=live * KIB) for live in kib]
    return Timeline(moments=tuple(moments), use=use(len(kib), max(kib)))


def program(name: str, *allocations: int) -> ProgramUse:
    eager, fused, handed, default, pooled = (use(count, 8) for count in allocations)
    return ProgramUse(
        name=name, eager=eager, fused=fused, handed=handed, default=default, pooled=pooled
    )


def test_each_setting_is_drawn_with_its_peak_and_against_no_reuse() -> None:
    choice = memory.live_chooser({"nothing": line(4, 8), "in place": line(4, 6)})
    first, second = (record for _, record in choice.options)
    assert isinstance(first, Figure)
    assert isinstance(second, Figure)
    assert [len(figure.figure["data"]) for figure in (first, second)] == [1, 2]
    assert "the peak is 6.00 KiB, from 2 allocations" in str(second.caption)
    assert second.figure["data"][0]["y"] == [4, 6]
    heights = {tuple(figure.figure["layout"]["yaxis"]["range"]) for figure in (first, second)}
    assert len(heights) == 1  # or a reader couldn't compare them


def test_eager_mode_has_no_text_to_read() -> None:
    table = memory.setting_table({"default": use(2, 4)}, {"eager": use(3, 8), "default": use(2, 4)})
    eager, default = table.rows
    assert str(eager[-1]) == "—"
    assert isinstance(default[-1], Number)
    assert default[-1].number == 4


def test_notes_of_the_wrapper_are_found_or_fail() -> None:
    with pytest.raises(ValueError, match="anchor"):
        memory.wrapper_source("def call(args):\n    return (buf0, )")


def test_checks_and_comments_are_left_out() -> None:
    text = "a = 1\n    # why\n    assert_size_stride(a, (1,), (1,), 'input')\nb = 2"
    assert memory.without_checks(text) == "a = 1\nb = 2"


def test_the_finding_splits_what_was_saved() -> None:
    uses = [program("products", 4, 4, 3, 2, 2), program("pointwise", 9, 1, 1, 1, 1)]
    found = str(verdicts.saving_finding(uses))
    assert found == ("of 13 allocations in eager mode, fusion saves 8 and reuse another 2")
    assert [str(label) for label, _ in verdicts.program_chooser(uses).options] == [
        "allocations",
        "peak memory",
    ]


@pytest.mark.parametrize(("by_torch", "shown"), [({"b": "a"}, "same"), ({}, "0")])
def test_a_planner_that_decides_otherwise_is_shown(by_torch: dict[str, str], shown: str) -> None:
    check = PlanCheck(
        name="products",
        buffers=2,
        by_hand={"b": "a"},
        by_torch=by_torch,
        packed_bytes=8,
        pooled_bytes=8,
        bound_bytes=8,
    )
    (row,) = verdicts.plan_table([check]).rows
    assert str(row[3]) == shown


def test_outcomes_name_their_plans() -> None:
    outcomes = [
        Outcome(plan="by hand", handed_on=2, difference=0.0),
        Outcome(plan="reckless", handed_on=1, difference=1.5),
    ]
    table = verdicts.outcome_table(outcomes)
    assert [str(row[0]).split(":")[0] for row in table.rows] == ["ours", "reckless"]
