"""MiniGPT's forward pass and training step, as functions that torch.compile can be tried on.

B = sequences in the batch, T = tokens in a sequence.
"""

from collections.abc import Callable, Sequence

import torch
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.records import Task
from fuseshard.models.minigpt import MiniGPT

Outputs = tuple[torch.Tensor, ...]
Step = Callable[[torch.Tensor], Outputs]
Compile = Callable[[Callable[..., torch.Tensor]], Callable[..., torch.Tensor]]


def tokens_for(batch: int, tokens: int, *, device: str, seed: int = 0) -> torch.Tensor:
    """Draw token numbers.

    Args:
        batch: B.
        tokens: T.
        device: where they lie.
        seed: of the generator.

    Returns:
        [B, T], int64.
    """
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randint(MiniGPT().config.vocabulary, (batch, tokens), generator=generator)
    return drawn.to(device)


def step_for(task: Task, model: MiniGPT, compile_with: Compile | None = None) -> Step:
    """Make one task of a model a function of its tokens alone.

    What is compiled has a code object of its own, so that no version counts towards another's
    recompile limit.

    Args:
        task: "inference", the logits; or "training", the loss and the gradient of each parameter
            (next tokens of the same batch are the targets; no parameter is changed).
        model: whose parameters are used; for inference none may need a gradient.
        compile_with: makes a compiled function of a plain one; None leaves it eager.

    Returns:
        A function of [B, T] tokens that returns a tuple of tensors.
    """
    if task == "inference":
        forward = isolated(model)
        logits = compile_with(forward) if compile_with else forward
        return lambda tokens: (logits(tokens),)

    def mean_loss(tokens: torch.Tensor) -> torch.Tensor:
        scores = model(tokens[:, :-1]).flatten(0, 1)
        # In float32 whatever the parameters are: a mean over thousands of tokens needs it.
        return functional.cross_entropy(scores.float(), tokens[:, 1:].flatten())

    plain = isolated(mean_loss)
    loss_of = compile_with(plain) if compile_with else plain
    parameters = list(model.parameters())

    def step(tokens: torch.Tensor) -> Outputs:
        loss = loss_of(tokens)
        return (loss.detach(), *torch.autograd.grad(loss, parameters))

    return step


def exact_outputs(task: Task, model: MiniGPT, tokens: torch.Tensor) -> Outputs:
    """Compute a task in float64, eagerly: what all ways to run it are judged by.

    Args:
        task: "inference" or "training".
        model: its parameters are copied and widened.
        tokens: [B, T].

    Returns:
        What the step returns, in float64; the loss of training excepted, which is a float32 mean.
    """
    wide = MiniGPT(model.config).to(device=tokens.device, dtype=torch.float64)
    wide.load_state_dict(model.state_dict())
    if task == "inference":
        wide.requires_grad_(False)
    return step_for(task, wide)(tokens)


def largest_error(outputs: Sequence[torch.Tensor], exact: Sequence[torch.Tensor]) -> float:
    """Return the largest error of several tensors, each relative to its own largest value.

    Args:
        outputs: what to judge.
        exact: as many tensors of the same shapes, none of them all zero.

    Returns:
        The maximum over the tensors of max |output - exact| / max |exact|.

    Raises:
        ValueError: numbers or shapes of the tensors differ.
    """
    shapes = [[tuple(tensor.shape) for tensor in side] for side in (outputs, exact)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"largest_error: shapes are {shapes[0]} and {shapes[1]}, must be equal (tensor is "
            "compared with tensor); pass the results of the same step."
        )
    return max(
        ((got.double() - true.double()).abs().max() / true.double().abs().max()).item()
        for got, true in zip(outputs, exact, strict=True)
    )
