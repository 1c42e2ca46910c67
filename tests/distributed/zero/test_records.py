"""Records of sharded training. Oracle: runs of moments counted by hand."""

from fuseshard.distributed.zero.records import ModelStates, Moment, Residency


def residency(*whole: str) -> Residency:
    moments = tuple(
        Moment(
            phase="forward",
            layer=str(index),
            whole=tuple(units),
            gathers=index,
            gathered_bytes=10 * len(units),
        )
        for index, units in enumerate(whole)
    )
    return Residency(units=("a", "b"), moments=moments)


def test_runs_join_neighbouring_moments() -> None:
    found = residency("a", "ab", "b", "", "a")
    assert found.runs("a") == [(0, 2), (4, 5)]
    assert found.runs("b") == [(1, 3)]
    assert found.most_bytes == 20


def test_a_unit_that_was_never_whole_has_no_runs() -> None:
    assert residency("a", "a").runs("b") == []


def test_states_add_up() -> None:
    assert ModelStates(parameters=1, gradients=2, optimizer_states=4).total == 7
