"""What stands where no recording is (pure data). Oracle: the outcomes that the test makes."""

from fuseshard.measure.experiments import Outcome
from fuseshard.show.recorded import record_it


def outcome(failure: str | None) -> Outcome[object]:
    return Outcome(
        experiment_id="modes.x-gpu",
        state="not recorded yet",
        note="",
        available=None,
        failure=failure,
    )


def test_what_nobody_tried_and_what_failed_read_differently() -> None:
    untried = str(record_it(outcome(None)))
    failed = str(record_it(outcome("NVIDIA H200: OutOfMemoryError: 150 GiB")))
    assert "has not been recorded yet" in untried
    assert "failed (NVIDIA H200: OutOfMemoryError: 150 GiB)" in failed
    assert "failed" not in untried
    assert "make record" in untried and "make record" in failed
