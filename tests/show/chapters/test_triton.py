"""What the chapter on Triton shows. Oracle: records made by hand; no compilers, no torch."""

import math
from dataclasses import replace

import pytest

from fuseshard.compiler.described.records import Ablation
from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_code.records import Configuration, MachineCode, Resources
from fuseshard.compiler.gpu_study.ladder import DEEDS
from fuseshard.compiler.gpu_study.matching import ROLES
from fuseshard.compiler.gpu_study.records import (
    DeviceKernel,
    DeviceReport,
    Distances,
    Ladder,
    Matching,
    RoleMatch,
    Rung,
    TilePoint,
    Traffic,
    ValueCheck,
    WidthCase,
    WorkPoint,
)
from fuseshard.compiler.gpu_study.same_text.records import CardKernel, SameText, SameTextReport
from fuseshard.measure.experiments import Outcome
from fuseshard.show.chapters.triton import (
    devices,
    lines,
    names,
    parts,
    proof,
    roofs,
    stages,
    tiles,
    values,
    widths,
)
from fuseshard.show.choices import Choice
from fuseshard.show.records import Figure, Number, Source, Table
from fuseshard.show.words import Word

ONE_WARP = Configuration(blocks={"XBLOCK": 1, "R0_BLOCK": 64}, num_warps=1, num_stages=1)


def resources(**changes: object) -> Resources:
    known: dict[str, object] = {
        "registers": 40,
        "spills": 0,
        "stack_bytes": 0,
        "shared_bytes": 16,
        "loads": 3,
        "stores": 1,
        "load_bits": (128, 32, 128),
        "shuffles": 5,
        "barriers": 2,
        "tensor_core_ops": 0,
        "instructions": 70,
        "occupancy": 0.5,
        "limited_by": "registers",
    }
    return Resources(**{**known, **changes})  # type: ignore[arg-type]


def check(program: str, error: float, eager: float, edit: str | None = None) -> ValueCheck:
    return ValueCheck(
        program=program,
        dtype="float32",
        edit=edit,
        numbers=7,
        launches=1,
        error=error,
        eager_error=eager,
    )


def point(warps: int, rows: int, elements: int, spills: int = 0, **changes: object) -> TilePoint:
    return TilePoint(
        target="h200",
        varied=rows,
        tile=rows * 64,
        num_warps=warps,
        elements_per_thread=elements,
        resources=resources(spills=spills, **changes),
        compile_s=0.1,
    )


def texts(table: Table, column: int) -> list[str]:
    return [str(getattr(row[column], "code", row[column])) for row in table.rows]


def test_errors_get_their_verdict_and_nan_is_no_number() -> None:
    right, wrong = check("softmax", 1e-7, 1e-7), check("gelu", 1e-3, 1e-7)
    assert texts(values.value_table([right, wrong]), -1) == ["rounding", "a bug"]
    found = str(values.value_finding([right, replace(right, error=2e-7)]))
    assert found.startswith("2 of 2 programs differ from the exact result by rounding alone")
    assert "50 % of what" in found
    broken = values.broken_table([check("softmax", math.nan, 1e-7, "the epsilon is 0")])
    assert [texts(broken, i)[0] for i in (1, 2, 4)] == ["the epsilon is 0", "not a number", "a bug"]


def test_bfloat16_code_is_compared_with_eager_mode() -> None:
    nearer, same = check("softmax", 1e-3, 4e-3), check("gelu", 2e-3, 2e-3)
    said = str(values.half_finding([nearer, same]))
    assert said.startswith("in 1 of 2 programs")
    assert said.endswith("in softmax by a factor of 4.0")
    assert "in none of 1 programs" in str(values.half_finding([same]))


def test_the_interpreters_stand_side_by_side() -> None:
    one = Distances(way="torch", dtype="bfloat16", numbers=9, off=0, largest=0, mean=0.0)
    cut = replace(one, way="plain interpreter", off=4, largest=1, mean=-0.44)
    ours = replace(one, way="our interpreter")
    assert len(values.distance_table([one, ours, cut]).rows) == 3
    assert str(values.cut_finding([one, ours, cut])).startswith(
        "as it comes, the interpreter is off in 4 of 9 numbers, by -0.44 ulp"
    )


