"""MiniGPT's tasks as functions that torch.compile can be tried on.

B = sequences in the batch, T = tokens in a sequence, R = rows, D = width, V = words.
"""

import copy
from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.nn import functional

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.records import Task
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

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


class Head(nn.Module):
    """MiniGPT's head and a softmax: one matrix product, and what follows it in a kernel."""

    def __init__(self, config: MiniGPTConfig | None = None) -> None:
        super().__init__()
        self.config = config or MiniGPTConfig()
        self.linear = MiniGPT(self.config).head

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Turn hidden states into probabilities.

        Args:
            hidden: [R, D].

        Returns:
            [R, V].
        """
        return torch.softmax(self.linear(hidden), -1)


def hidden_for(rows: int, *, device: str, dtype: torch.dtype, seed: int = 0) -> torch.Tensor:
    """Draw hidden states for the head.

    Args:
        rows: R.
        device: where they lie.
        dtype: of their elements.
        seed: of the generator.

    Returns:
        [R, D].
    """
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(rows, MiniGPTConfig().width, generator=generator).to(device, dtype)


def step_for(task: Task, model: MiniGPT | Head, compile_with: Compile | None = None) -> Step:
    """Make one task of a model a function of its tokens or hidden states alone.

    What is compiled has a code object of its own, so that no version counts towards another's
    recompile limit.

    Args:
        task: "inference", the logits; "head", the probabilities; or "training", the loss and the
            gradient of each parameter (next tokens of the same batch are the targets; no
            parameter is changed).
        model: whose parameters are used, a Head for the task of that name; but for training none
            may need a gradient.
        compile_with: makes a compiled function of a plain one; None leaves it eager.

    Returns:
        A function of [B, T] tokens or [R, D] hidden states that returns a tuple of tensors.
    """
    if task != "training":
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


def exact_outputs(task: Task, model: MiniGPT | Head, inputs: torch.Tensor) -> Outputs:
    """Compute a task in float64, eagerly: what all ways to run it are judged by.

    Args:
        task: as step_for takes it.
        model: its parameters are copied and widened.
        inputs: [B, T] tokens or [R, D] hidden states, which are widened.

    Returns:
        What the step returns, in float64; the loss of training excepted, which is a float32 mean.
    """
    wide = copy.deepcopy(model).double().requires_grad_(task == "training")
    return step_for(task, wide)(inputs.double() if task == "head" else inputs)


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
