"""What the chapter on Inductor shows. Oracles: code written for three vector widths, known sweeps.

Two compiles in a module-scoped fixture; the rest is plain data.
"""

import re
from dataclasses import replace

import pytest
import torch

from fuseshard.compiler import dispatch, stages
from fuseshard.compiler.inductor import (
    head_with,
    kernels,
    library_softmax,
    loop_bodies,
    softmax_by_hand,
    vector_width,
    wrapper,
)
from fuseshard.compiler.records import DispatchTrace, HeadSweep, Kernel, Stages
from fuseshard.measure.experiments import Outcome
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Comparison, Sweep, SweepPoint, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles
from fuseshard.show.chapters import head_break_even, head_times, inductor_gpu
from fuseshard.show.chapters import inductor as show
from fuseshard.show.records import Figure, Number, Source
from fuseshard.show.words import Word

ROWS, VOCABULARY, ROUNDS = 7, 600, 25


def hidden() -> torch.Tensor:
    return torch.randn(ROWS, 64, generator=torch.Generator().manual_seed(3))


def captured(bits: int | None) -> Stages:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        found = stages.capture(head_with(softmax_by_hand), hidden())
    torch.set_num_threads(threads)
    return found


@pytest.fixture(scope="module")
def widest() -> Stages:
    return captured(None)


@pytest.fixture(scope="module")
def avx2() -> Kernel:
    return kernels(captured(256).source[0])[0]


def test_every_stage_has_its_notes_on_the_lines_that_they_explain(widest: Stages) -> None:
    for source, line in (
        (show.fx_source(widest.fx[0]), r"linear\("),
        (show.aten_source(widest.aten[0]), r"aten\.addmm"),
        (show.loops_source(loop_bodies(widest.loops[0])), r"truediv"),
        (show.wrapper_source(wrapper(widest.source[0])), r"extern_kernels\.addmm"),
    ):
        lines = source.code.splitlines()
        assert any(re.search(line, lines[note.first - 1]) for note in source.notes), source.name


def test_the_kernels_notes_hold_for_the_widest_vectors_of_this_machine(widest: Stages) -> None:
    (kernel,) = kernels(widest.source[0])
    width = vector_width(kernel)
    shown = show.kernel_source(kernel, vocabulary=VOCABULARY, width=width)
    explained = " ".join(str(note.text) for note in shown.notes)
    assert f"{width} numbers a step" in explained
    assert ("loaded with a mask" in explained) == (VOCABULARY % width != 0)


def test_the_kernels_notes_hold_for_vectors_of_eight_that_leave_no_rest(avx2: Kernel) -> None:
    shown = show.kernel_source(avx2, vocabulary=VOCABULARY, width=8)
    explained = " ".join(str(note.text) for note in shown.notes)
    assert "8 numbers a step" in explained
    assert "mask" not in explained
    lines = shown.code.splitlines()
    divide = next(note for note in shown.notes if "divides them" in str(note.text))
    assert "/" in lines[divide.first - 1]


def test_a_note_never_stands_on_code_that_has_changed(avx2: Kernel) -> None:
    """Must-fail twin: without its exponential the listing must be refused, not misexplained."""
    changed = replace(avx2, code=avx2.code.replace(".exp()", ".exp_u20()"))
    with pytest.raises(ValueError, match="anchor"):
        show.kernel_source(changed, vocabulary=VOCABULARY, width=8)


def test_a_rest_that_should_not_exist_is_refused(avx2: Kernel) -> None:
    changed = replace(avx2, code=avx2.code + "\nif(C10_UNLIKELY(x1 >= 592)) {}")
    with pytest.raises(ValueError, match="handles a rest"):
        show.kernel_source(changed, vocabulary=VOCABULARY, width=8)


TRITON = """import triton

@triton.jit
def softmax_kernel(in_out_ptr0, xnumel, r0_numel, XBLOCK : tl.constexpr):
    R0_BLOCK: tl.constexpr = 1024
    r0_mask = r0_index < r0_numel
    tmp0 = tl.load(in_out_ptr0 + (r0_1 + 600*x0), r0_mask, other=0.0)
    tmp6 = triton_helpers.max2(tmp5, 1)[:, None].to(tl.float32)
    tmp8 = libdevice.exp(tmp0 - tmp6)
    tmp12 = tl.sum(tmp8, 1)[:, None].to(tl.float32)
    tmp14 = libdevice.exp(tmp0 - tmp6)
    tmp15 = (tmp14 / tmp12)
    tl.store(in_out_ptr0 + (r0_1 + 600*x0), tmp15, r0_mask)
"""