POINTS = (
    point(1, 1, 2, registers=20),
    point(1, 8, 16, 9),
    point(2, 1, 1),
    point(2, 16, 16, 70, occupancy=1.0),
)


def test_tiles_are_drawn_for_each_gpu_and_quantity() -> None:
    choice = tiles.tile_chooser([*POINTS, replace(POINTS[0], target="mi300x")])
    assert [str(label) for label, _ in choice.options][:4] == [
        "H200: registers a thread",
        "H200: spilled registers",
        "H200: occupancy (%)",
        "MI300X: registers a thread",
    ]
    spills = choice.options[1][1]
    assert isinstance(spills, Figure)
    assert [trace["y"] for trace in spills.figure["data"]] == [[0, 9], [0, 70]]
    assert [trace["name"] for trace in spills.figure["data"]] == ["1 warp", "2 warps"]
    dashes = {trace["line"]["dash"] for trace in spills.figure["data"]}
    assert len(dashes) == 2


def test_spills_are_put_down_to_elements_a_thread_only_where_that_holds() -> None:
    said = str(tiles.spill_finding(POINTS))
    assert said.startswith("up to 2 elements a thread nothing spills, whatever the warps; at 16")
    mixed = [*POINTS, point(4, 64, 16)]
    assert str(tiles.spill_finding(mixed)).startswith(
        "below 16 elements a thread no tile spills, and at 16 it depends on the warps; up to"
    )
    overlapping = [*POINTS, point(4, 128, 32)]
    assert str(tiles.spill_finding(overlapping)).startswith(
        "the first tile that spills has 16 elements a thread, the last that doesn't 32"
    )
    assert str(tiles.spill_finding(POINTS[:1])) == "nothing spills up to 2 elements a thread"


def test_full_occupancy_beside_spills_is_pointed_out() -> None:
    assert "with 2 warps and 16 rows" in str(tiles.full_finding(POINTS))
    assert str(tiles.full_finding(POINTS[:3])) == "no tile that spills has full occupancy"
    assert str(tiles.warps_finding(POINTS, 1)) == (
        "with 1 warp 20 registers, 5 exchanges and 2 barriers; "
        "with 2 warps 40 registers, 5 exchanges and 2 barriers"
    )


def test_widths_name_what_the_compiler_may_assume() -> None:
    case = WidthCase(
        target="h200", columns=600, is_aligned=True, dtype="float32", resources=resources()
    )
    loose = replace(case, is_aligned=False, resources=resources(load_bits=(32,)))
    table = widths.width_table([case, loose])
    assert texts(table, 3) == ["yes", "not known"]
    assert str(widths.width_finding([case, loose])) == (
        "128 bits at 600 columns, 32 bits at 600 where the compiler doesn't know where rows begin"
    )
    assert widths.load_counts(resources()) == "2 × 128 bit, 1 × 32 bit"
    assert widths.configured(ONE_WARP) == "XBLOCK=1, R0_BLOCK=64, num_warps=1"


def test_candidates_are_told_apart_by_what_they_take() -> None:
    code = MachineCode(
        target="h200",
        configuration=ONE_WARP,
        ttir="",
        ttgir="",
        llir="",
        assembly="",
        sass="",
        resources=resources(),
        compile_s=0.1,
    )
    table = widths.configuration_table("candidates", [code, code])
    assert texts(table, 0) == ["XBLOCK=1, R0_BLOCK=64, num_warps=1"] * 2
    assert str(widths.configuration_finding([code])).endswith(
        "num_warps=1 takes 40 registers and allows 50.0 % of the warps"
    )


def rung(stage: str, **places: tuple[int, ...]) -> Rung:
    text = "\n".join(f"line {number}" for number in range(1, 8))
    found = {deed: places.get(deed, ()) for deed in DEEDS}
    return Rung(stage=stage, text=text, num_lines=7, places=found)  # type: ignore[arg-type]


