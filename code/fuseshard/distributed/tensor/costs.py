"""What tensor parallelism sends in a training step: closed formulas. No torch here.

N = ranks, D = width, V = vocabulary, L = blocks; M = tokens in the step (sequences times length).
"""

from fuseshard.distributed.tensor.placements import Sizes, check_count, check_degree
from fuseshard.distributed.traffic import all_gather_bytes, all_reduce_bytes

ALL_REDUCES_PER_BLOCK = 4
"""forward one behind attention and one behind the feed-forward, backward one in front of each"""


def block_bytes(num_tokens: int, width: int, tp_degree: int, *, element_bytes: int = 4) -> float:
    """Bytes that a rank sends for one transformer block in one step, forward and backward.

    Four all-reduces of an activation, with or without sequence parallelism: whatever the size of
    the weights, which never travel.

    Args:
        num_tokens: M, tokens in the step.
        width: D, features of a token.
        tp_degree: N, number of ranks.
        element_bytes: of one activation.

    Raises:
        ValueError: tokens, features or ranks aren't counts.
    """
    for name, value in (("num_tokens", num_tokens), ("width", width)):
        check_count(name, value)
    activation = num_tokens * width * element_bytes
    return ALL_REDUCES_PER_BLOCK * all_reduce_bytes(activation, check_degree(tp_degree))


def step_bytes(
    sizes: Sizes, num_tokens: int, tp_degree: int, *, element_bytes: int = 4
) -> dict[str, float]:
    """Bytes that a rank sends in one training step of MiniGPT, by part of the model.

    Args:
        sizes: of the model.
        num_tokens: M, tokens in the step.
        tp_degree: N, number of ranks.
        element_bytes: of one activation.

    Returns:
        "blocks"; "ends": the embedding forward and the head backward, an all-reduce each;
        "loss": three all-reduces of a number a token.

    Raises:
        ValueError: see `block_bytes`.
    """
    block = block_bytes(num_tokens, sizes.width, tp_degree, element_bytes=element_bytes)
    end = all_reduce_bytes(num_tokens * sizes.width * element_bytes, tp_degree)
    return {
        "blocks": sizes.num_layers * block,
        "ends": 2 * end,
        "loss": 3 * all_reduce_bytes(num_tokens * element_bytes, tp_degree),
    }


def regathered_bytes(
    sizes: Sizes, num_tokens: int, tp_degree: int, *, element_bytes: int = 4
) -> float:
    """Bytes that a rank sends in addition if inputs of cut layers are gathered twice.

    Args:
        sizes: of the model.
        num_tokens: M, tokens in the step.
        tp_degree: N, number of ranks.
        element_bytes: of one activation.
    """
    num_layers = 2 * sizes.num_layers + 1  # two a block, and the head
    whole = num_tokens * sizes.width * element_bytes
    return num_layers * all_gather_bytes(whole, tp_degree)


def data_parallel_bytes(sizes: Sizes, num_ranks: int, *, element_bytes: int = 4) -> float:
    """Bytes that a rank sends for the weights of one block under data parallelism.

    Args:
        sizes: of the model; a block has about 12 D² parameters.
        num_ranks: N, number of ranks.
        element_bytes: of one gradient.
    """
    width = sizes.width
    parameters = 12 * width * width + 13 * width
    return all_reduce_bytes(parameters * element_bytes, num_ranks)
