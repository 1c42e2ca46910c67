"""A compile cache by hand: a backend that keeps on disk what Inductor writes."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import torch

# Private, checked on torch 2.11 and 2.13: the configuration of torch's own caches.
import torch._functorch.config
import torch._inductor.config

# Private, checked on torch 2.11 and 2.13: Inductor itself, and where its text passes by.
from torch._inductor.compile_fx import compile_fx
from torch._inductor.graph import GraphLowering

from fuseshard.compiler.inductor import load

Key = Callable[[torch.fx.GraphModule, Sequence[torch.Tensor]], str]


class CompileCache:
    """A backend of torch.compile with a cache of its own.

    It stands where AOTAutograd's cache stands: behind Dynamo, which traces in every process.
    What it keeps is text, the module that Inductor wrote; the C++ in it is compiled when the
    module is loaded, unless torch finds that very text compiled already.

    Args:
        folder: where the modules are kept; it exists.
        key: names the file for a graph and its inputs.
    """

    def __init__(self, folder: Path, key: Key | None = None) -> None:
        """Start with what the folder holds."""
        self.folder = folder
        self.key = key or key_of
        self.answers: list[str] = []

    def __call__(
        self, graph: torch.fx.GraphModule, inputs: list[torch.Tensor]
    ) -> Callable[..., Any]:
        """Return machine code for a graph, as torch.compile asks of a backend."""
        module = self.folder / f"{self.key(graph, inputs)}.py"
        self.answers.append("hit" if module.exists() else "miss")
        if not module.exists():
            module.write_text(written_by_inductor(graph, inputs))
        call = load(module.read_text())
        return lambda *args: call(list(args))


def key_of(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> str:
    """Hash everything that the code depends on, as far as this cache knows.

    Values of tensors are not part of it: weights are inputs like any other.

    Args:
        graph: captured by Dynamo.
        inputs: in the order of the graph's arguments.

    Returns:
        Hexadecimal digits.
    """
    parts = {
        "graph": graph.code,
        "inputs": [(list(t.shape), list(t.stride()), str(t.dtype), str(t.device)) for t in inputs],
        "versions": torch.__version__,
    }
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def key_without_shapes(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> str:
    """Hash the graph and the versions, and forget that the code is written for one shape.

    Args:
        graph: captured by Dynamo.
        inputs: not looked at.

    Returns:
        Hexadecimal digits.
    """
    return key_of(graph, [])


def written_by_inductor(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> str:
    """Have Inductor compile a graph, and return the module that it wrote.

    Args:
        graph: captured by Dynamo, of tensors that need no gradient.
        inputs: in the order of the graph's arguments.

    Returns:
        Python text with the C++ in it.
    """
    texts: list[str] = []
    inductor = torch._inductor.config.patch(fx_graph_cache=False, compile_threads=1)
    # Torch's caches would hand over the result without writing anything.
    autograd = torch._functorch.config.patch(enable_autograd_cache=False)
    keep = mock.patch.object(GraphLowering, "save_output_code", staticmethod(texts.append))
    with inductor, autograd, keep:
        compile_fx(graph, list(inputs))
    return texts[0]