EACH = {"load": (1,), "exchange": (2,), "exp": (3,), "divide": (4,), "store": (5,)}
LADDER = Ladder(
    target="h200",
    rungs=(
        rung("Triton", **EACH),
        rung("PTX", **{**EACH, "load": (1, 2, 3)}),
        rung("SASS", **{**EACH, "load": (1, 2)}),
    ),
    resources=resources(),
)


def test_stages_have_the_same_notes_in_the_same_order() -> None:
    choice = stages.stage_chooser(LADDER, start="SASS")
    assert choice.start == 2
    sources = [record for _, record in choice.options if isinstance(record, Source)]
    for source in sources:
        assert [note.first for note in source.notes] == [1, 2, 3, 4, 5]
    assert str(sources[1].notes[0].text) == "Loads from global memory; lines like it: 3."
    loads = [row[2] for row in stages.stage_table(LADDER).rows]
    assert [cell.number for cell in loads if isinstance(cell, Number)] == [1, 3, 2]


def test_a_stage_without_a_deed_is_refused() -> None:
    poor = replace(LADDER, rungs=(*LADDER.rungs, rung("LLVM IR", load=(1,))))
    with pytest.raises(ValueError, match="LLVM IR has no line for 'exchange'"):
        stages.stage_chooser(poor)


def test_findings_of_stages_count_what_is_there() -> None:
    assert str(stages.load_finding(LADDER)) == (
        "1 tl.load ends up as 2 × 128 bit, 1 × 32 bit for each thread"
    )
    assert str(stages.dropped_finding(LADDER)).startswith("PTX has 3 loads and SASS 2")
    same = replace(LADDER, rungs=(LADDER.rungs[0], rung("PTX", **EACH), rung("SASS", **EACH)))
    assert str(stages.dropped_finding(same)) == "PTX and SASS have 1 loads each"
    assert str(stages.growth_finding(LADDER)).endswith("become 70 instructions, 10 a line")


MATCHING = Matching(
    by_hand="\n".join("abcdefghij"),
    by_inductor="\n".join("ABCDEFGHIJKL"),
    roles=tuple(
        RoleMatch(role=role, by_hand=(i,), by_inductor=(i, i + 1), places=(i, i))
        for i, role in enumerate(ROLES, 1)
    ),
)


def test_both_kernels_have_the_same_ten_notes() -> None:
    hand, inductor = lines.by_hand_source(MATCHING), lines.by_inductor_source(MATCHING)
    assert [str(n.text) for n in hand.notes] == [str(n.text) for n in inductor.notes]
    assert len(hand.notes) == len(ROLES)
    assert isinstance(lines.kernel_chooser(MATCHING), Choice)
    table = lines.match_table(MATCHING)
    assert texts(table, 3)[0] == "1, 2"
    assert str(lines.match_finding(MATCHING)).startswith("11 of Inductor's 12 lines")


def work(program: str, flop: int, read: int, least: int) -> WorkPoint:
    traffic = Traffic(read_bytes=read, written_bytes=0, again_bytes=0, launches=1, library_calls=0)
    return WorkPoint(
        program=program, dtype="float32", flop=flop, least_bytes=least, traffic=traffic
    )


# 10, 20 and 1000 operations a byte: float32's ridges lie between 10 on a B200 and 82 on a 4090.
WORK = (
    work("softmax", 9000, 1000, 500),
    work("gelu", 20_000, 1000, 1000),
    work("dropout", 10**6, 1000, 1000),
)


