"""The functions that the chapter differentiates.

R = rows (tokens), D = features of a row (width), V = results of a row.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from fuseshard.models.minigpt import Block, MiniGPT, MiniGPTConfig

EPSILON = 1e-6
"""keeps the norm of a row of zeros finite"""


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Divide each row by its root mean square, and scale each column.

    Args:
        x: [R, D]; not modified.
        weight: [D].

    Returns:
        [R, D].

    Source:
        Zhang and Sennrich 2019, arXiv:1910.07467.
    """
    scale = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + EPSILON)
    return x * scale * weight


def rms_norm_backward(
    x: torch.Tensor, weight: torch.Tensor, tangent: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differentiate `rms_norm` by hand.

    With s the scale and n = x s: dn = g w, dw = sum over rows of g n, and
    dx = s (dn - n mean(n dn)), where the second term is there because s depends on x.

    Args:
        x: [R, D]; not modified.
        weight: [D].
        tangent: [R, D], g, the gradient of the result.

    Returns:
        Gradients of `x`, [R, D], and of `weight`, [D].
    """
    scale = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + EPSILON)
    normed = x * scale
    inner = tangent * weight
    through_scale = normed * (normed * inner).mean(dim=-1, keepdim=True)
    return scale * (inner - through_scale), (tangent * normed).sum(dim=0)


def forgetful_backward(
    x: torch.Tensor, weight: torch.Tensor, tangent: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Differentiate `rms_norm` as if the scale were a constant: the mistake to look out for.

    Args:
        x: [R, D]; not modified.
        weight: [D].
        tangent: [R, D], the gradient of the result.

    Returns:
        What is wrong for `x`, [R, D], and right for `weight`, [D].
    """
    scale = torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + EPSILON)
    return scale * tangent * weight, (tangent * x * scale).sum(dim=0)


def wave(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Sum exp(sin(x w)) over the columns: all that its backward pass keeps are intermediates.

    Args:
        x: [R, D]; not modified.
        weight: [D, V].

    Returns:
        [R].
    """
    return torch.exp(torch.sin(x @ weight)).sum(dim=-1)


def ladder(x: torch.Tensor) -> torch.Tensor:
    """Apply sigmoid, tanh and exp, whose derivatives all come from their own results.

    Args:
        x: any shape; not modified.

    Returns:
        The same shape.
    """
    return torch.exp(torch.tanh(torch.sigmoid(x)))


def gelu_by_hand(x: torch.Tensor) -> torch.Tensor:
    """Compute GELU with five operators: x / 2 (1 + erf(x / sqrt(2))).

    Args:
        x: any shape; not modified.

    Returns:
        The same shape.
    """
    return 0.5 * x * (1 + torch.erf(x * 0.5**0.5))


def layer_norm_by_hand(x: torch.Tensor, norm: nn.LayerNorm) -> torch.Tensor:
    """Compute a layer norm over the last dim from its definition.

    Args:
        x: [..., D]; not modified.
        norm: holds weight, bias and epsilon.

    Returns:
        [..., D].
    """
    centred = x - x.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + norm.eps)
    return centred * scale * norm.weight + norm.bias


Half = Callable[[torch.Tensor], torch.Tensor]


def library_half(block: Block) -> Half:
    """Take the feed-forward half of a MiniGPT block: x + down(gelu(up(norm(x)))).

    Args:
        block: its layers are used, not copied.

    Returns:
        A function from [..., D] to [..., D].
    """

    def half(x: torch.Tensor) -> torch.Tensor:
        layers = block.feed_forward
        return x + layers.down(functional.gelu(layers.up(block.feed_forward_norm(x))))

    return half


def spelled_half(block: Block) -> Half:
    """Take the same half, with layer norm and GELU written out.

    Args:
        block: its layers are used, not copied.

    Returns:
        A function from [..., D] to [..., D].
    """

    def half(x: torch.Tensor) -> torch.Tensor:
        layers = block.feed_forward
        normed = layer_norm_by_hand(x, block.feed_forward_norm)
        return x + layers.down(gelu_by_hand(layers.up(normed)))

    return half


def tower(num_halves: int, *, width: int) -> tuple[Half, tuple[nn.Parameter, ...]]:
    """Stack feed-forward halves of MiniGPT blocks.

    Args:
        num_halves: how many.
        width: D, a multiple of 4.

    Returns:
        A function from [..., D] to [..., D], and its parameters.
    """
    blocks = MiniGPT(MiniGPTConfig(num_layers=num_halves, width=width)).blocks
    halves = [library_half(block) for block in blocks if isinstance(block, Block)]

    def stacked(x: torch.Tensor) -> torch.Tensor:
        for half in halves:
            x = half(x)
        return x

    used = [p for name, p in blocks.named_parameters() if "feed_forward" in name]
    return stacked, tuple(used)
