"""One graph's wrapper, loaded so that its `call` takes CPU tensors."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

import torch

from fuseshard.compiler.gpu_code.records import Constant, GpuGraph
from fuseshard.compiler.interpreted.devices import cpu_device, strided_copy
from fuseshard.compiler.interpreted.launches import InterpretedKernel
from fuseshard.compiler.interpreted.records import InterpretedLaunch, NoAnswerError
from fuseshard.compiler.interpreted.signature import read_signature


class LoadedGraph:
    """One graph's wrapper, with CPU stand-ins for what it imports."""

    def __init__(self, graph: GpuGraph, block: int | None, log: list[InterpretedLaunch]) -> None:
        """Load it.

        Args:
            graph: as it was written.
            block: least XBLOCK of its kernels; None chooses.
            log: gets a record of each launch.
        """
        self.graph = graph
        self.signature = read_signature(graph.wrapper)
        self._module = _module(graph.wrapper)
        written = {kernel.name: kernel for kernel in graph.kernels}
        for name, value in vars(self._module).items():
            if isinstance(value, InterpretedKernel):
                value.source, value.block, value.log = written[name], block, log
        for constant in graph.constants:
            setattr(self._module, constant.name, _tensor(constant))

    def call(self, values: Mapping[str, Any]) -> tuple[Any, ...]:
        """Run the graph, and name what it lacks.

        Args:
            values: tensors and sizes by the graph's names; may hold more than its inputs.

        Returns:
            What the wrapper returns.

        Raises:
            NoAnswerError: an input without a value, or a library call without an answer here.
        """
        missing = [name for name in self.graph.inputs if name not in values]
        if missing:
            raise NoAnswerError(
                f"run_graphs: {len(missing)} inputs of the {self.graph.phase} graph "
                f"({', '.join(missing[:3])}, ...) are neither tensors that travelled with the "
                "program, nor sizes in the shapes of those, nor saved by a forward graph, must be "
                "one of these (nothing else has a value here); make them arguments that are "
                "tensors."
            )
        try:
            return tuple(self._module.call([values[name] for name in self.graph.inputs]))
        except (AttributeError, NotImplementedError) as error:
            # What torch.ops lacks is an AttributeError, and others of those are no concern of ours.
            if isinstance(error, AttributeError) and "_OpNamespace" not in str(error):
                raise
            raise NoAnswerError(
                "run_graphs: the graph calls a library function that must have an answer on a "
                f"CPU, and has none ({str(error).splitlines()[0]}); add one to "
                "fuseshard.compiler.interpreted.libraries."
            ) from error


@lru_cache(maxsize=64)
def _module(text: str) -> Any:
    """Execute a wrapper; the next run of the same program takes what is there."""
    module = ModuleType("interpreted_wrapper")
    exec(compile(text, "interpreted_wrapper.py", "exec"), vars(module))
    # The text says device(type='cuda', index=0) where a library call makes a new tensor.
    vars(module)["device"] = cpu_device
    return module


def _tensor(constant: Constant) -> torch.Tensor:
    dense = torch.tensor(constant.numbers, dtype=getattr(torch, constant.dtype))
    return strided_copy(dense.view(constant.size), constant.stride)
