"""Predicted times of chains. Oracle: maps whose times are made by the model itself."""

import pytest

from fuseshard.compiler.ledger.chain_model import ChainModel, arithmetic, fit, predictions
from tests.compiler.ledger.conftest import known_map

ROWS, COLUMNS = ("2", "8", "32", "128"), (16, 1024, 32_768, 1_048_576)
# A pass over 16 elements has to be free: fit takes it for part of the call.
TRUE = ChainModel(
    eager_call_s=2e-6,
    compiled_call_s=2e-5,
    pass_s={16: 0.0, 1024: 1e-6, 32_768: 3e-6, 1_048_576: 5e-4},
    arithmetic_s=5e-11,
)


def by_model(model: ChainModel):
    def seconds(row: str, elements: int) -> tuple[float, float]:
        return model.eager_s(int(row), elements), model.compiled_s(int(row), elements)

    return known_map("chain", ROWS, COLUMNS, seconds)


def test_the_fit_finds_the_prices_that_made_the_times() -> None:
    model, _ = fit(by_model(TRUE))
    assert model.eager_call_s == pytest.approx(TRUE.eager_call_s)
    # The call's price is read off a call that also computes, a little.
    assert model.compiled_call_s == pytest.approx(TRUE.compiled_call_s, rel=1e-3)
    assert model.arithmetic_s == pytest.approx(TRUE.arithmetic_s, rel=1e-3)
    assert dict(model.pass_s) == pytest.approx(dict(TRUE.pass_s), abs=1e-12)


def test_what_follows_the_model_is_predicted() -> None:
    made = predictions(by_model(TRUE))
    assert len(made) == 2 * len(ROWS) * len(COLUMNS) - len(fit(by_model(TRUE))[1])
    assert max(abs(p.error) for p in made) < 1e-3


def test_arithmetic_is_read_off_any_row_that_has_some() -> None:
    chains = by_model(TRUE)
    for operations in (32, 128):
        found = arithmetic(chains, operations, TRUE.compiled_call_s)
        assert found == pytest.approx(TRUE.arithmetic_s)
    assert arithmetic(chains, 128, 1.0) < 0  # a call that hides everything


def test_what_does_not_follow_the_model_is_missed() -> None:
    """Must-fail twin: arithmetic that memory doesn't hide."""

    def seconds(row: str, elements: int) -> tuple[float, float]:
        arithmetic_s = int(row) * elements * TRUE.arithmetic_s
        compiled_s = TRUE.compiled_call_s + TRUE.pass_s[elements] + arithmetic_s
        return TRUE.eager_s(int(row), elements), compiled_s

    made = predictions(known_map("chain", ROWS, COLUMNS, seconds))
    assert max(abs(p.error) for p in made) > 0.1


def test_the_ceiling_is_what_long_chains_come_near_to() -> None:
    ceiling = TRUE.ceiling(1_048_576)
    assert TRUE.speedup(10**7, 1_048_576) == pytest.approx(ceiling, rel=1e-4)
    assert TRUE.speedup(128, 1_048_576) < ceiling


def test_a_short_chain_on_few_elements_loses() -> None:
    assert TRUE.speedup(2, 16) < 1 < TRUE.speedup(128, 16)
