"""Which part of which matrix lives on which rank: placements as plain data. No torch here.

N = ranks, D = width, H = heads, V = vocabulary. A range is (start, stop), as in Python.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Protocol

Ranges = tuple[tuple[int, int], ...]
"""parts of one dim, in the order in which a rank keeps them"""


class Sizes(Protocol):
    """What is read of `models.minigpt.MiniGPTConfig`."""

    @property
    def vocabulary(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def num_layers(self) -> int: ...
    @property
    def num_heads(self) -> int: ...
    @property
    def context(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Where the parts of one parameter live."""

    name: str
    "the parameter's name in the whole model"
    shape: tuple[int, ...]
    "elements; of the whole parameter"
    dim: int | None
    "the dim that is cut; None if each rank has the whole"
    ranges: tuple[Ranges, ...]
    "along `dim`, one entry a rank; empty if each rank has the whole"

    def local_shape(self, rank: int) -> tuple[int, ...]:
        """Shape of what one rank holds.

        Args:
            rank: index of the rank in its group.
        """
        if self.dim is None:
            return self.shape
        length = sum(stop - start for start, stop in self.ranges[rank])
        return (*self.shape[: self.dim], length, *self.shape[self.dim + 1 :])


def even_ranges(size: int, num_parts: int) -> tuple[Ranges, ...]:
    """Cut a dim into one range a rank, as equal as they come, the longer ones first.

    DTensor cuts like `torch.chunk`: all parts of ceil(size/N) until nothing is left, so that its
    last ranks may get less, or nothing.

    Args:
        size: length of the dim.
        num_parts: N, number of ranks.

    Raises:
        ValueError: num_parts is no count of ranks, or there are fewer elements than ranks.
    """
    check_degree(num_parts)
    check_count("size", size)
    if size < num_parts:
        raise ValueError(
            f"tensor_parallel: the dim to cut has {size} elements, must be at least tp_degree "
            f"{num_parts} (each rank needs a part of it); use fewer ranks"
        )
    small, num_larger = divmod(size, num_parts)
    starts = [rank * small + min(rank, num_larger) for rank in range(num_parts + 1)]
    return tuple(((a, b),) for a, b in pairwise(starts))


def own_ranges(ranges: Sequence[Ranges] | None, size: int, rank: int, num_ranks: int) -> Ranges:
    """Return what one rank holds of a dim.

    Args:
        ranges: one entry a rank; None means pieces as equal as they come.
        size: length of the dim.
        rank: index of the rank.
        num_ranks: N, number of ranks.

    Raises:
        ValueError: this rank isn't in the group, there isn't one entry a rank, or one lies
            outside the dim.
    """
    if rank < 0:
        raise ValueError(
            "tensor_parallel: this rank is not in the group, required is a member (it holds a "
            "part for the others); make the layer on the group's ranks only"
        )
    if ranges is None:
        return even_ranges(size, num_ranks)[rank]
    if len(ranges) != num_ranks:
        raise ValueError(
            f"tensor_parallel: ranges has {len(ranges)} entries, must have one for each of "
            f"{num_ranks} ranks (others would hold parts that nobody asks for); cut it anew"
        )
    for start, stop in ranges[rank]:
        if not 0 <= start < stop <= size:
            raise ValueError(
                f"tensor_parallel: ranges holds ({start}, {stop}), must lie between 0 and {size} "
                "and not be empty (it cuts a dim of that length); cut it anew"
            )
    return ranges[rank]


def check_degree(tp_degree: object) -> int:
    """Return the number of ranks if it is one.

    Args:
        tp_degree: N, number of ranks that share a layer.

    Raises:
        ValueError: it isn't a whole number of at least 1.
    """
    if isinstance(tp_degree, bool) or not isinstance(tp_degree, int) or tp_degree < 1:
        raise ValueError(
            f"tensor_parallel: tp_degree is {tp_degree!r}, must be a whole number of at least 1 "
            "(it counts the ranks that share a layer); use 2 for the smallest that shares"
        )
    return tp_degree