def test_programs_lie_on_the_roof_of_each_gpu() -> None:
    choice = roofs.roofline_chooser(WORK, ["h200", "rtx4090"])
    assert [str(label) for label, _ in choice.options] == ["H200", "RTX 4090"]
    figure = choice.options[0][1]
    assert isinstance(figure, Figure)
    by_name = {trace["name"]: trace for trace in figure.figure["data"]}
    gpu = TARGETS["h200"]
    assert by_name["programs, float32"]["y"] == [
        9 * gpu.memory_bytes_per_s / 1e12,
        gpu.fp32_flop_per_s / 1e12,
        gpu.fp32_flop_per_s / 1e12,
    ]
    assert max(by_name["roof, float32"]["y"]) == gpu.fp32_flop_per_s / 1e12
    assert str(figure.caption) == "The H200 at best: 1 of 3 programs wait for memory."


def test_what_waits_for_memory_somewhere_is_named_with_its_gpus() -> None:
    said = str(roofs.everywhere_finding(WORK, ["h200", "rtx4090", "b200"]))
    assert said == (
        "1 of 3 programs wait for memory on all 3 GPUs; GELU waits for memory on RTX 4090 alone"
    )
    table = roofs.bound_table(WORK, ["h200"])
    assert [cell.split(", ")[1] for cell in texts(table, 1)] == ["memory", "computing", "computing"]


def test_traffic_beyond_the_formula_is_named() -> None:
    assert str(roofs.more_finding(WORK)).endswith("softmax moves 2.00 times as much")
    assert texts(roofs.traffic_table(WORK), 0)[0] == "softmax"


def report(target: str, changed: tuple[str, ...] = (), **changes: object) -> DeviceReport:
    kernel = DeviceKernel(
        name="k",
        kind="reduction",
        text="@triton.jit",
        configurations=(ONE_WARP,),
        resources=resources(**changes),
    )
    return DeviceReport(
        target=target, program="softmax", kernels=(kernel,), library_calls=(), changed=changed
    )


REPORTS = (report("h200"), report("a100"), report("mi300x", ("- a", "+ b"), registers=50))


def test_gpus_are_columns_and_facts_are_rows() -> None:
    table = devices.device_table(REPORTS)
    facts = dict(
        zip(texts(table, 0), zip(*(texts(table, i) for i in (1, 2, 3)), strict=True), strict=True)
    )
    assert facts["lines of Triton that differ"] == ("0", "0", "1")
    assert facts["registers a thread"] == ("40", "40", "50")
    assert facts["threads in a warp"] == ("32", "32", "64")
    assert str(devices.device_finding(REPORTS)) == (
        "the A100 gets the lines of the H200, and 40 registers a thread instead of 40; "
        "for the MI300X 1 lines differ, and a thread takes 50 registers instead of the H200's 40"
    )
    assert devices.changes_source(REPORTS[2]).code == "- a\n+ b"


def test_a_program_of_several_kernels_has_a_summary_only() -> None:
    two = replace(
        REPORTS[0], kernels=REPORTS[0].kernels * 2, library_calls=("aten._flash.default",)
    )
    assert texts(devices.summary_table([two]), -1) == ["_flash"]
    with pytest.raises(ValueError, match="has 2 kernels on h200, must have 1"):
        devices.device_table([two])


def test_parts_are_loud_or_missed_in_silence() -> None:
    loud = Ablation(
        name="memos", purpose="", program="f()", with_it="1", without_it="ValueError: no"
    )
    fatal = replace(loud, name="device guard", without_it="the process ends: no device")
    silent = replace(loud, name="attention choice", without_it="2")
    table = parts.parts_table([loud, fatal, silent])
    assert texts(table, 0)[0] == "forgets what was remembered of another GPU"
    assert texts(table, 3) == ["ValueError: no", "the process ends: no device", "2"]
    assert isinstance(parts.result_word("3 Triton kernels"), Word)
    assert str(parts.result_word("1 Triton kernel")) == "Triton kernels: 1"
    assert str(parts.silent_finding([loud, fatal, silent])).startswith("of 3 parts 1 are missed")


