"""What the chapter on graph breaks shows. Oracles: specimens and sweeps made by hand.

Plain data, and one visit to three exhibits for the listing.
"""

import pytest

from fuseshard.compiler.breaks import museum
from fuseshard.compiler.breaks.exhibit import visit
from fuseshard.compiler.breaks.records import (
    Break,
    BreakCost,
    Dissection,
    Specimen,
    ToolTrial,
    Trial,
)
from fuseshard.measure.experiments import Outcome
from fuseshard.palette import LIGHT_TO_DARK
from fuseshard.show.chapters.graph_breaks import anatomy, cost, cost_findings
from fuseshard.show.chapters.graph_breaks import museum as show
from fuseshard.show.choices import Choice
from fuseshard.show.records import Figure, Source, Table
from fuseshard.show.words import Word

BYTECODE = """\
  1           0 RESUME                   0
              2 LOAD_GLOBAL              3 (NULL + __compiled_fn_1)
             14 LOAD_FAST                0 (x)
             16 CALL                     1
  5          30 LOAD_GLOBAL              0 (graph_break)
             32 CALL                     0
             40 LOAD_GLOBAL              7 (__resume_at_32_2)
             50 CALL_FUNCTION_EX         0
             60 RETURN_VALUE
"""


def make_break(**changes) -> Break:
    fields = {
        "kind": "Some reason",
        "explanation": "It can't.",
        "hints": ("Use `torch.where`.",),
        "aftermath": "",
        "line": 2,
        "ending": "resumed",
    }
    return Break(**(fields | changes))


def make_trial(*graphs: int, breaks=(), error=None, is_same=True, printed=("",)) -> Trial:
    return Trial(
        graphs=graphs,
        operations=(1,) * graphs[0],
        breaks=tuple(breaks),
        error=error,
        is_same=is_same and error is None,
        printed=printed,
    )


def make_specimen(name: str, default: Trial, full: Trial, **changes) -> Specimen:
    is_broken = bool(default.breaks)
    fields = {
        "room": "control",
        "title": f"{name}()",
        "cause": "if",
        "source": "def f(x):\n    return x",
        "fixed": make_trial(1) if is_broken else None,
        "fixed_source": "def g(x):\n    return x" if is_broken else "",
        "remedy": "torch.where" if is_broken else "",
    }
    return Specimen(name=name, default=default, full=full, **(fields | changes))


def make_specimens() -> tuple[Specimen, ...]:
    """One exhibit of each status, one that recompiles and one with another result."""
    found, fatal = make_break(), make_break(ending=None)
    error = make_trial(0, error=fatal)
    aftermath = make_break(aftermath="graph break in loop", hints=())
    return (
        make_specimen("whole", make_trial(1, 0, 0, 0), make_trial(1)),
        make_specimen("cut", make_trial(2, 0, 0, 0, breaks=[found]), error),
        make_specimen("shy", make_trial(2, 0, 0, 0, breaks=[found]), make_trial(1), cause=None),
        make_specimen("lost", make_trial(0, 0, 0, 0, breaks=[aftermath]), error, room="whole"),
        make_specimen(
            "set", make_trial(0, 0, 0, 0, breaks=[found]), make_trial(1), fixed_source=""
        ),
        make_specimen("restless", make_trial(1, 1, 1, 1), make_trial(1), cause="mutation"),
        make_specimen("other", make_trial(1, 0, is_same=False), make_trial(1), cause="library"),
    )


def cells(table: Table, column: int) -> list[str]:
    return [str(getattr(row[column], "text", row[column])) for row in table.rows]


def test_each_status_is_counted_in_its_room() -> None:
    figure = show.floor_plan(make_specimens())
    heads = [str(column.title) for column in figure.table.columns]
    rows = {str(row[0]): [int(cell.number) for cell in row[1:]] for row in figure.table.rows}
    assert len(heads) == 6
    assert rows["Branches, loops, assertions"] == [3, 1, 1, 1, 0]
    assert rows["Where no graph can resume"] == [0, 0, 0, 0, 1]
    assert str(figure.caption).startswith("3 of 7 exhibits are one graph")


def test_the_floor_plan_has_a_dark_partner_for_each_of_its_colours() -> None:
    colours = {
        trace["marker"]["color"] for trace in show.floor_plan(make_specimens()).figure["data"]
    }
    assert colours <= set(LIGHT_TO_DARK)
    looks = {(mark.light, mark.pattern) for mark in show.status_marks().values()}
    assert len(looks) == len(show.status_marks())


