"""Layer 1: what the chapter on data parallelism draws, from records made by hand.

Oracle: the numbers that went in; each caption's claim is tested on data that contradict it too.
"""

from dataclasses import dataclass

import pytest

from fuseshard.distributed.ddp_timeline import BackwardTimeline, BucketReduced, GradientReady
from fuseshard.measure.provenance import environment
from fuseshard.show.chapters.backward_timeline import bucket_timeline
from fuseshard.show.chapters.data_parallel import (
    difference_table,
    sent_bytes_figure,
    sent_bytes_table,
    unused_parameters_message,
)
from fuseshard.show.records import Number

MESSAGE = (
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a "
    "new one. This error indicates that your module has parameters that were not used in "
    "producing loss.\nParameter indices which did not receive grad for rank 0: 2 3\n"
)


@dataclass(frozen=True)
class Apart:
    """A difference of which only the number of epsilons matters."""

    in_epsilons: float
    absolute: float = 5.6e-17

    def is_rounding(self, num_terms: int) -> bool:
        return self.in_epsilons <= num_terms


def ring(num_bytes: int, world_size: int) -> float:
    return 2 * (world_size - 1) * num_bytes / world_size


def timeline(step: int, num_buckets: int) -> BackwardTimeline:
    """Four gradients, one a millisecond, dealt to buckets in order."""
    gradients = tuple(
        GradientReady(name=f"layer.{i}", num_bytes=1024 * (i + 1), ready_s=1e-3 * (i + 1))
        for i in range(4)
    )
    size = 4 // num_buckets
    buckets = tuple(
        BucketReduced(
            index=index,
            names=tuple(g.name for g in gradients[index * size : (index + 1) * size]),
            num_bytes=2048,
            launched_s=gradients[(index + 1) * size - 1].ready_s,
            reduced_s=gradients[(index + 1) * size - 1].ready_s + 5e-4,
        )
        for index in range(num_buckets)
    )
    return BackwardTimeline(
        rank=0,
        step=step,
        bucket_cap_bytes=2048,
        gradients=gradients,
        buckets=buckets,
        backward_s=5e-3,
    )


def verdicts(*epsilons: float) -> list[str]:
    found = {"ddp": {f"torch.float{i}": Apart(value) for i, value in enumerate(epsilons)}}
    return [str(row[-1]) for row in difference_table(found, num_terms=12).rows]


def test_a_difference_is_rounding_only_if_it_is_in_every_format() -> None:
    assert verdicts(12.0, 1.0) == ["rounding"]
    assert verdicts(12.0, 12.5) == ["bug"]
    assert verdicts(1e6, 0.0) == ["bug"]


def test_differences_are_printed_with_their_magnitude() -> None:
    table = difference_table({"by_hand": {"torch.float64": Apart(0.97)}}, num_terms=12)
    numbers = [cell.text for cell in table.rows[0] if isinstance(cell, Number)]
    assert numbers == ["5.6×10⁻¹⁷", "0.97"]
    assert [str(column.title) for column in table.columns][1] == "float64"


def test_no_difference_is_printed_as_zero() -> None:
    table = difference_table({"by_hand": {"torch.float64": Apart(0.0, 0.0)}}, num_terms=12)
    assert [cell.text for cell in table.rows[0] if isinstance(cell, Number)] == ["0", "0"]


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(ValueError, match=r"variants \['fsdp'\]"):
        difference_table({"fsdp": {"torch.float64": Apart(1.0)}}, num_terms=12)


def test_bytes_keep_all_their_digits() -> None:
    table = sent_bytes_table([(4, 1142624, 1713936.0, 1715664)], ring)
    numbers = [cell.number for cell in table.rows[0] if isinstance(cell, Number)]
    assert numbers == [4, 1142624, 1713936, 1713936, 1715664, 1728]
    assert {type(number) for number in numbers} == {int}


def test_bytes_that_are_no_whole_number_keep_their_fraction() -> None:
    table = sent_bytes_table([(3, 10, ring(10, 3), 14)], ring)
    assert table.rows[0][2].number == pytest.approx(40 / 3)


def test_the_byte_figure_has_a_line_for_each_model_and_a_point_for_each_run() -> None:
    counts = [(n, size, ring(size, n), ring(size, n)) for n in (2, 4) for size in (4096, 65536)]
    figure = sent_bytes_figure(counts, ring, most_ranks=64)
    formula, points = figure.figure["data"]
    assert formula["x"].count(None) == 2
    assert formula["x"][:6] == [2, 4, 8, 16, 32, 64]
    assert formula["y"][5] == ring(4096, 64)
    assert list(zip(points["x"], points["y"], strict=True)) == [
        (n, wire) for n, _, _, wire in counts
    ]


def test_the_byte_figure_names_the_growth_that_it_draws() -> None:
    counts = [(2, 4096, 4096.0, 4096)]
    assert "from 2 to 8 ranks they grow by a factor of 1.75" in str(
        sent_bytes_figure(counts, ring, most_ranks=8).caption
    )


def test_the_timeline_has_a_row_for_each_bucket_and_a_point_for_each_gradient() -> None:
    figure = bucket_timeline([timeline(1, 1), timeline(4, 2)], environment())
    points, buckets, waits = figure.figure["data"]
    # Rows: heading, gradients, bucket 0; heading, gradients, bucket 0, bucket 1.
    assert points["y"] == [1] * 4 + [4] * 4
    assert buckets["y"] == [2, 5, 6]
    assert buckets["base"] == pytest.approx([4.0, 2.0, 4.0])
    assert buckets["x"] == pytest.approx([0.5, 0.5, 0.5])
    assert waits["base"] == pytest.approx([4.0, 4.0])
    assert list(figure.figure["layout"]["yaxis"]["tickvals"]) == [1, 2, 4, 5, 6]


def test_the_timeline_says_where_it_was_measured() -> None:
    figure = bucket_timeline([timeline(1, 1)], environment())
    assert figure.origin is not None
    assert figure.origin.live
    assert "1 thread" in str(figure.origin.summary)


def test_the_message_on_unused_parameters_is_wrapped_and_annotated() -> None:
    source = unused_parameters_message(MESSAGE)
    lines = source.code.splitlines()
    assert max(len(line) for line in lines) <= 72
    assert " ".join(lines) == " ".join(MESSAGE.split())
    noted = [lines[note.first - 1] for note in source.notes]
    assert ["Expected" in noted[0], "producing" in noted[1], "indices" in noted[2]] == [True] * 3


def test_a_message_that_torch_has_changed_is_refused() -> None:
    with pytest.raises(ValueError, match="indices"):
        unused_parameters_message(MESSAGE.replace("indices", "numbers"))