CARD = CardKernel(
    name="k",
    chosen=ONE_WARP,
    index=0,
    card_registers=40,
    card_spills=0,
    registers=40,
    spills=0,
    is_same_machine_code=True,
)
MADE_LATER = replace(CARD, index=None, registers=None, spills=None, is_same_machine_code=None)
SAME = SameText(
    program="softmax",
    graphs=1,
    num_kernels=2,
    is_identical=True,
    difference=(),
    num_different=0,
    kernels=(CARD, MADE_LATER),
)
DIFFERENT = replace(
    SAME, program="linear-odd", is_identical=False, difference=("- a", "+ b"), num_different=2
)
FAILED = replace(DIFFERENT, difference=(), num_different=0, failure="RuntimeError: no memory")
REPORT = SameTextReport(target="h200", programs=(SAME, DIFFERENT))


def outcome(result: SameTextReport | None) -> Outcome[SameTextReport]:
    state = "recorded" if result else "not recorded yet"
    return Outcome(experiment_id="gpu.same-text", state=state, note="", available=result)  # type: ignore[arg-type]


def test_each_program_is_identical_or_its_difference_is_shown() -> None:
    table = proof.same_text_table(outcome(REPORT))
    assert isinstance(table, Table)
    assert texts(table, 3) == ["identical", "differs"]
    assert "1 of 2 texts" in str(table.caption)
    failed = proof.same_text_table(outcome(replace(REPORT, programs=(SAME, FAILED))))
    assert isinstance(failed, Table)
    assert texts(failed, 3) == ["identical", "not compared: RuntimeError: no memory"]
    assert proof.difference_sources(outcome(replace(REPORT, programs=(FAILED,)))) == []
    (source,) = proof.difference_sources(outcome(REPORT))
    assert (source.name, source.code) == ("difference-linear-odd", "- a\n+ b")


def test_machine_codes_that_differ_are_shown_where_a_recording_holds_them() -> None:
    forgotten = replace(CARD, is_same_machine_code=False)
    kept = replace(forgotten, difference=("- FADD", "+ FMUL"))
    report = replace(REPORT, programs=(replace(SAME, kernels=(CARD, kept, forgotten, kept)),))
    sources = proof.difference_sources(outcome(report))
    assert [source.name for source in sources] == [
        "machine-difference-softmax-2",
        "machine-difference-softmax-4",
    ]
    assert str(sources[0].caption).startswith("softmax, machine code of kernel 2: with the card")
    single = proof.difference_chooser(outcome(report))  # both have the same lines
    assert isinstance(single, Source)
    assert single.code == "- FADD\n+ FMUL"
    assert str(proof.kept_finding(report)) == (
        "3 differ, 0 in nothing but NOP, which does nothing and fills; the first lines "
        "are recorded for 2"
    )


def test_machine_code_that_is_only_longer_by_fillings_is_told_apart() -> None:
    filled = replace(CARD, is_same_machine_code=False, difference=("+ NOP ;",))
    other = replace(filled, difference=("+ NOP ;", "- FADD"))
    report = replace(REPORT, programs=(replace(SAME, kernels=(filled, other)),))
    assert str(proof.kept_finding(report)) == (
        "2 differ, 1 in nothing but NOP, which does nothing and fills; the first lines "
        "are recorded for 2"
    )


def test_a_recording_without_these_lines_says_so() -> None:
    forgotten = replace(SAME, kernels=(CARD, replace(CARD, is_same_machine_code=False)))
    assert str(proof.kept_finding(replace(REPORT, programs=(forgotten,)))) == (
        "1 differ, and the recording doesn't hold in what"
    )
    assert str(proof.kept_finding(REPORT)) == "none differs"
    assert str(proof.kept_finding(None)) == "nothing is recorded yet"


def test_kernels_of_the_card_stand_beside_those_made_without_it() -> None:
    table = proof.card_table(outcome(REPORT))
    assert isinstance(table, Table)
    assert texts(table, 2)[:2] == ["1", "no: made after loading"]
    spills = [[getattr(row[at], "text", str(row[at])) for row in table.rows[:2]] for at in (5, 6)]
    assert spills == [["0", "0"], ["0", "—"]]  # on the card, and without it
    assert texts(table, 7)[:2] == ["identical", "—"]
    assert str(proof.same_text_finding(REPORT)) == (
        "1 of 2 programs have identical text; of 2 kernels whose machine code was compared, 2 "
        "have the same instructions"
    )


