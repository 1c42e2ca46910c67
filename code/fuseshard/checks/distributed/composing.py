"""What the answers of the chapter on composing are tested with."""

from collections.abc import Callable, Sequence
from typing import Any

from fuseshard.checks.common import (
    check_function,
    check_number,
    is_open,
    open_question,
    right,
    wrong,
)
from fuseshard.distributed.layouts.counted import formula_bytes
from fuseshard.distributed.layouts.records import Layout
from fuseshard.distributed.layouts.workload import Workload
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

PEERS = "composing-peers"
SHARE = "composing-share"
BYTES = "composing-bytes"
ORDER = "composing-order"

_MEASURED = Layout(pp=2, fsdp=2, tp=2)
_STEPS = ("parallelize", "compile", "checkpoint", "fully_shard")


def peers(rank: int, degrees: Sequence[int], axis: int) -> list[int]:
    """Return the ranks that differ from a rank in one coordinate alone, itself included.

    Args:
        rank: index of the rank.
        degrees: of the axes, outermost first.
        axis: index of the axis in `degrees`.
    """
    stride = 1
    for degree in degrees[axis + 1 :]:
        stride *= degree
    first = rank - rank // stride % degrees[axis] * stride
    return [first + place * stride for place in range(degrees[axis])]


def check_peers(answer: object) -> Check:
    """Check a function like `peers`.

    Args:
        answer: function of (rank, degrees, axis), or `...`.
    """
    cases: list[tuple[Any, ...]] = [
        (0, (4,), 0),
        (1, (2, 2), 0),
        (1, (2, 2), 1),
        (7, (3, 2, 4), 1),
        (17, (3, 2, 4), 0),
        (22, (3, 2, 4), 2),
    ]
    return check_function(PEERS, answer, cases, peers)


def share(*place: int) -> int:
    """Return which part of the batch a rank computes, in a mesh with the axes in this order.

    Args:
        *place: the rank, then the degrees of pp, dp, fsdp and tp, outermost first.
    """
    rank, _, dp, fsdp, tp = place
    return rank // tp % (dp * fsdp)


def check_share(answer: object) -> Check:
    """Check a function like `share`.

    Args:
        answer: function of (rank, pp, dp, fsdp, tp), or `...`.
    """
    sizes = ((1, 1, 2, 2), (2, 2, 1, 2), (2, 1, 3, 2), (1, 2, 2, 3))
    cases = [(rank, *degrees) for degrees in sizes for rank in (0, 1, 3, 5, 7, 11)]
    allowed = [case for case in cases if case[0] < case[1] * case[2] * case[3] * case[4]]
    return check_function(SHARE, answer, allowed, share)


def check_bytes(answer: object) -> Check:
    """Check the bytes that a rank sends along tp with twice as many layers.

    Args:
        answer: bytes in one step under pp 2 × fsdp 2 × tp 2, with 8 layers, or `...`.
    """
    expected = _tensor_bytes(num_layers=8)
    slips: dict[float, Word] = {
        _tensor_bytes(num_layers=4): word("That is what four layers send."),
        2 * _tensor_bytes(num_layers=4): word(
            "Not everything doubles: embedding, output head and loss stay as they are."
        ),
        2 * expected: word("A rank has only one of the two stages."),
    }
    what = word("Sent along tp, in bytes")
    return check_number(BYTES, answer, expected, what=what, relative_tolerance=0, slips=slips)


def check_order(answer: object) -> Check:
    """Check the order in which a model is cut, compiled, checkpointed and sharded.

    Args:
        answer: the four names, the one applied first at the start, or `...`.
    """
    if is_open(answer):
        return open_question(ORDER)
    is_list = isinstance(answer, (list, tuple)) and all(isinstance(one, str) for one in answer)
    if not is_list or sorted(answer) != sorted(_STEPS):  # type: ignore[call-overload]
        names = ", ".join(_STEPS)
        return wrong(
            ORDER, word("This needs a list of these four, each once: {names}", names=names)
        )
    places = {name: answer.index(name) for name in _STEPS}  # type: ignore[attr-defined]
    hints: list[tuple[Callable[[dict[str, int]], bool], Word]] = [
        (
            lambda at: at["parallelize"] != 0,
            word("The plan names modules of the model: what happens if they are wrapped already?"),
        ),
        (
            lambda at: at["fully_shard"] != 3,
            word("Whose hooks must not lie inside a compiled region?"),
        ),
        (
            lambda at: at["checkpoint"] < at["compile"],
            word("Which of the two failed on matrices that are cut?"),
        ),
    ]
    for is_wrong, hint in hints:
        if is_wrong(places):
            return wrong(ORDER, hint)
    return right(ORDER)


def _tensor_bytes(num_layers: int) -> float:
    """What a rank sends along tp under the layout of the exercise."""
    workload = Workload()
    sizes = {**vars(workload.config), "num_layers": num_layers}
    deeper = Workload(config=type(workload.config)(**sizes))
    return formula_bytes(deeper, _MEASURED)["tp"]
