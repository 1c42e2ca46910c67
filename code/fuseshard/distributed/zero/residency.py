"""Which unit's parameters are whole when each layer computes, in one training step.

A *unit* is what is gathered and freed together, by hand or by `fully_shard`; a *layer* is
a module without children. Recorded is what is there at the moment, not what was asked for.
"""

from collections.abc import Mapping

import torch
from torch import nn
from torch.distributed.tensor import DTensor

from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.zero.records import Moment, Residency


class ResidencyRecorder:
    """Note at each layer, forward and backward, which units are whole.

    Args:
        model: already sharded; gets hooks for good.
        units: name -> module, in the order of the forward pass; parameters of a module within
            another belong to the inner one.
        meter: open while the step runs; its all-gathers are counted.
    """

    def __init__(self, model: nn.Module, units: Mapping[str, nn.Module], meter: CommMeter) -> None:
        self._model = model
        self._modules = _own_modules(units)
        self._numels = {name: _whole_numel(parts) for name, parts in self._modules.items()}
        self._meter = meter
        self._num_before = len(meter.calls)
        self._moments: list[Moment] = []
        for name, module in model.named_modules():
            if not any(module.children()):
                self._watch(name, module)

    @property
    def record(self) -> Residency:
        """What was noted so far."""
        return Residency(units=tuple(self._modules), moments=tuple(self._moments))

    def _watch(self, name: str, module: nn.Module) -> None:
        def before(layer: nn.Module, inputs: object) -> None:
            self._note("forward", name)

        def after(layer: nn.Module, inputs: object, output: torch.Tensor) -> None:
            # Not a hook of the tensor: torch's own, which gathers, might come after it.
            if output.grad_fn is not None:
                output.grad_fn.register_prehook(lambda gradients: self._note("backward", name))

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)

    def _note(self, phase: str, layer: str) -> None:
        is_whole = {name: _is_whole(parts) for name, parts in self._modules.items()}
        gathers = sum(c.op == "all_gather" for c in self._meter.calls[self._num_before :])
        self._moments.append(
            Moment(
                phase=phase,
                layer=layer,
                whole=tuple(name for name, found in is_whole.items() if found),
                gathers=gathers,
                gathered_bytes=sum(self._numels[name] for name, found in is_whole.items() if found),
            )
        )


def _own_modules(units: Mapping[str, nn.Module]) -> dict[str, list[nn.Module]]:
    """The modules whose parameters each unit holds, those of units within it left out."""
    found = {}
    for name, module in units.items():
        others = [unit for unit in units.values() if unit is not module]
        inner = {part for other in others if _holds(module, other) for part in other.modules()}
        found[name] = [part for part in module.modules() if part not in inner]
    return found


def _holds(module: nn.Module, other: nn.Module) -> bool:
    return any(part is other for part in module.modules())


def _params(parts: list[nn.Module]) -> list[nn.Parameter]:
    """A unit's parameters as they are now: torch puts other objects in their place."""
    return [param for part in parts for param in part.parameters(recurse=False)]


def _whole_numel(parts: list[nn.Module]) -> int:
    """Bytes of a unit's whole parameters."""
    return sum(param.numel() * param.element_size() for param in _params(parts))


def _is_whole(parts: list[nn.Module]) -> bool:
    return all(
        not isinstance(param, DTensor) and param.untyped_storage().nbytes() > 0
        for param in _params(parts)
    )
