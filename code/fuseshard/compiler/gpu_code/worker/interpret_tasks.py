"""What the process that interprets GPU code is asked to do."""

from collections.abc import Sequence
from typing import Any

import torch

from fuseshard.compiler.gpu_code.records import GpuGraph
from fuseshard.compiler.gpu_code.worker.travel import unpack
from fuseshard.compiler.interpreted import run
from fuseshard.compiler.interpreted.records import Interpreted


def start() -> None:
    """Put in place what Triton's interpreter lacks."""
    run.prepare()


def run_graphs(
    graphs: Sequence[GpuGraph],
    inputs: Sequence[torch.Tensor],
    tangents: Sequence[torch.Tensor] | None,
    block: int | None,
) -> Interpreted:
    """Run a program's graphs; see `interpreted.run.run_graphs`.

    Args:
        graphs: an inference graph, or a forward graph and its backward graph.
        inputs: the program's tensors, in the order in which it travelled.
        tangents: gradients of the outputs; None means ones.
        block: least XBLOCK; None chooses.
    """
    return run.run_graphs(graphs, inputs, tangents, block=block)


def call(content: bytes, numbers: Sequence[torch.Tensor]) -> Any:
    """Call a function that launches hand-written kernels.

    Args:
        content: function and arguments, as `pack` made them.
        numbers: what is in its tensors.
    """
    fn, args, _ = unpack(content, values=numbers)
    return run.call(fn, *args)
