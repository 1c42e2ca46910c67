"""Seconds that collectives take by the alpha-beta model. No torch here.

N = ranks of the group, S = bytes of the payload as `fuseshard.distributed.traffic` defines it.
A message takes alpha + beta S, and adding it to one's own gamma S. Assumed: every rank sends one
message and receives one at a time, and no pair of ranks slows another.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from fuseshard.distributed.network.records import Estimate, Link

Predict = Callable[[Link, float, int], Estimate]
"""link, S, N -> seconds"""


def predict_send(link: Link, payload_bytes: float) -> Estimate:
    """Seconds of one message: alpha + beta S.

    Args:
        link: what a message costs.
        payload_bytes: S, at least 0.
    """
    _check("predict_send", payload_bytes, 2)
    return _cost(link, 1, payload_bytes, 0)


def predict_ring_all_reduce(link: Link, payload_bytes: float, world_size: int) -> Estimate:
    """Seconds of `ring_all_reduce`: 2 (N - 1) messages of S/N, half of them added.

    Args:
        link: what a message costs.
        payload_bytes: S, bytes of the tensor.
        world_size: N, at least 1.
    """
    _check("predict_ring_all_reduce", payload_bytes, world_size)
    steps = world_size - 1
    return _cost(link, 2 * steps, payload_bytes / world_size, steps)


def predict_ring_reduce_scatter(link: Link, payload_bytes: float, world_size: int) -> Estimate:
    """Seconds of `ring_reduce_scatter`: N - 1 messages of S/N, each one added.

    Args:
        link: what a message costs.
        payload_bytes: S, bytes of one rank's input, all parts together.
        world_size: N, at least 1.
    """
    _check("predict_ring_reduce_scatter", payload_bytes, world_size)
    return _cost(link, world_size - 1, payload_bytes / world_size, world_size - 1)


def predict_ring_all_gather(link: Link, payload_bytes: float, world_size: int) -> Estimate:
    """Seconds of `ring_all_gather`: N - 1 messages of S/N.

    Args:
        link: what a message costs.
        payload_bytes: S, bytes of the result, all parts together.
        world_size: N, at least 1.
    """
    _check("predict_ring_all_gather", payload_bytes, world_size)
    return _cost(link, world_size - 1, payload_bytes / world_size, 0)


def predict_tree_all_reduce(link: Link, payload_bytes: float, world_size: int) -> Estimate:
    """Seconds of `tree_all_reduce`: 2 ceil(log2 N) messages of S, half of them added.

    Args:
        link: what a message costs.
        payload_bytes: S, bytes of the tensor.
        world_size: N, at least 1.
    """
    _check("predict_tree_all_reduce", payload_bytes, world_size)
    depth = tree_depth(world_size)
    return _cost(link, 2 * depth, payload_bytes, depth)


def predict_recursive_doubling_all_reduce(
    link: Link, payload_bytes: float, world_size: int
) -> Estimate:
    """Seconds of `recursive_doubling_all_reduce`: log2 P messages of S, and 2 more if P < N.

    Args:
        link: what a message costs.
        payload_bytes: S, bytes of the tensor.
        world_size: N, at least 1; P is the largest power of two up to N.
    """
    _check("predict_recursive_doubling_all_reduce", payload_bytes, world_size)
    swaps = world_size.bit_length() - 1
    folds = int(world_size != 1 << swaps)
    return _cost(link, swaps + 2 * folds, payload_bytes, swaps + folds)


def tree_depth(world_size: int) -> int:
    """Rounds in which a binomial tree reaches all ranks: ceil(log2 N).

    Args:
        world_size: N, at least 1.
    """
    return max(0, world_size - 1).bit_length()


def ring_beats_tree_from_bytes(link: Link, world_size: int) -> float:
    """Size in bytes above which a ring is predicted to be faster than a tree.

    Both times are lines in S; with d = ceil(log2 N) they meet at
    S = (N - 1 - d) / (d - (N - 1)/N) * 2 alpha / (2 beta + gamma).
    With 2 or 3 ranks that is 0: there the ring never has more rounds.

    Args:
        link: what a message costs; one for both algorithms.
        world_size: N, at least 2.

    Raises:
        ValueError: there is only one rank, or the link's bytes cost nothing.
    """
    per_byte = 2 * max(0.0, link.beta_s_per_byte.value) + max(0.0, link.gamma_s_per_byte.value)
    if not isinstance(world_size, int) or world_size < 2 or per_byte == 0:
        raise ValueError(
            f"ring_beats_tree_from_bytes: world_size is {world_size} and a byte costs {per_byte} "
            "s, required are at least 2 ranks and a cost above 0 (else the two lines never "
            "cross); pass the size of the group, and a link with a bandwidth"
        )
    depth, steps = tree_depth(world_size), world_size - 1
    balance_bytes = 2 * max(0.0, link.alpha_s.value) / per_byte
    return (steps - depth) / (depth - steps / world_size) * balance_bytes


PREDICTED: Mapping[str, Predict] = MappingProxyType(
    {
        "ring": predict_ring_all_reduce,
        "tree": predict_tree_all_reduce,
        "recursive doubling": predict_recursive_doubling_all_reduce,
    }
)
"""name of an all-reduce, as in `records.ALGORITHMS` -> what predicts it"""


def _cost(link: Link, num_messages: int, message_bytes: float, num_added: int) -> Estimate:
    """Cost of so many equal messages one after another, some of which are added."""

    def seconds(alpha: float, beta: float, gamma: float) -> float:
        # An interval may reach below 0, where nothing was measured; a message can't.
        alpha, beta, gamma = (max(0.0, number) for number in (alpha, beta, gamma))
        return num_messages * (alpha + beta * message_bytes) + num_added * gamma * message_bytes

    a, b, c = link.alpha_s, link.beta_s_per_byte, link.gamma_s_per_byte
    return Estimate(
        value=seconds(a.value, b.value, c.value),
        low=seconds(a.low, b.low, c.low),
        high=seconds(a.high, b.high, c.high),
    )


def _check(name: str, payload_bytes: float, world_size: int) -> None:
    is_count = isinstance(world_size, int) and world_size >= 1
    if not is_count or not 0 <= payload_bytes < math.inf:
        raise ValueError(
            f"{name}: world_size is {world_size} and payload_bytes {payload_bytes}, required are "
            "at least 1 rank and 0 bytes (they count things); pass the size of the group and "
            "numel() * element_size() of the tensor"
        )
