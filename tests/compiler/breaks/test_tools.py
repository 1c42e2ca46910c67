"""Tools for one print. Oracle: what eager mode prints, and the facts of torch 2.13."""

import pytest

from fuseshard.compiler.breaks.exhibit import numbers
from fuseshard.compiler.breaks.records import Trial
from fuseshard.compiler.breaks.tools import TOOLS, last_words, talkative, try_tools

PRINTED = "mean tensor(2.1250)\n"


@pytest.fixture(scope="module")
def trials() -> dict[str, Trial]:
    return {entry.tool: entry.trial for entry in try_tools()}


def test_there_is_one_trial_a_tool(trials: dict[str, Trial]) -> None:
    assert list(trials) == [tool.name for tool in TOOLS]
    assert len(trials) == 10


@pytest.mark.parametrize(
    ("tool", "graphs", "printed"),
    [
        ("torch.compile(fn)", 2, (PRINTED, PRINTED)),
        ("if not torch.compiler.is_compiling():", 1, ("", "")),
        ("config.reorderable_logging_functions", 1, (PRINTED, PRINTED)),
        ("config.ignore_logging_functions", 1, ("", "")),
        ("@torch.compiler.disable", 2, (PRINTED, PRINTED)),
        ("@torch.library.custom_op -> None", 1, ("", "")),
        ("@torch.library.custom_op -> Tensor", 1, (PRINTED, PRINTED)),
    ],
)
def test_a_tool_leaves_so_many_graphs_and_so_much_of_the_print(
    trials: dict[str, Trial], tool: str, graphs: int, printed: tuple[str, ...]
) -> None:
    trial = trials[tool]
    assert trial.graphs == (graphs, 0)
    assert trial.printed == printed
    assert trial.is_same


def test_a_traced_function_prints_once_and_no_value(trials: dict[str, Trial]) -> None:
    trial = trials["@torch._dynamo.nonstrict_trace"]
    assert "FakeTensor" in trial.printed[0]
    assert trial.printed[1] == ""
    assert trial.is_whole


@pytest.mark.parametrize(
    ("tool", "line"), [("fullgraph=True", 4), ("with torch._dynamo.error_on_graph_break(True):", 5)]
)
def test_two_tools_turn_the_break_into_an_error(
    trials: dict[str, Trial], tool: str, line: int
) -> None:
    error = trials[tool].error
    assert error is not None
    assert error.line == line


def test_the_print_before_a_crash_is_lost_once_it_is_moved() -> None:
    assert last_words() == PRINTED
    assert last_words(reorderable_logging_functions={print}) == ""


def test_eager_mode_prints_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    talkative(*numbers())
    assert capsys.readouterr().out == PRINTED
