"""What a recorder hears. Oracle: torch.compile's own counters, and sizes that we chose.

Every graph runs as it is (backend "eager"), so a compile takes milliseconds.
"""

import logging

import pytest
import torch
from torch._dynamo.utils import counters  # torch's own count of graphs

from fuseshard.compiler.recompiles import programs
from fuseshard.compiler.recompiles.recorder import Recorder, describe
from fuseshard.compiler.recompiles.records import History
from fuseshard.compiler.recompiles.scenarios import by_length, record, rows


def history_of(*lengths: int, **options: object) -> History:
    return record(by_length(lengths, **options))


def states(history: History) -> str:
    return "".join(call.state[0] for call in history.calls)


def test_each_call_says_what_it_did_and_why() -> None:
    history = history_of(5, 7, 9, 1, 5)
    assert states(history) == "crhrh"
    assert [call.ran for call in history.calls] == [(0,), (1,), (1,), (2,), (1,)]
    assert [call.graphs_so_far for call in history.calls] == [1, 2, 2, 3, 3]
    (wrong,) = history.calls[1].failures
    assert (wrong.kind, wrong.dim, wrong.expected, wrong.actual) == ("size", 0, "5", "7")
    assert [wrong.entry for wrong in history.calls[3].failures] == [1, 0]


def test_the_count_is_torchs_own() -> None:
    before = counters["stats"]["unique_graphs"]
    history = history_of(5, 7, 1, 9)
    assert counters["stats"]["unique_graphs"] - before == len(history.graphs) == 3


def test_results_are_those_of_the_function() -> None:
    recorder = Recorder(programs.scaled_softmax)
    for length in (4, 1, 0, 7):
        assert torch.equal(recorder(rows(length)), programs.scaled_softmax(rows(length)))


def test_a_second_recording_starts_afresh() -> None:
    """Or Dynamo would remember by file, line and name that the size had changed."""
    assert states(history_of(5, 7)) == states(history_of(5, 7)) == "cr"


def test_the_original_is_neither_compiled_nor_renamed() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        return x.sin()

    code = fn.__code__
    Recorder(fn)(rows(3))
    assert fn.__code__ is code
    compiled = torch.compile(fn, backend="eager")
    before = counters["stats"]["unique_graphs"]
    compiled(rows(3))
    assert counters["stats"]["unique_graphs"] == before + 1


def test_the_limit_warns_once_under_the_functions_own_name() -> None:
    history = history_of(*range(2, 13), dynamic=False)
    assert states(history) == "crrrrrrreee"
    (warned,) = [call for call in history.calls if call.warning]
    assert warned.index == 8
    assert "function: 'scaled_softmax' (programs.py:" in warned.warning
    assert len(warned.failures) == 8
    assert not history.calls[9].failures


def test_what_is_known_still_hits_past_the_limit() -> None:
    assert states(history_of(2, 3, 4, 2, 4, 3, dynamic=False, recompile_limit=2)) == "crehe" + "h"


def test_torch_logs_nothing_meanwhile_and_again_afterwards(
    caplog: pytest.LogCaptureFixture,
) -> None:
    logger = logging.getLogger("torch._dynamo")
    logger.addHandler(caplog.handler)
    try:
        history_of(2, 3, dynamic=False, recompile_limit=1)
        assert caplog.messages == []
        logging.getLogger("torch._dynamo.convert_frame").warning("positive control")
        assert caplog.messages == ["positive control"]
    finally:
        logger.removeHandler(caplog.handler)


def test_an_exception_passes_and_is_no_call() -> None:
    recorder = Recorder(programs.scaled_softmax, fullgraph=True, recompile_limit=1, dynamic=False)
    recorder(rows(3))
    with pytest.raises(Exception, match="fullgraph=True"):
        recorder(rows(4))
    assert len(recorder.history.calls) == 1


def test_symbols_have_range_hint_and_source() -> None:
    static, symbolic = history_of(5, 7).graphs
    assert static.symbols == ()
    (symbol,) = symbolic.symbols
    assert (symbol.stands_for, symbol.hint, symbol.low, symbol.high) == (
        "x.size()[0]",
        7,
        2,
        None,
    )
    assert symbolic.inputs == (f"x: float32[{symbol.name}, 6]",)


def test_a_branch_cuts_the_range() -> None:
    short, long = record(
        by_length((5, 12), fn=programs.long_or_short, mark=torch._dynamo.mark_dynamic)
    ).graphs
    assert [(s.low, s.high) for s in (*short.symbols, *long.symbols)] == [(2, 10), (11, None)]
    assert short.conditions == (f"{short.symbols[0].name} <= 10",)


def test_an_unbacked_symbol_has_no_hint() -> None:
    recorder = Recorder(programs.positive_places, fullgraph=True)
    recorder(rows(5))
    (symbol,) = recorder.history.graphs[0].symbols
    assert (symbol.hint, symbol.stands_for, symbol.low, symbol.high) == (None, None, 0, 30)


def test_arguments_are_described_by_what_differs() -> None:
    x = torch.ones(2, 3, dtype=torch.float64)
    assert describe((x, 4, "a")) == "2×3 float64, 4, a"
    assert describe((torch.nn.Linear(1, 1), [x, x], torch.tensor(1.0))) == "2, ()"
