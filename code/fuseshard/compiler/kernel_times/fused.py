"""A head with its loss, and attention: by hand, by Inductor, by eager mode and by the libraries.

N = tokens, D = features, V = words; B = sequences, H = heads, T = positions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.kernel_times.records import (
    BY_HAND,
    EAGER,
    INDUCTOR,
    FusedPoint,
    FusedTimes,
)
from fuseshard.compiler.modes.cuda_graph import replayed
from fuseshard.compiler.modes.steps import largest_error
from fuseshard.kernels import reference
from fuseshard.kernels.flash_attention import flash_attention
from fuseshard.kernels.linear_cross_entropy import linear_cross_entropy
from fuseshard.measure.clock import compare
from fuseshard.measure.experiments import experiment
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin

HEADS = ((4096, 1024, 50257), (16384, 1024, 50257))
"""N, D and V: GPT-2's vocabulary, which no tile divides"""

ATTENTIONS = ((16, 16, 1024, 64), (4, 16, 4096, 64), (4, 16, 4096, 128))
"""B, H, T and D"""

POINT_S = 3.0
"""seconds for the rounds of one point"""

LARGEST_ERROR = 4.0
"""times eager mode's, both in the same type against float64: more is a bug"""

LIBRARIES = {
    "cuDNN": SDPBackend.CUDNN_ATTENTION,
    "FlashAttention": SDPBackend.FLASH_ATTENTION,
    "memory-efficient": SDPBackend.EFFICIENT_ATTENTION,
}

Tensors = tuple[torch.Tensor, ...]
Call = Callable[[], Tensors]


@experiment("triton.fused-gpu", needs="cuda")
def gpu_fused() -> FusedTimes:
    """Time the fused head and attention on a CUDA GPU in bfloat16."""
    return fused_times(HEADS, ATTENTIONS, device="cuda", dtype=torch.bfloat16)


def fused_times(
    heads: Sequence[tuple[int, int, int]],
    attentions: Sequence[tuple[int, int, int, int]],
    *,
    device: str,
    dtype: torch.dtype,
    point_s: float = POINT_S,
) -> FusedTimes:
    """Time both operations in all ways.

    Args:
        heads: N, D and V of each training step of a head with its loss.
        attentions: B, H, T and D of each causal forward pass.
        device: "cuda"; a CPU has no Triton kernels.
        dtype: of hidden states, weights, queries, keys and values.
        point_s: seconds for the rounds of one point.

    Returns:
        One point a size.

    Raises:
        AssertionError: a result's error is several times eager mode's.
    """
    points = (
        *(_head_point(*sizes, device=device, dtype=dtype, point_s=point_s) for sizes in heads),
        *(_attention_point(s, device=device, dtype=dtype, point_s=point_s) for s in attentions),
    )
    return FusedTimes(points=points, origin=Origin(is_live=True, environment=environment()))


def _head_point(
    tokens: int, features: int, words: int, *, device: str, dtype: torch.dtype, point_s: float
) -> FusedPoint:
    generator = torch.Generator(device).manual_seed(tokens)
    hidden, weight = (
        torch.empty(rows, features, dtype=dtype, device=device).normal_(
            std=std, generator=generator
        )
        for rows, std in ((tokens, 1.0), (words, 0.05))
    )
    target = torch.randint(words, (tokens,), device=device, generator=generator)
    inputs = hidden.requires_grad_(), weight.requires_grad_()

    def plain(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        # In float32, as a loss over 50,000 words needs it; the usual way stores them all.
        return functional.cross_entropy((hidden @ weight.T).float(), target)

    def by_hand(hidden: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return linear_cross_entropy(hidden, weight, target)

    def step(loss_of: Callable[..., torch.Tensor]) -> Call:
        def call() -> Tensors:
            loss = loss_of(*inputs)
            return (loss.detach(), *torch.autograd.grad(loss, inputs))

        return call

    calls = {
        EAGER: step(plain),
        BY_HAND: step(by_hand),
        INDUCTOR: step(torch.compile(isolated(plain), dynamic=False)),
    }
    wide = [tensor.detach().double().requires_grad_() for tensor in inputs]
    loss = functional.cross_entropy(wide[0] @ wide[1].T, target)
    exact = (loss.detach(), *torch.autograd.grad(loss, wide))
    return _point(
        FusedPoint(
            task="linear and cross-entropy",
            shape={"N": tokens, "D": features, "V": words},
            dtype=str(dtype).removeprefix("torch."),
            flop=3 * 2.0 * tokens * features * words,  # forward, and both gradients
            comparison=compare(replayed(calls, device), device=device, budget_s=point_s),
            peak_bytes={},
            errors={},
        ),
        calls,
        exact,
        device,
    )


def _attention_point(
    sizes: tuple[int, int, int, int], *, device: str, dtype: torch.dtype, point_s: float
) -> FusedPoint:
    batch, heads, positions, features = sizes
    generator = torch.Generator(device).manual_seed(positions)
    drawn = (
        torch.empty(sizes, dtype=dtype, device=device).normal_(generator=generator)
        for _ in range(3)
    )
    q, k, v = drawn
    calls = dict(_attention_calls(q, k, v, device))
    exact = reference.attention(q[:1], k[:1], v[:1], is_causal=True)[:1]
    point = FusedPoint(
        task="attention",
        shape={"B": batch, "H": heads, "T": positions, "D": features},
        dtype=str(dtype).removeprefix("torch."),
        flop=2 * 2.0 * batch * heads * positions * (positions + 1) / 2 * features,
        comparison=compare(replayed(calls, device), device=device, budget_s=point_s),
        peak_bytes={},
        errors={},
    )
    firsts = {way: (call()[0][:1],) for way, call in calls.items()}
    return _point(point, calls, exact, device, outputs=firsts)


def _attention_calls(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, device: str
) -> Iterator[tuple[str, Call]]:
    compiled = torch.compile(isolated(_math_attention), dynamic=False)
    yield EAGER, lambda: (_math_attention(q, k, v),)
    yield BY_HAND, lambda: flash_attention(q, k, v, is_causal=True)[:1]
    yield INDUCTOR, lambda: (compiled(q, k, v),)
    for name, backend in LIBRARIES.items() if device == "cuda" else ():

        def call(backend: SDPBackend = backend) -> Tensors:
            with sdpa_kernel(backend):
                return (functional.scaled_dot_product_attention(q, k, v, is_causal=True),)

        yield name, call


def _math_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    """Attend with all scores in memory: what the fused kernels avoid."""
    scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
    later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -float("inf")), -1) @ v


def _point(
    point: FusedPoint,
    calls: dict[str, Call],
    exact: Tensors,
    device: str,
    *,
    outputs: Mapping[str, Tensors] | None = None,
) -> FusedPoint:
    """Add to the times what each way needs in memory, and how far off it is."""
    judged = outputs or {way: call() for way, call in calls.items()}
    found = {way: largest_error(result, exact) for way, result in judged.items()}
    errors = {way: error / found[EAGER] for way, error in found.items()}
    assert max(errors.values()) <= LARGEST_ERROR, (point.task, point.shape, errors)
    peaks = {way: _peak_bytes(call, device) for way, call in calls.items()}
    comparison = replace(point.comparison, origin=None)  # the result has it once for all
    return replace(point, errors=errors, peak_bytes=peaks, comparison=comparison)


def _peak_bytes(call: Call, device: str) -> int:
    """Bytes allocated at the worst moment of one call, results included."""
    if device != "cuda":
        return 0
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before
