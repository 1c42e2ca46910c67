"""What the debugging chapter draws. Oracles: findings made up for the test."""

import pytest

from fuseshard.compiler.debugging.records import (
    LogEntry,
    Minified,
    TraceEvent,
    Trial,
    UlpCount,
)
from fuseshard.show.chapters.debugging import findings, logs


def test_the_first_entry_of_each_artifact_can_be_picked():
    entries = [
        LogEntry(artifact="recompiles", frame="0/1", text="Recompiling f\n    - 0/0: size"),
        LogEntry(artifact="graph_code", frame="0/0", text="def forward(self, L_x_: 'f32[3]'):"),
        LogEntry(artifact="graph_code", frame="0/1", text="L_x_: later"),
        LogEntry(artifact="unknown", frame="0/0", text="x"),
    ]
    choice = logs.entries_choice(entries)
    assert [str(label) for label, _ in choice.options] == ["recompiles", "graph_code"]
    assert "later" not in choice.options[1][1].code


def test_events_without_a_meaning_are_counted():
    events = [
        TraceEvent(name="dynamo_output_graph", frame="0/0", payload_lines=3),
        TraceEvent(name="chromium_event", frame="0/0", payload_lines=11),
    ]
    table = logs.events_table(events)
    assert len(table.rows) == 1
    assert "1 further events" in str(table.notes[0])


def test_trials_show_what_went_wrong():
    trials = [
        Trial(name="eager", ending="right", detail=""),
        Trial(name="inductor", ending="raises", detail="E: no"),
    ]
    rows = findings.trials_table("ladder", trials).rows
    assert [str(row[2]) for row in rows] == ["—", "E: no"]


def test_each_way_has_its_trials_and_its_time():
    rows = findings.price_table({"ladder": (3, 1.5), "minifier": (22, 9.0)}).rows
    assert [(str(row[0]), str(row[3])) for row in rows] == [
        ("ladder", "1.50 s"),
        ("minifier", "9.00 s"),
    ]
    with pytest.raises(KeyError):
        findings.price_table({"guess": (1, 0.1)})


def test_the_minifiers_figure_counts_trials():
    made = Minified(nodes=(18, 6, 3), queries=22, repro="def forward(self, x):\n    return x\n")
    assert "From 18 nodes to 3, in 22 trials" in str(findings.minified_figure(made).caption)
    assert findings.repro_source(made).code == made.repro


def test_shares_of_exact_results_stand_in_the_caption():
    counts = [
        UlpCount(name="f", way=way, counts=(n, 4 - n, 0), largest=1)
        for way, n in (("eager", 1), ("compiled", 4))
    ]
    counts += [
        UlpCount(name="g", way=way, counts=(2, 2, 0), largest=1) for way in ("eager", "compiled")
    ]
    choice = findings.ulps_choice(counts)
    caption = str(choice.options[0][1].caption)
    assert "25.0 % of eager's" in caption.replace("25 %", "25.0 %")
    assert findings.exact_share(counts[1]) == 1.0
