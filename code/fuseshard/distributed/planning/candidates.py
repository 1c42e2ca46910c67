"""All layouts of a number of GPUs, and why some can't be."""

from __future__ import annotations

from collections.abc import Iterator

from fuseshard.distributed.planning.records import Degrees, ModelShape, Reason


def divisors(number: int) -> list[int]:
    """Return what divides a number, smallest first.

    Args:
        number: at least 1.
    """
    small = [d for d in range(1, int(number**0.5) + 1) if number % d == 0]
    large = [number // d for d in reversed(small) if d * d != number]
    return small + large


def meshes(num_gpus: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield every (dp, fsdp, tp, pp) whose product is the number of GPUs.

    Args:
        num_gpus: all GPUs.
    """
    for dp in divisors(num_gpus):
        for fsdp in divisors(num_gpus // dp):
            for tp in divisors(num_gpus // dp // fsdp):
                yield dp, fsdp, tp, num_gpus // dp // fsdp // tp


def obstacle(model: ModelShape, mesh: tuple[int, int, int, int]) -> Reason | None:
    """Name the first of the model's sizes that a degree doesn't divide.

    Whole heads, whole keys and values, equal parts of the feed-forward part and of the sequence
    (sequence parallelism) go to each tp rank, whole layers to each stage, whole sequences to each
    rank that has data of its own.

    Args:
        model: the shape.
        mesh: dp, fsdp, tp, pp.
    """
    dp, fsdp, tp, pp = mesh
    sizes: dict[Reason, int] = {
        "num_heads": model.num_heads,
        "num_kv_heads": model.num_kv_heads,
        "feed_forward_width": model.feed_forward_width,
        "sequence": model.sequence,
    }
    for name, size in sizes.items():
        if size % tp:
            return name
    if model.num_layers % pp:
        return "num_layers"
    if model.global_batch % (dp * fsdp):
        return "global_batch"
    return None


def layouts(model: ModelShape, mesh: tuple[int, int, int, int]) -> Iterator[Degrees]:
    """Yield a mesh with every number of micro-batches, with and without recomputing.

    Args:
        model: the shape.
        mesh: dp, fsdp, tp, pp, without an obstacle.
    """
    dp, fsdp, tp, pp = mesh
    for count in divisors(model.global_batch // (dp * fsdp)):
        for recomputes in (False, True):
            yield Degrees(dp, fsdp, tp, pp, count, recomputes)