def test_a_note_of_one_number_stands_at_the_same_deed_in_both_languages(avx2: Kernel) -> None:
    choice = inductor_gpu.kernels_choice(avx2, TRITON)
    (_, cpp), (_, triton) = choice.options
    assert isinstance(cpp, Source) and isinstance(triton, Source)
    assert [str(n.text) for n in cpp.notes] == [str(n.text) for n in triton.notes]
    assert len(cpp.notes) == len(inductor_gpu.DEEDS)
    lines = triton.code.splitlines()
    deeds = [lines[note.first - 1] for note in triton.notes]
    words = ["tl.load", "max2", "exp", "tl.sum", " / ", "tl.store"]
    assert all(word in line for word, line in zip(words, deeds, strict=True))
    assert lines[0] == "@triton.jit"


def test_a_triton_kernel_that_does_something_else_is_refused(avx2: Kernel) -> None:
    """Must-fail twin."""
    with pytest.raises(ValueError, match="anchor"):
        inductor_gpu.kernels_choice(avx2, TRITON.replace("tl.sum", "tl.max"))
    swapped = TRITON.replace("(tmp14 / tmp12)", "tmp14")
    with pytest.raises(ValueError, match="anchor"):
        inductor_gpu.kernels_choice(avx2, swapped)


def test_the_tile_of_a_row_is_read_off_and_not_guessed() -> None:
    assert inductor_gpu.row_tile(TRITON) == 1024
    with pytest.raises(ValueError, match="must be a persistent reduction"):
        inductor_gpu.row_tile("R0_BLOCK : tl.constexpr")


@pytest.mark.parametrize(
    ("width", "text"),
    [(16, "37 full vectors of 16 and a rest of 8"), (8, "exactly 75 vectors of 8")],
)
def test_a_row_is_cut_into_vectors_in_words(width: int, text: str) -> None:
    assert text in str(show.tail_finding(VOCABULARY, width))


def test_the_trace_table_has_a_row_for_each_call_indented_by_depth() -> None:
    trace = dispatch.trace(head_with(library_softmax), hidden())
    table = show.head_trace(trace, "library")
    assert len(table.rows) == len(trace.calls)
    shown = [row[0].code for row in table.rows]
    assert [text.lstrip("\u00a0") for text in shown] == [call.op for call in trace.calls]
    assert [len(text) - len(text.lstrip("\u00a0")) for text in shown] == [
        2 * call.depth for call in trace.calls
    ]
    allocated = [row[4].number for row in table.rows if isinstance(row[4], Number)]
    assert sum(allocated) == trace.allocated_bytes


def test_an_unknown_way_has_no_caption() -> None:
    with pytest.raises(ValueError, match="way is 'triton', must be one of"):
        show.head_trace(DispatchTrace(calls=(), compiled_regions=0), "triton")


def test_differences_beyond_the_bound_and_nan_are_bugs() -> None:
    table = show.difference_table(
        {"library": 1e-7, "compiled": 2e-5, "edited": float(2)}, bound=1e-5
    )
    assert [str(row[3]) for row in table.rows] == ["rounding", "a bug", "a bug"]


def test_an_unknown_way_to_compute_has_no_name() -> None:
    with pytest.raises(ValueError, match=r"got \['guessed'\]"):
        show.difference_table({"guessed": 0.0}, bound=1.0)


def timing(name: str, seconds: float, baseline_s: float | None) -> Timing:
    rounds = [seconds * (1 + 0.001 * (index % 3)) for index in range(ROUNDS)]
    first = None if baseline_s is None else [baseline_s] * ROUNDS
    low, median, high = quartiles(rounds)
    return Timing(
        name=name,
        first_call_s=1.5,
        rounds_s=tuple(rounds),
        calls_per_round=1,
        median_s=median,
        low_s=low,
        high_s=high,
        ratio=None if first is None else paired_ratio(first, rounds),
    )


def sweep_of(speedups: tuple[float, ...]) -> Sweep:
    points = [
        SweepPoint(
            size=4**index,
            comparison=Comparison(
                timings=(timing("eager", 1e-3, None), timing("compiled", 1e-3 / s, 1e-3)),
                num_threads=1,
            ),
        )
        for index, s in enumerate(speedups)
    ]
    return Sweep(size_name="rows", points=tuple(points))


@pytest.fixture
def swept() -> HeadSweep:
    return HeadSweep(
        device="cpu",
        width=64,
        vocabulary=600,
        by_hand=sweep_of((0.5, 0.8, 1.25, 2.0)),
        library=sweep_of((0.25, 0.5, 0.8, 1.0)),
    )