def test_a_rooms_table_says_what_each_exhibit_does() -> None:
    choice = show.tables(make_specimens())
    assert isinstance(choice, Choice)
    first, last = (record for _, record in choice.options)
    assert cells(first, 1) == ["1", "2", "2", "0", "1, anew at each call", "1, with another result"]
    assert cells(first, 2) == ["1", "error", "1", "1", "1", "1"]
    assert cells(first, 4) == [
        "no longer true",
        "holds",
        "—",
        "only by default",
        "no break, but recompiles",
        "no break, but another result",
    ]
    assert cells(last, 3) == ["Some reason → graph break in loop"]


def test_a_listing_hangs_notes_on_the_lines_of_its_exhibits() -> None:
    first, last = (record for _, record in show.listings(make_specimens()).options)
    assert isinstance(first, Source)
    texts = {note.first: str(note.text) for note in first.notes}
    lines = first.code.splitlines()
    assert texts[1] == "One graph."
    assert texts[5] == "Graphs: 2. “Some reason”. Hint: “Use `torch.where`.”"
    assert texts[7] == "Repaired: one graph, the same result."
    assert all(lines[line - 1] for line in texts)
    assert "Repaired by torch.where." in texts.values()
    assert "One graph, but a new one at each call." in texts.values()
    assert "One graph, but not the result of eager mode." in texts.values()
    assert "Graphs: 0. “Some reason”." in [str(note.text) for note in last.notes]


def test_a_real_exhibits_note_stands_on_the_line_that_breaks() -> None:
    exhibits = {entry.name: entry for entry in museum.ROOMS["control"]}
    names = ("shape-if", "data-if", "raise-on-nan")
    specimens = [visit(exhibits[name], "control") for name in names]
    listing = show._room_listing("control", specimens)
    broken = [n.first for n in listing.notes if "Data-dependent" in str(n.text)]
    lines = listing.code.splitlines()
    assert [lines[line - 1].strip() for line in broken] == [
        "if y.sum() > 0:",
        "if y.isnan().any():",
    ]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (("cut", "cut"), "holds"),
        (("whole",), "no longer true"),
        (("whole", "restless"), "no longer true; some recompile at each call"),
        (("shy",), "only without fullgraph"),
        (("whole", "shy"), "only some, and only without fullgraph"),
        (("whole", "cut"), "too general"),
    ],
)
def test_a_piece_of_advice_is_judged_by_all_its_exhibits(verdicts, expected: str) -> None:
    error = make_trial(0, error=make_break())
    kinds = {
        "cut": make_specimen("cut", make_trial(2, 0, breaks=[make_break()]), error),
        "shy": make_specimen("shy", make_trial(2, 0, breaks=[make_break()]), make_trial(1)),
        "whole": make_specimen("whole", make_trial(1, 0), make_trial(1)),
        "restless": make_specimen("restless", make_trial(1, 1), make_trial(1)),
    }
    assert str(show.advice_verdict([kinds[kind] for kind in verdicts])) == expected


def test_the_court_has_a_row_for_each_cause_that_is_blamed() -> None:
    table = show.court(make_specimens())
    assert cells(table, 0) == ["branches on values", "changing Python data", "calls into libraries"]
    assert cells(table, 1) == ["3/4", "0/1", "0/1"]
    assert cells(table, 2) == ["2/4", "0/1", "0/1"]


def test_of_the_bytecode_only_loads_and_calls_are_shown() -> None:
    assert anatomy.names_called(BYTECODE) == ("__compiled_fn_1", "__resume_at_32_2")
    source = anatomy.calls_source(BYTECODE)
    assert len(source.code.splitlines()) == 7
    assert "LOAD_FAST" not in source.code
    assert "the 7 of 9 instructions" in str(source.caption)
    assert [note.first for note in source.notes] == [1, 3, 5]


def test_bytecode_without_a_break_is_refused() -> None:
    uncut = BYTECODE.replace("__resume_at_32_2", "print")
    with pytest.raises(ValueError, match="__resume_at_"):
        anatomy.calls_source(uncut)


def test_the_tables_of_pieces_and_losses_have_a_row_each() -> None:
    pieces = anatomy.pieces_table([(2, 2), (3, 1)], [(2, 2), (3, 1)])
    assert [cell.number for cell in pieces.rows[1]] == [2, 3, 1, 3, 1]
    one = Dissection(graphs=1, kernels=1, written_bytes=400, guards=10, bytecode="")
    two = Dissection(graphs=2, kernels=2, written_bytes=800, guards=21, bytecode="")
    losses = anatomy.losses_table([one, two])
    assert [[cell.number for cell in row] for row in losses.rows] == [
        [1, 1, 400, 10],
        [2, 2, 800, 21],
    ]


