"""The maps of the speed-up. Oracle: float64; what must not be timed is refused."""

import pytest
import torch

from fuseshard.compiler.ledger import maps
from fuseshard.compiler.ledger.records import SpeedMap
from fuseshard.compiler.ledger.workloads import chain
from fuseshard.measure.records import to_json
from fuseshard.measure.schema import read


def work_on(compiled) -> maps.Work:
    links = chain(4)
    return maps.Work(
        eager=links,
        compiled=compiled,
        exact=links,
        inputs=lambda size: (torch.linspace(-1, 1, size),),
    )


def test_a_small_map_has_a_comparison_in_each_place(monkeypatch) -> None:
    monkeypatch.setattr(maps, "CHAIN_ROWS", (2,))
    made = maps.chain_map(columns=(5, 21))
    assert (made.rows, made.columns) == (("2",), (5, 21))
    for cell in made.cells:
        assert [timing.name for timing in cell.comparison.timings] == ["eager", "compiled"]
        assert cell.error == cell.eager_error
    assert read(SpeedMap, to_json(made), "map") == made


def test_a_wrong_result_is_not_timed() -> None:
    """Must-fail twin: a compiled function that has lost its last operation."""
    links = chain(4)
    with pytest.raises(ArithmeticError, match="the compiled result is off"):
        maps._cell("4", work_on(lambda x: links(x) - 0.5), 7, "cpu")


def test_a_result_that_is_no_number_is_not_timed() -> None:
    with pytest.raises(ArithmeticError, match="off by nan"):
        maps._cell("4", work_on(lambda x: x * float("nan")), 7, "cpu")


def test_eager_is_not_compared_with_eager() -> None:
    with pytest.raises(ValueError, match="captured 0 graphs"):
        maps._require_graphs("4", work_on(chain(4)), 7)
