"""What the answers of the chapter on Inductor are tested with."""

import functools
from collections.abc import Callable, Sequence

import torch
from torch import nn

from fuseshard.checks.common import (
    as_number,
    check_function,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.inductor import load
from fuseshard.compiler.rounding import relative_difference, softmax_bound
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

TEMPERATURE = 2.0

_PEAK_CASES = (
    ([(0, 1, 8), (1, 2, 4)],),
    ([(0, 1, 8), (1, 2, 4), (2, 3, 8)],),
    ([(0, 4, 1), (1, 2, 4), (3, 4, 2), (2, 2, 16)],),
)


def peak_bytes(buffers: Sequence[tuple[int, int, int]]) -> int:
    """Return the most bytes alive at one step.

    Args:
        buffers: first step, last step (still needed there) and bytes of each.
    """
    steps = range(1 + max(last for _, last, _ in buffers))
    return max(sum(size for a, b, size in buffers if a <= step <= b) for step in steps)


def check_peak(answer: object) -> Check:
    """Check a function that works out the peak from the lives of buffers.

    Args:
        answer: function of a list of (first step, last step, bytes) that returns bytes.
    """
    return check_function("inductor-peak", answer, _PEAK_CASES, peak_bytes, is_same=_is_exact)


def centred(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    """Subtract from each row of a rectified product its mean, as the exercise does."""
    h = torch.relu(x @ w)
    return h - h.mean(dim=1, keepdim=True)


@functools.cache
def nodes_and_groups() -> tuple[int, int]:
    """Count nodes and groups, here and now."""
    schedule = decisions(centred, torch.ones(384, 512), torch.ones(512, 512))
    return len(schedule.nodes), len(schedule.groups)


def check_groups(answer: object) -> Check:
    """Check how many nodes the scheduler gets for `centred`, and how many groups it makes.

    Args:
        answer: nodes and groups in a tuple; `...` means nothing yet.
    """
    name = "inductor-groups"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(nodes_and_groups()):
        return wrong(name, word("This needs two counts in a tuple: nodes and groups."))
    given = [as_number(count) for count in answer]
    nodes, groups = nodes_and_groups()
    if given == [nodes, groups]:
        return right(name)
    if given == [groups, nodes]:
        return wrong(name, word("That is groups and nodes; nodes come first."))
    return wrong(name, _groups_hint(given[0], nodes))


def check_temperature(answer: object, inputs: Sequence[torch.Tensor]) -> Check:
    """Check an edited module: it must compute softmax(logits / TEMPERATURE).

    Args:
        answer: text of the module; `...` means nothing yet.
        inputs: weight, bias and hidden states, in the order of the module's arguments.
    """
    name = "inductor-temperature"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, str):
        return wrong(name, word("This needs the text of the edited module."))
    try:
        got = load(answer)(list(inputs))[0]
    except Exception as error:  # the reader's own text: whatever it raises is a hint
        return wrong(name, word("The module doesn't run: {kind}.", kind=type(error).__name__))
    weight, bias, hidden = inputs
    logits = torch.addmm(bias, hidden, weight.t())
    if _is_softmax(got, logits / TEMPERATURE):
        return right(name, word("Right: one more multiplication, and no further pass over memory."))
    return wrong(name, _temperature_hint(got, logits))


def check_graphs(answer: object) -> Check:
    """Check predicted graph counts of three ways to compile the same two layers.

    Args:
        answer: counts for `.compile()` on nn.Sequential, `torch.compile` of nn.Sequential, and
            `.compile()` on a class of one's own; `...` means nothing yet.
    """
    name = "inductor-graphs"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, (tuple, list)) or len(answer) != len(_WAYS):
        return wrong(name, word("This needs {n} counts in a tuple.", n=len(_WAYS)))
    off = [
        way
        for way, given, expected in zip(_WAYS, answer, graph_counts(), strict=True)
        if given != expected
    ]
    if off:
        return wrong(name, word("Off: {ways}", ways="; ".join(off)))
    return right(name)


_WAYS = ("Sequential.compile()", "torch.compile(Sequential)", "OwnClass.compile()")


class _OwnClass(nn.Module):
    """Two layers in a class that isn't torch's."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = _layers()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@functools.cache  # a second round would find its graphs compiled and count none
def graph_counts() -> tuple[int, ...]:
    """Count what torch captures for the three ways, here and now."""
    x = torch.ones(3, 4)
    in_place, own = _layers(), _OwnClass()
    in_place.compile(backend="eager")
    wrapped = torch.compile(_layers(), backend="eager")
    own.compile(backend="eager")
    ways: tuple[Callable[[torch.Tensor], object], ...] = (in_place, wrapped, own)
    return tuple(graphs_captured(functools.partial(way, x)) for way in ways)


def _layers() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 6), nn.Softmax(dim=-1))


def _is_exact(got: object, expected: int) -> bool:
    return as_number(got) == expected


def _is_softmax(got: object, logits: torch.Tensor) -> bool:
    if not isinstance(got, torch.Tensor) or got.shape != logits.shape:
        return False
    # The edited kernel may round once more before the exponential, whose argument stays below 32.
    bound = softmax_bound(logits.shape[-1]) + 64 * 2.0**-24
    return relative_difference(got, torch.softmax(logits, dim=-1)) <= bound


def _groups_hint(given: float | None, nodes: int) -> Word:
    """Say what to look at again."""
    if given is None:
        return word("Both have to be numbers.")
    if given > nodes:
        return word("Too many nodes: what is cheap is computed inside its readers.")
    if given < nodes:
        return word("Too few nodes: a call of a library is one, and so is a reduction.")
    return word("The nodes are right. Which of them may share the loop over rows?")


def _temperature_hint(got: object, logits: torch.Tensor) -> Word:
    """Say what the edited module computes instead, where that can be told."""
    if not isinstance(got, torch.Tensor) or got.shape != logits.shape:
        return word("The result has another shape than the logits.")
    if _is_softmax(got, logits):
        return word("It still computes the softmax at temperature 1.")
    if _is_softmax(got, logits * TEMPERATURE):
        return word("It sharpens the distribution; temperature {t} flattens it.", t=TEMPERATURE)
    if not (got.sum(dim=-1) - 1).abs().max() <= 1e-3:  # NaN compares false
        return word("The rows no longer have the sum 1: every branch needs the same change.")
    return word("The rows have the sum 1, but it is another distribution.")