def test_a_tools_row_says_what_each_call_printed() -> None:
    trials = [
        ToolTrial(tool="a", trial=make_trial(2, 0, printed=("mean tensor(2.1)\n", ""))),
        ToolTrial(tool="b", trial=make_trial(1, 0, printed=("mean FakeTensor(...)\n", ""))),
        ToolTrial(tool="c", trial=make_trial(0, error=make_break(), printed=("",))),
    ]
    table = anatomy.tools_table(trials)
    assert cells(table, 1) == ["2", "1", "error"]
    assert cells(table, 2) == ["the value", "no value: FakeTensor(...)", "nothing"]
    assert cells(table, 3) == ["nothing", "nothing", "nothing"]


def make_cost(make, *letters: str, origin=None) -> BreakCost:
    sweeps = tuple(make.sweep(verdicts) for verdicts in letters)
    elements = tuple(10 ** (index + 2) for index in range(len(letters)))
    return BreakCost(
        device="cpu", num_operations=16, elements=elements, sweeps=sweeps, origin=origin
    )


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        ("fff", "compiling gains at every number of graphs tried"),
        ("sss", "compiling loses at every number of graphs tried"),
        ("nnn", "neither a gain nor a loss was measured at either end"),
        ("nfn", "neither a gain nor a loss was measured at either end"),
        ("fnn", "compiling gains with a single graph"),
        ("ffn", "compiling gains up to 4 graphs"),
        ("nss", "compiling loses from 4 graphs on"),
        ("ffs", "compiling gains up to 4 graphs, and loses from 16 graphs on"),
        ("fns", "compiling gains with a single graph, and loses from 16 graphs on"),
    ],
)
def test_a_finding_claims_no_more_than_was_measured(make, letters: str, expected: str) -> None:
    finding = cost_findings.pays_finding(1000, make.sweep(letters))
    assert str(finding) == f"with 1\u202f000 elements, {expected}"


@pytest.mark.parametrize(
    ("letters", "expected"),
    [
        (("fs", "fs"), "no gain was measured at any size, as the advice says"),
        (("ff", "ff"), "a gain was measured at every size, against the advice"),
        (
            ("fs", "ff"),
            "it depends on the size: with 1\u202f000 elements compiling still gains (2.00×)",
        ),
    ],
)
def test_the_advice_is_judged_at_one_number_of_graphs(make, letters, expected: str) -> None:
    assert str(cost_findings.advice_finding(make_cost(make, *letters), graphs=4)) == expected


def test_without_a_recording_the_findings_say_so() -> None:
    assert str(cost_findings.every_finding(None)) == "nothing is recorded yet"
    assert str(cost_findings.advice_finding(None, graphs=4)) == "nothing is recorded yet"


def test_the_price_of_a_break_is_what_compiled_adds_over_eager(make) -> None:
    # Eager: 10 and 30 µs; compiled: 5 and 60 µs; three more graphs.
    assert cost_findings.seconds_per_break(make.sweep("fs")) == pytest.approx((55e-6 - 20e-6) / 3)


def test_the_figure_has_a_line_a_size_and_the_formula(make, live) -> None:
    figure = cost.speedups(make_cost(make, "fns", "ffn", origin=live))
    assert isinstance(figure, Figure)
    names = [trace["name"] for trace in figure.figure["data"]]
    assert names == ["100 elements", "1\u202f000 elements", "bytes saved"]
    assert list(figure.figure["data"][-1]["y"]) == [16.0, 4.0, 1.0]
    assert "with 100 elements, compiling gains with a single graph" in str(figure.caption)
    assert len(figure.table.rows) == 6
    assert figure.origin is not None


def test_the_explorer_has_an_option_a_size(make, live) -> None:
    choice = cost.explorer(make_cost(make, "fns", "ffn", "sss", origin=live))
    assert choice.control == "slider"
    labels = [str(label) for label, _ in choice.options]
    assert labels[0] == "100 elements"
    assert all(len(figure.table.rows) == 3 for _, figure in choice.options)


def test_a_missing_recording_says_how_to_make_it(make) -> None:
    missing = Outcome(experiment_id="x.y", state="not recorded yet", note="", available=None)
    shown = cost.recorded(missing)
    assert isinstance(shown, Word)
    assert "x.y needs a CUDA GPU" in str(shown)
    found = Outcome(experiment_id="x.y", state="recorded", note="", available=make_cost(make, "fs"))
    assert isinstance(cost.recorded(found), Figure)