def check_count(name: str, value: object) -> None:
    """Refuse what can't be the number of things.

    Args:
        name: of the argument.
        value: of the argument.

    Raises:
        ValueError: it isn't a whole number of at least 1.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(
            f"tensor_parallel: {name} is {value!r}, must be a whole number of at least 1 (it "
            f"counts things); pass {name}=1 or more"
        )


def check_sizes(sizes: Sizes, tp_degree: int, *, sequence_length: int | None = None) -> None:
    """Refuse a model that can't be shared out among so many ranks; call it before any starts.

    Args:
        sizes: of the model.
        tp_degree: N, number of ranks.
        sequence_length: T, if tokens are shared out as well (sequence parallelism).

    Raises:
        ValueError: N doesn't divide the heads or the tokens, a rank would get nothing, or a
            number isn't a count.
    """
    check_degree(tp_degree)
    for name in ("num_heads", "vocabulary"):
        check_count(name, getattr(sizes, name))
    _check_multiple("num_heads", sizes.num_heads, tp_degree, "each rank holds whole heads")
    if sizes.vocabulary < tp_degree:
        raise ValueError(
            f"tensor_parallel: vocabulary is {sizes.vocabulary}, must be at least tp_degree "
            f"{tp_degree} (each rank holds some tokens); use tp_degree {sizes.vocabulary} or less"
        )
    if sequence_length is not None:
        check_count("sequence_length", sequence_length)
        why = "a reduce-scatter gives each rank equally many tokens"
        _check_multiple("sequence_length", sequence_length, tp_degree, why)


def minigpt_placements(sizes: Sizes, tp_degree: int) -> dict[str, Placement]:
    """Lay out MiniGPT: attention by heads, feed-forward by hidden features, the rest by tokens.

    Rows of a weight are outputs. `qkv` has 3 D rows, for queries, keys and values in turn; a rank
    takes its heads' rows of each, so three ranges. Norms, positions and the biases that are added
    after a sum stay whole on every rank.

    Args:
        sizes: of the model.
        tp_degree: N, number of ranks.

    Returns:
        by parameter name, in the model's order.

    Raises:
        ValueError: see `check_sizes`.
    """
    check_sizes(sizes, tp_degree)
    width, vocabulary = sizes.width, sizes.vocabulary
    tokens = _Cut(0, even_ranges(vocabulary, tp_degree))
    found = [_place("token_embedding.weight", vocabulary, width, cut=tokens)]
    found.append(_place("position_embedding.weight", sizes.context, width))
    for index in range(sizes.num_layers):
        found += _block_placements(f"blocks.{index}", width, tp_degree)
    found += [_place("norm.weight", width), _place("norm.bias", width)]
    found.append(_place("head.weight", vocabulary, width, cut=tokens))
    found.append(_place("head.bias", vocabulary, cut=tokens))
    return {placement.name: placement for placement in found}


@dataclass(frozen=True)
class _Cut:
    """How a parameter is cut."""

    dim: int | None
    ranges: tuple[Ranges, ...]


_NOT_CUT = _Cut(None, ())


def _place(name: str, *shape: int, cut: _Cut = _NOT_CUT) -> Placement:
    return Placement(name=name, shape=shape, dim=cut.dim, ranges=cut.ranges)


def _block_placements(block: str, width: int, tp_degree: int) -> list[Placement]:
    """Placements of one block, in the model's order."""
    features, hidden = even_ranges(width, tp_degree), even_ranges(4 * width, tp_degree)
    heads = tuple(
        tuple((part * width + start, part * width + stop) for part in range(3))
        for ((start, stop),) in features
    )
    return [
        _place(f"{block}.attention_norm.weight", width),
        _place(f"{block}.attention_norm.bias", width),
        _place(f"{block}.attention.qkv.weight", 3 * width, width, cut=_Cut(0, heads)),
        _place(f"{block}.attention.qkv.bias", 3 * width, cut=_Cut(0, heads)),
        _place(f"{block}.attention.out.weight", width, width, cut=_Cut(1, features)),
        _place(f"{block}.attention.out.bias", width),
        _place(f"{block}.feed_forward_norm.weight", width),
        _place(f"{block}.feed_forward_norm.bias", width),
        _place(f"{block}.feed_forward.up.weight", 4 * width, width, cut=_Cut(0, hidden)),
        _place(f"{block}.feed_forward.up.bias", 4 * width, cut=_Cut(0, hidden)),
        _place(f"{block}.feed_forward.down.weight", width, 4 * width, cut=_Cut(1, hidden)),
        _place(f"{block}.feed_forward.down.bias", width),
    ]


def num_local_elements(placements: Mapping[str, Placement], rank: int) -> int:
    """Count the parameters that one rank holds.

    Args:
        placements: of a model.
        rank: index of the rank in its group.
    """
    return sum(prod(placement.local_shape(rank)) for placement in placements.values())


def _check_multiple(name: str, value: int, tp_degree: int, why: str) -> None:
    """Refuse a size that the ranks can't share equally, and say which degrees could."""
    if value % tp_degree:
        *most, last = (str(degree) for degree in range(1, value + 1) if value % degree == 0)
        choices = f"{', '.join(most)} or {last}" if most else last
        raise ValueError(
            f"tensor_parallel: {name} is {value}, must be a multiple of tp_degree {tp_degree} "
            f"({why}); use tp_degree {choices}"
        )