NAMED = replace(
    DIFFERENT,
    program="gelu",
    difference=("-     compiled_module_main('a', f)", "+     compiled_module_main('None', f)"),
)
PADDED = replace(DIFFERENT, difference=("- #   linear => constant_pad_nd_default, permute",))


def test_each_difference_stands_once_whatever_the_number_of_programs() -> None:
    twice = replace(REPORT, programs=(NAMED, replace(NAMED, program="argmax"), PADDED))
    choice = proof.difference_chooser(outcome(twice))
    assert isinstance(choice, Choice)
    assert [record.name for _, record in choice.options] == [
        "difference-gelu",
        "difference-linear-odd",
    ]
    single = proof.difference_chooser(outcome(REPORT))
    assert isinstance(single, Source)
    assert single.name == "difference-linear-odd"
    none = proof.difference_chooser(outcome(replace(REPORT, programs=(SAME,))))
    assert str(none) == "There is nothing to show: all texts are identical."


def test_reasons_for_differences_are_read_off_their_lines() -> None:
    def said(*programs: SameText) -> str:
        return str(proof.explained_finding(replace(REPORT, programs=programs)))

    assert said(SAME) == "no text differs"
    assert said(SAME, NAMED, NAMED) == "2 in nothing but the name under which they were compiled"
    padded = said(NAMED, PADDED)
    assert padded.startswith("1 in nothing but the name")
    assert "linear to 50257 features, bfloat16: with a card Inductor measures" in padded
    assert "2 lines differ, for a reason that they don't tell" in said(DIFFERENT)
    assert "not compared: RuntimeError: no memory" in said(FAILED)
    half_named = replace(NAMED, difference=(*NAMED.difference, "+ x"))
    assert "nothing but the name" not in said(half_named)


def test_registers_and_choices_of_the_card_are_told() -> None:
    assert str(proof.taken_finding(REPORT)) == "registers and spills agree in 2 of 2 kernels"
    other = replace(SAME, kernels=(CARD, replace(CARD, card_spills=3)))
    said = str(proof.taken_finding(replace(REPORT, programs=(other,))))
    assert said.endswith(
        "in 1 of 2 kernels; with the same instructions, and yet other numbers of these: 1"
    )
    differs = replace(CARD, card_spills=3, is_same_machine_code=False)
    other = replace(SAME, kernels=(CARD, differs))
    said = str(proof.taken_finding(replace(REPORT, programs=(other,))))
    assert said == "registers and spills agree in 1 of 2 kernels"
    assert str(proof.chosen_finding(REPORT, "softmax")) == (
        "XBLOCK=1, R0_BLOCK=64, num_warps=1, number 1 of the candidates; "
        "XBLOCK=1, R0_BLOCK=64, num_warps=1, which is no candidate"
    )
    with pytest.raises(ValueError, match="gelu has no kernel in the report"):
        proof.chosen_finding(REPORT, "gelu")


def test_what_is_not_recorded_yet_is_said() -> None:
    assert isinstance(proof.difference_chooser(outcome(None)), Word)
    findings = (
        proof.explained_finding(None),
        proof.taken_finding(None),
        proof.chosen_finding(None, "gelu"),
    )
    assert {str(one) for one in findings} == {"nothing is recorded yet"}
    assert isinstance(proof.same_text_table(outcome(None)), Word)
    assert isinstance(proof.card_table(outcome(None)), Word)
    assert proof.difference_sources(outcome(None)) == []
    assert str(proof.same_text_finding(None)) == "nothing is recorded yet"


def test_gpus_have_short_names() -> None:
    assert [names.target_name(key) for key in TARGETS] == [
        "H200",
        "H100",
        "A100",
        "RTX 4090",
        "B200",
        "MI300X",
    ]
    assert str(names.program_word("unheard of")) == "unheard of"
