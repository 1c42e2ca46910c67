"""Writing tokens with compiled steps: graphs counted, tokens compared, time taken.

The advice under test says: pad to a fixed length, switch compiling off for generation, compile
only the forward pass.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import torch

from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.ledger.records import Generation
from fuseshard.measure.clock import compare
from fuseshard.models.decoding import (
    greedy,
    growing_step,
    prefill,
    recompute,
    static_cache,
    static_step,
)
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

CONFIG = MiniGPTConfig(num_layers=1, context=64)
"""one layer: its step has every kernel that four layers have"""

SEQUENCES, PROMPT_TOKENS, NEW_TOKENS = 2, 8, 32
"""two sequences, because a batch of one is a constant of the graph"""

Step = Callable[..., Any]
Compile = Callable[[Step], Step]
Writer = Callable[[], torch.Tensor]


class Writers:
    """One model and one prompt, and the ways to go on writing.

    Args:
        model: which one; its parameters need no gradient.
        prompt: [B, P], int64.
        num_tokens: tokens to write in each sequence.
    """

    def __init__(self, model: MiniGPT, prompt: torch.Tensor, num_tokens: int) -> None:
        """Read the prompt, which every cached way begins with."""
        self.model, self.prompt, self.num_tokens = model, prompt, num_tokens
        self.first, self.read = prefill(model, prompt)

    def without_cache(self) -> torch.Tensor:
        """Write tokens by reading the whole sequence anew for each."""
        return recompute(self.model, self.prompt, self.num_tokens)

    def growing(self, compile_with: Compile | None = None) -> Writer:
        """Return a writer whose cache is one place longer at every step."""
        step = _made(growing_step, compile_with)

        def write() -> torch.Tensor:
            cache = self.read

            def next_logits(token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
                nonlocal cache
                logits: torch.Tensor
                logits, cache = step(self.model, token, position, cache)
                return logits

            return greedy(next_logits, self.first, self.prompt.shape[1], self.num_tokens)

        return write

    def static(self, compile_with: Compile | None = None) -> Writer:
        """Return a writer whose cache has as many places as the model can read."""
        step = _made(static_step, compile_with)
        places = self.model.config.context

        def write() -> torch.Tensor:
            cache = static_cache(self.model, self.read, places)

            def next_logits(token: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
                logits: torch.Tensor = step(self.model, token, position, cache)
                return logits

            return greedy(next_logits, self.first, self.prompt.shape[1], self.num_tokens)

        return write


def writers() -> Writers:
    """Make the model and the prompt of the chapter."""
    model = MiniGPT(CONFIG).requires_grad_(False)
    generator = torch.Generator().manual_seed(0)
    prompt = torch.randint(CONFIG.vocabulary, (SEQUENCES, PROMPT_TOKENS), generator=generator)
    return Writers(model, prompt, NEW_TOKENS)


def count_graphs(made: Writers, *, dynamic: bool | None) -> dict[str, int]:
    """Count the graphs that each cache leads to while one answer is written.

    The backend is Dynamo alone: what is captured doesn't depend on who compiles it.

    Args:
        made: model and prompt.
        dynamic: as torch.compile takes it; None: static first, then what has changed is dynamic.

    Returns:
        "growing" and "static" -> graphs.
    """
    compile_with = functools.partial(torch.compile, backend="eager", dynamic=dynamic)
    ways = {"growing": made.growing(compile_with), "static": made.static(compile_with)}
    return {way: graphs_captured(write) for way, write in ways.items()}


def generate(made: Writers, *, budget_s: float = 5.0) -> Generation:
    """Write the same tokens in five ways, and time them.

    Args:
        made: model and prompt.
        budget_s: seconds of timing; compiling comes on top.

    Returns:
        "no cache", "growing" and "static" eagerly, and "growing, compiled" (for any length) and
        "static, compiled" (for the one shape that there is).

    Raises:
        ArithmeticError: two ways wrote different tokens.
    """
    ways: dict[str, Writer] = {
        "growing": made.growing(),
        "static": made.static(),
        "no cache": made.without_cache,
        "growing, compiled": made.growing(functools.partial(torch.compile, dynamic=True)),
        "static, compiled": made.static(functools.partial(torch.compile, dynamic=False)),
    }
    tokens: dict[str, torch.Tensor] = {}
    graphs = {}
    for way, write in ways.items():
        graphs[way] = graphs_captured(functools.partial(_keep, tokens, way, write))
    require_same(tokens)
    comparison = compare(ways, rounds=9, budget_s=budget_s)
    return Generation(
        num_tokens=made.num_tokens,
        num_sequences=len(made.prompt),
        comparison=comparison,
        tokens={way: tuple(written[0].tolist()) for way, written in tokens.items()},
        graphs=graphs,
        origin=comparison.origin,
    )


def require_same(tokens: Mapping[str, torch.Tensor]) -> None:
    """Refuse to compare the times of ways that wrote different tokens.

    Args:
        tokens: way -> what it wrote; "no cache" is the oracle.

    Raises:
        ArithmeticError: one wrote other tokens.
    """
    expected = tokens["no cache"]
    others = [way for way, written in tokens.items() if not torch.equal(written, expected)]
    if others:
        raise ArithmeticError(
            f"generate: {others} wrote other tokens than without a cache, must write the same "
            "(a cache saves work and changes nothing); their times mean nothing."
        )


def _made(step: Step, compile_with: Compile | None) -> Step:
    """Compile a copy that Dynamo knows nothing of: neither its versions nor which sizes changed."""
    return compile_with(fresh(step)) if compile_with else step


def _keep(tokens: dict[str, torch.Tensor], way: str, write: Writer) -> None:
    tokens[way] = write()
