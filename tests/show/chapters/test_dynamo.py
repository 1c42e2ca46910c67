"""What the chapter on Dynamo shows. Oracles: known records, and real frames of tiny functions.

A few compiles of one operation with no backend; the rest is plain data.
"""

import re
from dataclasses import replace

import pytest
import torch
from torch import nn

from fuseshard.compiler.dynamo.bytecode import disassembled, frames
from fuseshard.compiler.dynamo.guards import guards_of
from fuseshard.compiler.dynamo.records import Call, GuardLine, Passes, Trial
from fuseshard.compiler.tiny import cpp, graph, interpreter, jit
from fuseshard.measure.records import Comparison, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles
from fuseshard.show.chapters.dynamo import artefacts, guards, listings, times, trials
from fuseshard.show.records import Source, Table

offset = 0.5


def blend(x, y, gain):
    mixed = x * gain + y
    if gain > 1:
        mixed = mixed.relu()
    return mixed + offset


def asks(x, y):
    z = x * y
    if z.sum() > 0:
        z = z.relu()
    return z + y


class Power(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.exponent = 2
        self.weight = nn.Parameter(torch.ones(5))

    def forward(self, x):
        return x**self.exponent * self.weight


def make_mixture(bias):
    layer = Power()

    def mixture(x, gain, parts):
        total = layer(x) * gain + bias + offset
        for part in parts:
            total = total + part
        return torch.relu(total)

    return mixture


def noted(source: Source, line: str) -> str:
    """The note on the first line that matches."""
    lines = source.code.splitlines()
    number = next(i for i, text in enumerate(lines, 1) if re.search(line, text))
    return next(str(note.text) for note in source.notes if note.first <= number <= note.last)


def cells(table: Table, column: int) -> list[str]:
    return [str(getattr(row[column], "code", row[column])) for row in table.rows]


def test_bytecode_has_its_notes_on_the_lines_that_they_explain() -> None:
    before = listings.before_source(disassembled(blend))
    assert "says so" in noted(before, r"LOAD_GLOBAL +.*offset")
    (frame,) = frames(blend, torch.ones(7, 5), torch.ones(5), 2.0)
    after = listings.after_source(frame)
    assert "made up" in noted(after, "__compiled_fn")
    assert "no multiplication" in noted(after, "RETURN_VALUE")


def test_a_break_is_told_in_three_steps() -> None:
    x, y = torch.ones(7, 5), torch.ones(5)
    choice = listings.break_choice(frames(asks, x, y))
    first, before, after = (record for _, record in choice.options)
    assert "True: the rest" in noted(first, "__resume_at")
    assert "jumping over" in noted(before, "JUMP_FORWARD")
    assert "made up" in noted(after, "__compiled_fn")


def test_a_function_without_break_has_no_three_steps() -> None:
    with pytest.raises(ValueError, match="not enough values"):
        listings.break_choice(frames(blend, torch.ones(7, 5), torch.ones(5), 2.0))


def test_every_guard_of_the_chapter_has_a_sentence() -> None:
    found = guards_of(make_mixture(0.25), torch.ones(7, 5), 2.0, [1.0, 2.0])
    choice = guards.guard_choice(found)
    tables = {str(label): record for label, record in choice.options}
    assert len(tables) == 5
    argument = dict(
        zip(cells(tables["an argument"], 0), cells(tables["an argument"], 1), strict=True)
    )
    assert argument["gain"] == "equals 2.0: it stands in the graph as a constant"
    assert "x" in cells(tables["an argument"], 0)
    assert sum(len(table.rows) for table in tables.values()) < len(found)  # twins share a row


def test_a_tensor_is_described_with_its_layout() -> None:
    check = (
        "check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, "
        "requires_grad=False, size=[7, 5], stride=[1, 7])"
    )
    guard = GuardLine(kind="TENSOR_MATCH", subject="L['x']", check=check, origin="argument")
    assert "a float32 Tensor of 7×5, strides 1, 7, without" in str(guards.sentence(guard))
    needing = replace(guard, check=check.replace("grad=False", "grad=True"))
    assert "needs a gradient" in str(guards.sentence(needing))


@pytest.mark.parametrize(
    ("kind", "origin"), [("NEW_KIND", "argument"), ("TENSOR_MATCH", "argument"), ("NEW", "torch")]
)
def test_a_guard_that_a_release_brings_is_an_error_not_a_wrong_sentence(
    kind: str, origin: str
) -> None:
    guard = GuardLine(kind=kind, subject="", check="whatever", origin=origin)
    with pytest.raises(ValueError, match="sentence: "):
        guards.sentence(guard)


def call(state: str, outcome: str, *, graph: str = "", is_right: bool = True) -> Call:
    return Call(state=state, outcome=outcome, failed="", graph=graph, is_right=is_right)


def made(name: str, *calls: Call) -> Trial:
    return Trial(name=name, code="x * k", calls=calls)


FLOAT = made(
    "float-argument",
    call("k = 2.0", "compiled", graph='mul: "f32[3]" = l_x_ * 2.0'),
    call("k = 3.0", "compiled", graph='mul: "f32[3]" = l_x_ * item'),
    call("k = 4.0", "reused"),
)
SHAPE = made(
    "tensor-shape",
    call("3", "compiled", graph='mul: "f32[3, 4]" = l_x_ * 2'),
    call("5", "compiled", graph='mul: "f32[s77, 4]" = l_x_ * 2'),
    call("7", "reused"),
)
ZERO = made(
    "sign-of-zero",
    call("k = 0.0", "compiled", graph='mul: "f32[3]" = l_x_ * 0.0'),
    call("k = -0.0", "reused", is_right=False),
    call("k = -0.0", "reused", is_right=False),
)


def test_the_table_of_trials_tells_symbols_constants_and_wrong_results_apart() -> None:
    table = trials.trial_table([FLOAT, SHAPE, ZERO])
    assert cells(table, 2) == ["new version", "new version", "reused, wrong"]
    assert cells(table, 3) == ["reused", "reused", "reused, wrong"]
    assert cells(table, 4) == ["item", "f32[s77, 4]", "0.0"]


def test_a_reader_starts_with_the_float_argument() -> None:
    choice = trials.trial_choice([SHAPE, FLOAT, ZERO])
    assert choice.start == 1
    assert cells(choice.options[1][1], 1) == ["new version", "new version", "reused"]


def test_passes_and_versions_are_counted_by_call() -> None:
    one = Passes(name="whole", first=1, again=0, reshaped=1, kinds=("FakeTensor",), shapes=("3×4",))
    table = trials.passes_table([one, replace(one, name="broken", first=2)])
    assert [row[1].number for row in table.rows] == [1, 2]
    versions = trials.versions_table([2.0, 3.0], [1, 1], [1, 0])
    assert cells(versions, 2) == ["new version", "reused"]


def test_only_zero_is_equal() -> None:
    table = trials.equality_table({"ours": 0.0, "no-relu": 1e-30})
    assert cells(table, 2) == ["equal, bit for bit", "wrong"]


def test_the_compiler_is_shown_whole() -> None:
    choice = artefacts.compiler_parts([jit, interpreter, graph, cpp])
    assert [str(label) for label, _ in choice.options] == [
        *("jit.py", "interpreter.py", "graph.py", "cpp.py")
    ]
    assert "class Jit" in choice.options[0][1].code


def test_our_kernel_is_explained() -> None:
    ours = jit.Jit(blend)
    ours(torch.ones(5, 7).t(), torch.ones(5), 2.0)
    source = artefacts.kernel_source(ours.versions[0].source)
    assert "relu is here" in noted(source, r"t2 =")
    assert "outside" in noted(source, r"long i1")


def test_both_compilers_stand_in_one_listing_and_long_guards_are_cut() -> None:
    ours = artefacts.Artefacts(
        graph=["t0: a", "t3: b"], guards=["argument x: float"], cpp="float t0 = 1;"
    )
    theirs = artefacts.Artefacts(
        graph=["mul = l_x_ * 2.0"],
        guards=[
            "GLOBAL_STATE: " + "x" * 300,
            "TENSOR_MATCH: check_tensor(L['x'])",
            "NO_TENSOR_ALIASING: x",
            "EQUALS_MATCH: L['gain'] == 2.0",
            "EQUALS_MATCH: G['offset'] == 0.5",
        ],
        cpp="at::vec::Vectorized<float>::loadu(in_ptr0);",
    )
    records = [record for _, record in artefacts.stage_choice(ours, theirs).options]
    assert [record.language for record in records] == ["python", "text", "cpp"]
    assert [record.code.splitlines()[0] for record in records] == ["# tiny", "# tiny", "// tiny"]
    assert max(map(len, records[1].code.splitlines())) < 120


def timing(name: str, seconds: float, baseline: float | None = None) -> Timing:
    rounds = tuple(seconds * (1 + 0.001 * i) for i in range(15))
    low, median, high = quartiles(rounds)
    other = None if baseline is None else tuple(baseline * (1 + 0.001 * i) for i in range(15))
    return Timing(
        name=name,
        first_call_s=seconds,
        rounds_s=rounds,
        calls_per_round=10,
        median_s=median,
        low_s=low,
        high_s=high,
        ratio=paired_ratio(other, rounds) if other else None,
    )


def compared(guarded_s: float) -> Comparison:
    variants = {"addition": 1e-6, "compiled": guarded_s, "unguarded": 8e-6}
    others = [timing(name, seconds, 5e-6) for name, seconds in variants.items()]
    return Comparison(timings=(timing("eager", 5e-6), *others), num_threads=1)


def test_the_price_of_guards_is_a_difference_or_none() -> None:
    assert "20 checks take 2.0 µs of 10 µs" in str(times.guard_finding(compared(10e-6), 20))
    assert "no difference was measured" in str(times.guard_finding(compared(8e-6), 20))
    assert "no difference was measured" in str(times.guard_finding(compared(7e-6), 20))


def test_the_figure_has_one_row_a_variant() -> None:
    figure = times.call_figure(compared(10e-6), elements=35)
    assert figure.name == "call-35"
    assert "takes 2.00" in str(times.call_finding(compared(10e-6), "compiled"))
