"""Show two machines' results in one place: the main one, and another machine's beside it.

Example:

    beside(gpu_size_sweep(), break_even)     # one figure, both machines' lines in it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar, cast

from fuseshard.measure import records as measured
from fuseshard.show.beside.figures import overlaid_figures
from fuseshard.show.beside.names import Machines, machine_names, of_machine
from fuseshard.show.beside.tables import joined_tables
from fuseshard.show.choices import Choice, Choosable, choose
from fuseshard.show.numbers import NARROW_SPACE
from fuseshard.show.recorded import HasOrigin, HasResult, record_it
from fuseshard.show.records import Figure, Source, Table
from fuseshard.show.words import Text, Word, word

R = TypeVar("R", bound=HasOrigin)
S = TypeVar("S", bound=Choosable | Choice)
Option = tuple[Text, Choosable]


def beside(outcome: HasResult[R], draw: Callable[[R], S | Word]) -> S | Choice | Word:
    """Show an experiment's result, another machine's beside it, or how to record it.

    Lines, points and grouped bars of two machines are drawn over each other, tables get a row
    for each, choices are joined option by option. Where one drawing can't hold both (stacked
    bars, spans, heatmaps, different columns or axes, two different texts) the reader chooses the
    machine instead. With one result the page has what `draw` makes of it, and nothing else.

    Args:
        outcome: of an experiment, called on any machine.
        draw: makes a record of one result, under the same names each time; a Word where there
            is nothing to draw, which stands for the main result alone.

    Raises:
        ValueError: two results are there and one of them doesn't say where it comes from.
    """
    if outcome.available is None:
        return record_it(outcome)
    first = draw(outcome.available)
    second = None if outcome.beside is None else draw(outcome.beside)
    if outcome.beside is None or second is None:
        return first
    if isinstance(first, Word) or isinstance(second, Word):
        return first
    machines = machine_names(_origin(outcome.available), _origin(outcome.beside))
    return cast("S | Choice", together(first, second, machines))


def together(
    first: Choosable | Choice, second: Choosable | Choice, machines: Machines
) -> Choosable | Choice:
    """Put two machines' records into one: see `beside`.

    Args:
        first: of the main result.
        second: of the result beside it, drawn by the same function.
        machines: the names of the two.
    """
    if isinstance(first, Choice) and isinstance(second, Choice):
        return _joined_choices(first, second, machines)
    if not isinstance(first, Choice) and not isinstance(second, Choice):
        joined = _in_one(first, second, machines)
        if joined is not None:
            return joined
    options = _apart(first, machines[0], is_second=False)
    options += _apart(second, machines[1], is_second=True)
    return choose(f"{first.name}-machines", word("Machine"), options)


def options_of(label: Text, shown: Choosable | Choice) -> list[Option]:
    """Turn what `beside` returned into options of a larger choice.

    Args:
        label: names the option; before the machine's name, where there is one option for each.
        shown: a record, or a choice of them.
    """
    if isinstance(shown, Choice):
        return [(of_machine(label, said), record) for said, record in shown.options]
    return [(label, shown)]


def _origin(result: HasOrigin) -> measured.Origin:
    if result.origin is None:
        raise ValueError(
            f"beside: got a {type(result).__name__} without an origin, must have one, or nobody "
            "could tell which of two machines it comes from; take it from an experiment"
        )
    return result.origin


def _in_one(first: Choosable, second: Choosable, machines: Machines) -> Choosable | None:
    """One record for both; None where there can't be one."""
    if isinstance(first, Figure) and isinstance(second, Figure):
        return overlaid_figures(first, second, machines)
    if isinstance(first, Table) and isinstance(second, Table):
        return joined_tables(first, second, machines)
    if isinstance(first, Source) and replace(second, origin=first.origin) == first:
        return replace(first, second_origin=second.origin)
    return None


def _joined_choices(first: Choice, second: Choice, machines: Machines) -> Choice:
    """Join option by option; one that only one machine has says so."""
    ours = {str(label): (label, record) for label, record in first.options}
    theirs = {str(label): (label, record) for label, record in second.options}
    groups: dict[str, list[Option]] = {}
    for key in _merged(list(ours), list(theirs), is_scale=first.control == "slider"):
        if key in ours and key in theirs:
            groups[key] = _pair(ours[key], theirs[key][1], machines)
        else:
            which = 0 if key in ours else 1
            label, record = ours[key] if key in ours else theirs[key]
            shown = record if key in ours else _renamed_record(record)
            groups[key] = [(of_machine(label, machines[which]), shown)]
    options = [option for group in groups.values() for option in group]
    start = options.index(groups[list(ours)[first.start]][0])
    # Two options at one place of a slider's scale are no scale any more.
    control = first.control if len(options) == len(groups) else "select"
    return replace(first, options=tuple(options), start=start, control=control)


def _merged(ours: list[str], theirs: list[str], *, is_scale: bool) -> list[str]:
    """All labels, those that only the second has after the one that they follow there."""
    order = list(ours)
    for before, label in pairwise(["", *theirs]):
        if label not in order:
            order.insert(order.index(before) + 1 if before else 0, label)
    values = {label: _value(label) for label in order}
    if is_scale and None not in values.values():
        order.sort(key=lambda label: values[label] or 0.0)
    return order


def _value(label: str) -> float | None:
    try:
        return float(label.replace(NARROW_SPACE, ""))
    except ValueError:
        return None


def _pair(option: Option, other: Choosable, machines: Machines) -> list[Option]:
    """One option with both machines in it, or one for each."""
    label, record = option
    joined = _in_one(record, other, machines)
    if joined is not None:
        return [(label, joined)]
    second = (of_machine(label, machines[1]), _renamed_record(other))
    return [(of_machine(label, machines[0]), record), second]


def _apart(shown: Choosable | Choice, machine: Text, *, is_second: bool) -> list[Option]:
    """Options of one machine, under its name."""
    rename = _renamed_record if is_second else _as_it_is
    if isinstance(shown, Choice):
        return [(of_machine(label, machine), rename(record)) for label, record in shown.options]
    return [(machine, rename(shown))]


def _as_it_is(record: Choosable) -> Choosable:
    return record


def _renamed_record(record: Choosable) -> Choosable:
    """The record under a name of its own, since names become ids on the page."""
    renamed = replace(record, name=f"{record.name}-beside")
    if isinstance(renamed, Figure):
        return replace(renamed, table=replace(renamed.table, name=f"{renamed.table.name}-beside"))
    return renamed
