"""Short names of two machines, and texts that say which of them they speak of."""

from __future__ import annotations

from fuseshard.measure import records as measured
from fuseshard.show.charts.variants import as_value
from fuseshard.show.words import Text, Word, plain, word

Machines = tuple[Text, Text]
"""what tells the first machine's result from the second's"""

LONGEST = 18
"""characters of a name, so that a legend's entry fits on a phone"""

WIDEST = 32
"""characters of a legend's entry; at 360 CSS pixels there is room for 40, and Spanish is longer"""

_SAID_ANYWAY = {"NVIDIA", "AMD", "GeForce", "Tesla", "Graphics", "Generation", "Edition", "GPU"}
"""words in the names of GPUs that tell no two of them apart"""


def machine_names(first: measured.Origin, second: measured.Origin) -> Machines:
    """Name two machines by their GPUs; two of one kind by the dates of their results.

    Args:
        first: of the main result.
        second: of the result beside it.
    """
    names = [short_name(origin.environment) for origin in (first, second)]
    if names[0] != names[1]:
        return plain(names[0]), plain(names[1])
    if first.is_live != second.is_live:
        return _at_home(names[0], first), _at_home(names[0], second)
    dates = [origin.environment.date_utc for origin in (first, second)]
    digits = 10 if dates[0][:10] != dates[1][:10] else len(dates[0])
    one, other = (plain(f"{names[0]}, {date[:digits]}") for date in dates)
    return one, other


def short_name(environment: measured.Environment) -> str:
    """Name a machine in a few characters: "RTX 4090" for "NVIDIA GeForce RTX 4090".

    Args:
        environment: the machine's.
    """
    whole = environment.gpu or environment.cpu
    words = [text for text in whole.split() if text not in _SAID_ANYWAY] or [whole]
    while len(words) > 1 and len(" ".join(words)) > LONGEST:
        words.pop()
    name = " ".join(words)
    return name if len(name) <= LONGEST else name[: LONGEST - 1] + "…"


def of_machine(label: Text, machine: Text) -> Word:
    """Say whose a line, a note or an option is.

    Args:
        label: what it is called where there is one machine.
        machine: whose it is.
    """
    return word("{label}, {machine}", label=as_value(label), machine=as_value(machine))


def legend_entry(label: Text, machine: Text) -> Word:
    """Say whose a line is in its legend, on two lines where one would be too wide for a phone.

    Args:
        label: what it is called where there is one machine.
        machine: whose it is.
    """
    if len(str(label)) + len(str(machine)) <= WIDEST:
        return of_machine(label, machine)
    return word("{label},<br>{machine}", label=as_value(label), machine=as_value(machine))


def both_texts(first: Word, second: Word, machines: Machines) -> Word:
    """Let two captions or text alternatives follow each other; equal ones stand once.

    Args:
        first: of the main result, whole sentences.
        second: of the result beside it.
        machines: the names of the two.
    """
    if first == second:
        return first
    return word(
        "{machine}: {text} {other_machine}: {other_text}",
        machine=as_value(machines[0]),
        text=first,
        other_machine=as_value(machines[1]),
        other_text=second,
    )


def _at_home(name: str, origin: measured.Origin) -> Word:
    if origin.is_live:
        return word("{gpu}, here", gpu=name)
    return word("{gpu}, recorded", gpu=name)
