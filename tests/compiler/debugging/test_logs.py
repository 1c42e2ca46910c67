"""Logs and traces, cut into entries. Oracle: torch's own counters and names, in child processes."""

import pytest

from fuseshard.compiler.debugging.logs import log_entries, trace_events

PROGRAM = """
import torch
def step(x):
    y = x.sin()
    if y.sum() > 0:
        y = y + 1
    return y.cos()
fast = torch.compile(step, backend="eager")
fast(torch.ones(3))
fast(torch.ones(4))
"""


TOLD = """
import torch
torch._logging.trace_structured("artifact", lambda: {"name": "told"},
    payload_fn=lambda: "one\\n\\n\\nfour")
torch._logging.trace_structured("artifact", lambda: {"name": "next"},
    payload_fn=lambda: "one")
"""


def test_entries_name_their_artifact_and_their_frame():
    entries = log_entries(PROGRAM, "graph_breaks,recompiles")
    assert [(e.artifact, e.frame) for e in entries] == [
        ("graph_breaks", "0/0"),
        ("recompiles", "0/1"),
        ("graph_breaks", "0/1"),
        ("recompiles", "1/1"),
    ]
    assert "expected 3, actual 4" in entries[1].text
    assert "convert_frame.py" not in "".join(e.text for e in entries)  # no prefix is left


def test_a_program_that_fails_is_no_log():
    with pytest.raises(RuntimeError, match="ended with status 1"):
        log_entries("raise ValueError('no')", "recompiles")


def test_a_trace_keeps_the_graph_of_each_compile():
    events = trace_events(PROGRAM)
    graphs = [e.frame for e in events if e.name == "dynamo_output_graph"]
    assert graphs == ["0/0", "1/0", "0/1", "1/1"]
    assert all(e.payload_lines > 0 for e in events if e.name == "dynamo_output_graph")


def test_a_payload_is_counted_beyond_its_empty_lines():
    (event,) = [e for e in trace_events(TOLD) if e.name == "told"]
    assert event.payload_lines == 4
