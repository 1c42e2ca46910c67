"""What the eager chapter draws. Oracles: measurements and profiles made up for the test."""

import pytest
import torch

from fuseshard.compiler.dispatch import trace
from fuseshard.compiler.eager.records import OpSpan, Part, Profile
from fuseshard.compiler.modes.records import DeviceTrace, LaunchProgram, LaunchReport, LaunchRun
from fuseshard.measure import records as measured
from fuseshard.show.chapters.eager import calls, launches, price, profiles
from fuseshard.show.words import Word


def timing(name, median_s):
    return measured.Timing(
        name=name,
        first_call_s=1.0,
        rounds_s=(median_s,),
        calls_per_round=3,
        median_s=median_s,
        low_s=0.9 * median_s,
        high_s=1.1 * median_s,
        ratio=None,
    )


def sweep(name, medians):
    points = tuple(
        measured.SweepPoint(
            size=4**i, comparison=measured.Comparison(timings=(timing(name, s),), num_threads=1)
        )
        for i, s in enumerate(medians)
    )
    return measured.Sweep(size_name="size", points=points)


def test_the_doubling_size_lies_between_the_sizes_around_it():
    found = price.doubling_size(sweep("work", [1e-6, 1e-6, 1.5e-6, 3e-6]))
    assert 16 < found < 64
    assert price.doubling_size(sweep("work", [1e-6, 1.1e-6])) == float("inf")
    assert price.doubling_size(sweep("work", [1e-6, 2e-6])) == pytest.approx(4)
    disturbed = price.doubling_size(sweep("work", [1e-6, 5e-6, 1.5e-6, 3e-6]))
    assert disturbed == found, "a size below the bend that something slowed down moved the bend"


def test_each_operator_has_a_figure_with_its_price():
    choice = price.sizes_choice(
        {"x + 1": sweep("work", [1e-6, 4e-6]), "x.exp()": sweep("work", [1e-6, 1e-6])}
    )
    captions = [str(figure.caption) for _, figure in choice.options]
    assert "a call costs 900 ns" in captions[0]
    assert "most of the time at every size" in captions[1]


def profile_of(blocks):
    """A made-up forward pass: each block is two norms with a linear after each."""
    spans, now = [], 0.0
    for op in ["aten::embedding", *(["aten::layer_norm", "aten::linear"] * (2 * blocks))]:
        spans.append(OpSpan(op=op, depth=0, start_s=now, end_s=now + 2e-6, self_s=1e-6))
        spans.append(OpSpan(op="aten::addmm", depth=1, start_s=now, end_s=now + 1e-6, self_s=1e-6))
        now += 4e-6
    return Profile(spans=tuple(spans))


def test_a_block_is_what_lies_between_the_first_norm_and_the_third():
    spans = profiles.block_spans(profile_of(2))
    assert [span.op for span in spans if span.depth == 0] == [
        "aten::layer_norm",
        "aten::linear",
    ] * 2
    with pytest.raises(ValueError, match="got 2 calls of aten::layer_norm"):
        profiles.block_spans(profile_of(1))


def test_shares_add_up_to_one():
    found = profiles.shares(profile_of(2))
    assert sum(found.values()) == pytest.approx(1)
    assert found["python"] == pytest.approx(16 / 34)  # 8 gaps of 2 µs in 34 µs
    assert profiles.around(profile_of(2)) == pytest.approx(found["preparing"] + found["python"])


def test_the_figures_of_profiles_name_their_numbers():
    block = profiles.block_figure(profile_of(2))
    assert "8 calls" in str(block.caption)
    choice = profiles.shares_choice({1: profile_of(2), 4: profile_of(2)})
    assert [str(label) for label, _ in choice.options] == ["1", "4"]


def test_the_two_dispatchers_stand_side_by_side():
    x, w, b = torch.randn(3, 5), torch.randn(7, 5), torch.randn(7)
    traced = trace(torch.nn.functional.linear, x, w, b)
    ours = [(c.depth, c.op, list(c.layers)) for c in traced.calls if c.depth < 2]
    table = calls.beside(ours, traced)
    assert [row[0].code for row in table.rows] == [row[2].code for row in table.rows]
    assert len(calls.linear_trace(traced).rows) == len(traced.calls)


def test_calls_are_counted_by_operator():
    traced = trace(torch.nn.functional.linear, torch.randn(3, 5), torch.randn(7, 5))
    figure = calls.operators_figure(traced)
    assert f"Of {len(traced.calls)} dispatcher calls" in str(figure.caption)


def test_a_steps_table_ends_with_the_sums():
    parts = [
        Part(name=name, from_python=1, calls=2, kernels=3, allocated_bytes=4096)
        for name in ("forward", "backward", "optimizer")
    ]
    last = calls.step_table(parts).rows[-1]
    assert [cell.text for cell in last[1:]] == ["3", "6", "9", "12.0"]


class Outcome:
    experiment_id = "modes.launches-gpu"
    failure = None
    beside = None

    def __init__(self, report):
        self.available = report


def test_launches_compare_host_and_device():
    made = DeviceTrace(
        kernels=10, library=0, templates=0, copies=0, launches=10, graph_launches=0, busy_s=1e-5
    )
    run = LaunchRun(
        way="eager",
        host_s=1e-4,
        whole_s=2e-4,
        whole_range=measured.Range.of(2e-4),
        trace=made,
        is_equal=True,
    )
    report = LaunchReport(
        device="cuda",
        programs=tuple(
            LaunchProgram(name=name, steps=5, runs=(run,)) for name in ("pointwise", "products")
        ),
    )
    assert "10.0 µs" in str(launches.launches_finding(report))
    assert "10.0×" in str(launches.launches_finding(report)).replace("10×", "10.0×")
    assert [cell.text for cell in launches.launches_table(Outcome(report)).rows[0][2:]] == [
        "10.0",
        "1.00",
    ]


def test_a_missing_recording_says_how_to_make_one():
    told = launches.launches_table(Outcome(None))
    assert isinstance(told, Word)
    assert "make record" in str(told)