def test_the_break_even_says_where_each_way_starts_to_pay(swept: HeadSweep) -> None:
    figure = head_break_even.break_even(swept)
    assert "slower than eager mode up to 4 rows and faster from 16 on" in str(figure.caption)
    assert "slower than eager mode up to 16 rows" in str(figure.caption)


def test_the_break_even_is_shaded_where_a_line_crosses_one(swept: HeadSweep) -> None:
    layout = head_break_even.break_even(swept).figure["layout"]
    (shaded,) = [shape for shape in layout["shapes"] if shape["type"] == "rect"]
    assert (shaded["x0"], shaded["x1"]) == (4, 16)
    (equal,) = [shape for shape in layout["shapes"] if shape["type"] == "line"]
    assert equal["y0"] == equal["y1"] == 1
    low, high = layout["yaxis"]["range"]
    assert low < 0 < high  # logarithms: the factor 1 is always in sight
    never = replace(swept, by_hand=sweep_of((0.2, 0.3)), library=sweep_of((0.1, 0.2)))
    layout = head_break_even.break_even(never).figure["layout"]
    assert [shape["type"] for shape in layout["shapes"]] == ["line"]
    assert layout["yaxis"]["range"][1] > 0


def test_each_line_has_its_band_between_the_ends_of_the_intervals(swept: HeadSweep) -> None:
    band, line, *_ = head_break_even.break_even(swept).figure["data"]
    ratios = [point.comparison.ratio for point in swept.by_hand.points]
    assert line["y"] == [ratio.speedup for ratio in ratios]
    assert band["y"][:4] == [ratio.speedup_high for ratio in ratios]
    assert band["y"][:3:-1] == [ratio.speedup_low for ratio in ratios]


def test_no_table_of_a_sweep_shows_first_calls(swept: HeadSweep) -> None:
    """Or caches on disk would pass for compile times."""
    table = head_times.sweep_table(swept, name="t")
    shown = [cell.number for row in table.rows for cell in row if isinstance(cell, Number)]
    assert 1e-3 in swept.by_hand.points[0].comparison["eager"].rounds_s
    assert not any(abs(value - 1.5 / unit) < 1e-9 for value in shown for unit in (1, 1e-3, 1e-6))


def test_the_parts_of_a_first_call_are_shown_with_their_sum() -> None:
    parts_s = {"dynamo": 0.04, "aotautograd": 0.02, "inductor": 0.1, "compiler": 0.9}
    table = head_times.first_call_table(parts_s, environment())
    shown = [row[1].number for row in table.rows if isinstance(row[1], Number)]
    assert shown == pytest.approx([40, 20, 100, 900, 1060])
    assert "C++ compiler" in str(table.rows[3][0])


def test_a_growing_size_is_put_beside_what_it_costs(swept: HeadSweep) -> None:
    found = str(head_times.growth_finding(swept, rows=64))
    assert found == "a compiled call takes 2.00 ms with one row and 500 µs with 64"
    assert str(head_times.growth_finding(None, rows=64)) == "nothing is recorded yet"


def test_calls_to_pay_back_are_the_first_call_over_what_a_call_saves(swept: HeadSweep) -> None:
    table = head_times.payback_table(swept, first_call_s=1.0)
    assert [str(row[1]) for row in table.rows][:2] == ["never", "never"]
    largest = swept.by_hand.points[3].comparison
    saved = largest["eager"].median_s - largest["compiled"].median_s
    shown = str(table.rows[3][1]).replace("\u202f", "")
    assert int(shown) == pytest.approx(1.0 / saved, rel=0.05)  # two digits
    assert {str(row[2]) for row in table.rows} == {"never"}


def test_findings_name_the_size_and_the_factor(swept: HeadSweep) -> None:
    assert "16 rows" in str(head_times.size_finding(swept, "library"))
    one_row = str(head_times.row_finding(swept, "library", rows=1))
    assert "the compiled version takes 4.0" in one_row
    assert "the time of eager mode with torch.softmax (" in one_row


@pytest.mark.parametrize("sweep", [True, False])
def test_a_recording_is_drawn_and_a_missing_one_is_named(swept: HeadSweep, sweep: bool) -> None:
    outcome = Outcome(
        experiment_id="inductor.size-sweep-gpu",
        state="recorded" if sweep else "not recorded yet",
        note="",
        available=swept if sweep else None,
    )
    shown = head_break_even.recorded(outcome)
    assert isinstance(shown, Figure if sweep else Word)
    assert sweep or "inductor.size-sweep-gpu needs a CUDA GPU" in str(shown)
    assert str(head_times.size_finding(None, "by_hand")) == "nothing is recorded yet"
