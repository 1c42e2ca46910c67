"""What the answers of the chapter on choosing a layout are tested with."""

from __future__ import annotations

from fuseshard.checks.common import check_function, check_number
from fuseshard.distributed.planning import candidates
from fuseshard.show.records import Check
from fuseshard.show.words import Word, word

STATE = "choosing-state"
BUBBLE = "choosing-bubble"
INSIDE = "choosing-inside"
MESHES = "choosing-meshes"

_NUM_PARAMETERS, _BYTES_PER_PARAMETER = 13e9, 16  # of the exercise's text
_DP, _FSDP, _TP = 2, 4, 2
_STAGES, _LARGEST_BUBBLE = 8, 0.1
_GB = 1e9

Mesh = tuple[int, int, int, int]
"""dp, fsdp, tp, pp"""


def check_state(answer: object) -> Check:
    """Check the GB of state on each of 16 GPUs with DP 2, FSDP 4 and TP 2, for 13e9 parameters.

    Args:
        answer: a number in GB (1e9 bytes), or `...`.
    """
    whole = _NUM_PARAMETERS * _BYTES_PER_PARAMETER / _GB
    slips: dict[float, Word] = {
        whole / (_DP * _FSDP * _TP): word("Replicas divide nothing: each holds all of its state."),
        whole / _FSDP: word("TP divides parameters as well."),
        whole / _TP: word("FSDP divides all state, not only part of it."),
        whole: word("That is undivided."),
        whole / _BYTES_PER_PARAMETER * 2 / (_FSDP * _TP): word(
            "Those are the weights; gradients and optimizer state come on top."
        ),
    }
    what = word("State of one GPU, in GB")
    return check_number(STATE, answer, whole / (_FSDP * _TP), what=what, slips=slips)


def check_bubble(answer: object) -> Check:
    """Check the micro-batches from which 8 stages idle for at most a tenth of the ideal time.

    Args:
        answer: a whole number, or `...`.
    """
    needed = (_STAGES - 1) / _LARGEST_BUBBLE
    slips: dict[float, Word] = {
        needed - (_STAGES - 1): word("That is a tenth of the total time, not of the ideal one."),
        _STAGES / _LARGEST_BUBBLE: word("A stage waits for the others, not for itself."),
    }
    what = word("Micro-batches")
    return check_number(BUBBLE, answer, round(needed), what=what, relative_tolerance=0, slips=slips)


def is_inside(gpus_per_node: int, stride: int, degree: int) -> bool:
    """Tell whether all groups of an axis stay inside nodes.

    Args:
        gpus_per_node: GPUs of a node.
        stride: ranks from one member of a group to the next.
        degree: members of a group.
    """
    return gpus_per_node % (stride * degree) == 0


def check_inside(answer: object) -> Check:
    """Check a function like `is_inside`.

    Args:
        answer: function of (gpus_per_node, stride, degree), or `...`.
    """
    cases = [
        (8, 1, 8),
        (8, 1, 16),
        (8, 4, 2),
        (8, 4, 4),
        (8, 8, 2),
        (6, 1, 4),
        (6, 2, 3),
        (4, 1, 3),
    ]
    return check_function(INSIDE, answer, cases, is_inside)


def meshes(num_gpus: int) -> list[Mesh]:
    """List every (dp, fsdp, tp, pp) whose product is a number of GPUs.

    Args:
        num_gpus: all GPUs.
    """
    return list(candidates.meshes(num_gpus))


def check_meshes(answer: object) -> Check:
    """Check a function like `meshes`; the order is free.

    Args:
        answer: function of (num_gpus,), or `...`.
    """
    cases = [(1,), (2,), (6,), (8,), (12,)]
    return check_function(MESHES, answer, cases, meshes, is_same=_same_meshes)


def _same_meshes(got: object, expected: list[Mesh]) -> bool:
    if not isinstance(got, (list, tuple)):
        return False
    return sorted(map(repr, map(_as_tuple, got))) == sorted(map(repr, expected))


def _as_tuple(mesh: object) -> object:
    return tuple(mesh) if isinstance(mesh, (list, tuple)) else mesh
