"""What the kernels compute, in plain torch and float64: the oracle, and the cost without fusion.

Each operation is one kernel in eager mode, which reads its operands from memory and writes its
result there. R = rows, N = columns, S = R x N elements.
"""

import torch


def softmax(x: torch.Tensor) -> torch.Tensor:
    """Compute softmax over the last dim: reads 5 S + 2 R elements, writes 3 S + 2 R.

    Args:
        x: [..., N].

    Returns:
        Like x, float64.
    """
    x = x.double()
    largest = x.amax(-1, keepdim=True)  # reads S, writes R
    shifted = x - largest  # reads S + R, writes S
    numerator = shifted.exp()  # reads S, writes S
    denominator = numerator.sum(-1, keepdim=True)  # reads S, writes R
    return numerator / denominator  # reads S + R, writes S


def rms_norm(x: torch.Tensor, weight: torch.Tensor, *, eps: float) -> torch.Tensor:
    """Divide rows by their root mean square: reads 4 S + 3 R + N elements, writes 3 S + 3 R.

    Args:
        x: [..., N].
        weight: [N].
        eps: added to the mean square.

    Returns:
        Like x, float64; differentiable.
    """
    x, weight = x.double(), weight.double()
    mean_square = x.square().mean(-1, keepdim=True)  # reads S, writes S; reads S, writes R
    inverse = (mean_square + eps).rsqrt()  # reads R, writes R; reads R, writes R
    normal = x * inverse  # reads S + R, writes S
    return normal * weight  # reads S + N, writes S


def linear_cross_entropy(
    hidden: torch.Tensor, weight: torch.Tensor, target: torch.Tensor
) -> torch.Tensor:
    """Compute each token's cross-entropy, with all logits stored three times.

    With L = tokens x words logits: reads 5 L elements and writes 3 L, besides hidden, weight and a
    few numbers a token.

    Args:
        hidden: [N, D].
        weight: [V, D].
        target: [N].

    Returns:
        [N], float64; differentiable.
    """
    logits = hidden.double() @ weight.double().T  # writes L
    largest = logits.amax(-1, keepdim=True)  # reads L
    shifted = logits - largest  # reads L, writes L
    total = shifted.exp().sum(-1)  # reads L, writes L; reads L
    target_logit = shifted.gather(-1, target[:, None]).squeeze(-1)
    return total.log() - target_logit


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    is_causal: bool = False,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Compute attention with all scores stored.

    With P = B x H x T x T scores: reads 7 P elements and writes 5 P, besides q, k and v; with a
    causal mask 1 P more each. The log of the sums is extra.

    Args:
        q: [B, H, T, D].
        k: like q.
        v: like q.
        is_causal: whether a position sees only itself and earlier ones.
        scale: of the scores; by default 1 / sqrt(D).

    Returns:
        Like q, float64; and the log of the sum of exp(scaled scores), [B, H, T].
    """
    q, k, v = q.double(), k.double(), v.double()
    scores = q @ k.transpose(-1, -2)  # writes P
    scores = scores * (q.shape[-1] ** -0.5 if scale is None else scale)  # reads P, writes P
    if is_causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(later, -float("inf"))  # reads P, writes P
    probabilities = softmax(scores)  # reads 5 P, writes 3 P
    return probabilities @ v, scores.logsumexp(-1)  # reads P
