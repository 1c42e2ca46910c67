"""Predicting how long a chain of elementwise operations takes, eager and compiled.

n = operations in the chain, N = elements of the tensor.
    eager:     n (o_e + m(N))              every operation is a call and a pass over memory
    compiled:  o_c + max(m(N), n N a)      one call, one pass; arithmetic hides memory or exceeds it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fuseshard.compiler.ledger.records import COMPILED, EAGER, SpeedMap


@dataclass(frozen=True, kw_only=True)
class ChainModel:
    """Four measured prices, and what follows from them."""

    eager_call_s: float
    """o_e: seconds of one eager operation on hardly any data"""
    compiled_call_s: float
    """o_c: seconds of one compiled call on hardly any data"""
    pass_s: Mapping[int, float]
    """m(N): seconds to read and write N elements once, by N"""
    arithmetic_s: float
    """a: seconds of one operation on one element that is in a register already"""

    def eager_s(self, operations: int, elements: int) -> float:
        """Predict an eager chain."""
        return operations * (self.eager_call_s + self.pass_s[elements])

    def compiled_s(self, operations: int, elements: int) -> float:
        """Predict a compiled chain."""
        arithmetic_s = operations * elements * self.arithmetic_s
        return self.compiled_call_s + max(self.pass_s[elements], arithmetic_s)

    def speedup(self, operations: int, elements: int) -> float:
        """Predict the speed-up."""
        return self.eager_s(operations, elements) / self.compiled_s(operations, elements)

    def ceiling(self, elements: int) -> float:
        """Return the speed-up that the model's longer and longer chains come near to."""
        return (self.eager_call_s + self.pass_s[elements]) / (elements * self.arithmetic_s)


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """One predicted time beside the measured one."""

    variant: str
    """eager or compiled"""
    operations: int
    elements: int
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """Predicted over measured, minus 1."""
        return self.predicted_s / self.measured_s - 1


def fit(chains: SpeedMap) -> tuple[ChainModel, frozenset[tuple[str, int, int]]]:
    """Read the four prices off a few cells of a map of chains.

    Args:
        chains: of the family "chain"; its first row gives the price of a call and of a pass, the
            longest chain at the middle size the price of arithmetic.

    Returns:
        The model, and the measurements (variant, operations, elements) that it has used up.
    """
    few, many = int(chains.rows[0]), int(chains.rows[-1])
    tiny = chains.columns[:2]
    middle = chains.columns[len(chains.columns) // 2]
    eager = {size: _seconds(chains, EAGER, few, size) / few for size in chains.columns}
    # On hardly any data a call is all that there is to pay, and noise only ever adds to it.
    eager_call_s = min(eager[size] for size in tiny)
    compiled_call_s = min(_seconds(chains, COMPILED, few, size) for size in tiny)
    passes = {size: max(seconds - eager_call_s, 0.0) for size, seconds in eager.items()}
    arithmetic_s = arithmetic(chains, many, compiled_call_s)
    model = ChainModel(
        eager_call_s=eager_call_s,
        compiled_call_s=compiled_call_s,
        pass_s=passes,
        arithmetic_s=arithmetic_s,
    )
    used = {(EAGER, few, size) for size in chains.columns}
    used |= {(COMPILED, few, size) for size in tiny}
    return model, frozenset(used | {(COMPILED, many, middle)})


def arithmetic(chains: SpeedMap, operations: int, compiled_call_s: float) -> float:
    """Read off one row of a map what an operation on one element in a register costs.

    Args:
        chains: of the family "chain"; its middle size is used.
        operations: length of the chain, the map's row.
        compiled_call_s: seconds of one compiled call on hardly any data.

    Returns:
        Seconds; below zero where the call's price hides the arithmetic.
    """
    middle = chains.columns[len(chains.columns) // 2]
    worked_s = _seconds(chains, COMPILED, operations, middle) - compiled_call_s
    return worked_s / (operations * middle)


def predictions(chains: SpeedMap) -> tuple[Prediction, ...]:
    """Predict every time of a map of chains that the fit hasn't used.

    Args:
        chains: as `fit` takes it.
    """
    model, used = fit(chains)
    made = []
    for cell in chains.cells:
        operations, elements = int(cell.row), cell.column
        predicted_s = {
            EAGER: model.eager_s(operations, elements),
            COMPILED: model.compiled_s(operations, elements),
        }
        made += [
            Prediction(
                variant=variant,
                operations=operations,
                elements=elements,
                predicted_s=seconds,
                measured_s=cell.comparison[variant].median_s,
            )
            for variant, seconds in predicted_s.items()
            if (variant, operations, elements) not in used
        ]
    return tuple(made)


def _seconds(chains: SpeedMap, variant: str, operations: int, elements: int) -> float:
    return chains.cell(str(operations), elements).comparison[variant].median_s
