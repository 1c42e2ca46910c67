"""How many bytes a collective moves: closed formulas, and the record of one counted call.

N = ranks of the group, S = the call's payload in bytes, as each formula defines it.

*Sent* means: what one rank puts on the wire in the cheapest way that doesn't load one rank more
than another where the task allows it (a ring), as the mean over the ranks of the group. It is a
lower bound of what any implementation sends, without the headers of the transport. No torch here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction


def all_reduce_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in an all-reduce: 2 (N - 1)/N of the tensor.

    A ring first sends (N - 1)/N of the tensor to sum it (reduce-scatter), and as much again to
    hand the sums round (all-gather).

    Args:
        payload_bytes: S, the size of the tensor, equal on all ranks.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks: with a tensor that N doesn't divide, ranks differ a little.

    Source:
        Patarasuk and Yuan 2009, doi:10.1016/j.jpdc.2008.09.002.
    """
    return float(_exact("all_reduce", payload_bytes, world_size))


def all_gather_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in an all-gather: (N - 1)/N of the whole result.

    Args:
        payload_bytes: S, the size of the result, all shards together.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks.
    """
    return float(_exact("all_gather", payload_bytes, world_size))


def reduce_scatter_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in a reduce-scatter: (N - 1)/N of its whole input.

    Args:
        payload_bytes: S, the size of one rank's input, all shards together.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks.
    """
    return float(_exact("reduce_scatter", payload_bytes, world_size))


def all_to_all_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in an even all-to-all: all of its input but its own part.

    Args:
        payload_bytes: S, the size of one rank's input.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks.
    """
    return float(_exact("all_to_all", payload_bytes, world_size))


def broadcast_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in a broadcast, as a mean: N - 1 ranks must receive the tensor.

    Args:
        payload_bytes: S, the size of the tensor.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks: (N - 1)/N of the tensor; who sends them is up to the backend.
    """
    return float(_exact("broadcast", payload_bytes, world_size))


def reduce_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in a reduce, as a mean: all but the root send a tensor.

    Args:
        payload_bytes: S, the size of the tensor.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks: (N - 1)/N of the tensor.
    """
    return float(_exact("reduce", payload_bytes, world_size))


def tree_all_reduce_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in an all-reduce up and down a tree: as in a ring, but as a mean.

    N - 1 ranks send the whole tensor up and N - 1 are sent it on the way down; the root sends
    ceil(log2 N) of these, the leaves one.

    Args:
        payload_bytes: S, the size of the tensor.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks: 2 (N - 1)/N of the tensor.
    """
    return float(_exact("tree_all_reduce", payload_bytes, world_size))


def recursive_doubling_all_reduce_bytes(payload_bytes: int, world_size: int) -> float:
    """Bytes that a rank sends in an all-reduce by recursive doubling: about log2 N tensors.

    Each of P ranks sends the tensor log2 P times, P being the largest power of two up to N; the
    other N - P ranks send theirs once and are sent the sum once.

    Args:
        payload_bytes: S, the size of the tensor.
        world_size: N, number of ranks in the group.

    Returns:
        bytes, mean over the ranks: (P log2 P + 2 (N - P))/N of the tensor.
    """
    return float(_exact("recursive_doubling_all_reduce", payload_bytes, world_size))


@dataclass(frozen=True, kw_only=True)
class CollectiveCall:
    """One call of a collective, or of send or recv, as one rank made it."""

    op: str
    "torch's name: all_reduce, all_gather, reduce_scatter, broadcast, send, ..."
    payload_bytes: int
    "bytes; S as the formula of the operation defines it"
    num_elements: int
    "elements of the payload"
    dtype: str
    "torch's name of the element type, without `torch.`"
    group_size: int
    "ranks in the group"
    group_ranks: tuple[int, ...] = ()
    "global ranks in the group, which tell apart groups of one size; () if not noted"
    kept_bytes: int | None = None
    "bytes of an uneven all-to-all's input that stay on this rank; None where parts are equal"

    @property
    def sent_bytes(self) -> float:
        """Bytes that a rank sends, see the module's head."""
        return float(self.exact_sent_bytes)

    @property
    def exact_sent_bytes(self) -> Fraction:
        """The same as a fraction, so that sums over many calls stay exact."""
        if self.kept_bytes is not None:
            return Fraction(self.payload_bytes - self.kept_bytes)
        return _exact(self.op, self.payload_bytes, self.group_size)


def _ring(num_rounds: int) -> Callable[[int, int], Fraction]:
    """Cost of sending (N - 1)/N of the payload so many times."""
    return lambda payload, size: Fraction(num_rounds * (size - 1) * payload, size)


def _one_part(payload: int, size: int) -> Fraction:
    """Mean cost where each rank but the root sends or is sent one of N parts."""
    return Fraction((size - 1) * payload, size * size)


def _doubling(payload: int, size: int) -> Fraction:
    """Mean cost of recursive doubling."""
    power = 1 << (size.bit_length() - 1)
    tensors = power * (power.bit_length() - 1) + 2 * (size - power)
    return Fraction(tensors * payload, size)


_SENT: dict[str, Callable[[int, int], Fraction]] = {
    "all_reduce": _ring(2),
    "all_gather": _ring(1),
    "reduce_scatter": _ring(1),
    "tree_all_reduce": _ring(2),
    "recursive_doubling_all_reduce": _doubling,
    "all_to_all": _ring(1),
    "broadcast": _ring(1),
    "reduce": _ring(1),
    "gather": _one_part,
    "scatter": _one_part,
    "send": lambda payload, size: Fraction(payload),
    "recv": lambda payload, size: Fraction(0),
    "barrier": lambda payload, size: Fraction(0),
}


def _exact(op: str, payload_bytes: int, world_size: int) -> Fraction:
    if world_size < 1 or payload_bytes < 0:
        raise ValueError(
            f"{op}: world_size is {world_size} and payload_bytes {payload_bytes}, required are "
            "at least 1 rank and 0 bytes (they count things); pass the size of the group and "
            "numel() * element_size() of the tensor"
        )
    return _SENT[op](payload_bytes, world_size)
