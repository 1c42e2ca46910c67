"""A program compiled by plain torch.compile on this machine, with Inductor's texts and autotuners.

What Inductor writes is kept on its way to being loaded; nothing else is changed.
"""

import copy
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: settings and caches of Inductor, the place where it
# loads what it wrote, and what it decorates its kernels with.
from torch._functorch import config as autograd_config
from torch._inductor import config
from torch._inductor.graph import GraphLowering
from torch._inductor.runtime.triton_heuristics import CachingAutotuner

from fuseshard.compiler.gpu_code.records import Configuration
from fuseshard.compiler.gpu_study.programs import Program
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.stages import source_kept


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """What a kernel's autotuner settled on."""

    name: str
    chosen: Configuration
    registers: int | None
    """of a thread, as the driver tells"""
    spills: int | None
    cubin: bytes | None
    """the binary; None where Inductor dropped it"""


@dataclass
class OnCard:
    """What Inductor wrote for a program, and what ran."""

    texts: list[str] = field(default_factory=list)
    """modules in the order in which they were written"""
    modules: list[Any] = field(default_factory=list)
    """the same, loaded"""

    def launchers(self) -> list[Launcher]:
        """List the kernels that ran, with the configuration that each one's autotuner chose."""
        return [
            _launcher(name, value)
            for module in self.modules
            for name, value in vars(module).items()
            if isinstance(value, CachingAutotuner) and len(value.launchers) == 1
        ]


def on_card(program: Program, device: str = "cuda") -> OnCard:
    """Compile a program with torch.compile, run it once, and keep what Inductor wrote.

    Args:
        program: its parameters are copied; its inputs stand for shapes and types alone.
        device: where it runs.
    """
    found = OnCard()
    fn = copy.deepcopy(program.fn)
    if isinstance(fn, torch.nn.Module):
        fn = fn.to(device)
    inputs = [_made(x, device) for x in program.inputs]
    dynamic = program.options.get("dynamic", False)
    compiled = torch.compile(isolated(fn), dynamic=dynamic, mode=program.options.get("mode"))
    with _kept(found), _autocast(program, device), torch.set_grad_enabled(program.backward):
        output = compiled(*inputs)
    if program.backward:
        with _kept(found):
            output.backward(torch.ones_like(output))
    return found


@contextmanager
def _kept(found: OnCard) -> Iterator[None]:
    """Keep texts and modules; a compile that is found in a cache would write none."""
    settings = {"fx_graph_cache": False, "use_static_cuda_launcher": False}
    with ExitStack() as stack:
        stack.enter_context(config.patch(settings))
        stack.enter_context(autograd_config.patch(enable_autograd_cache=False))
        stack.enter_context(source_kept(found.texts))
        stack.enter_context(_modules_kept(found.modules))
        yield


@contextmanager
def _modules_kept(modules: list[Any]) -> Iterator[None]:
    before = GraphLowering.compile_to_module

    def load(lowering: GraphLowering) -> Any:
        modules.append(before(lowering))
        return modules[-1]

    GraphLowering.compile_to_module = load  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        GraphLowering.compile_to_module = before  # type: ignore[method-assign]


def _autocast(program: Program, device: str) -> Any:
    dtype = program.options.get("autocast")
    return torch.autocast(device, dtype=getattr(torch, dtype)) if dtype else nullcontext()


def _made(x: torch.Tensor, device: str) -> torch.Tensor:
    """Make a tensor of ones; whole numbers are zeros, which every table has a row for."""
    value = 1 if x.is_floating_point() else 0
    made = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device=device).fill_(value)
    return made.requires_grad_(x.requires_grad)


def _launcher(name: str, tuner: CachingAutotuner) -> Launcher:
    (launcher,) = tuner.launchers
    chosen = launcher.config
    blocks = {key: value for key, value in chosen.kwargs.items() if isinstance(value, int)}
    cubins = [
        result.kernel.asm.get("cubin")
        for result in tuner.compile_results
        if result.config is chosen
    ]
    return Launcher(
        name=name,
        chosen=Configuration(
            blocks=blocks, num_warps=chosen.num_warps, num_stages=chosen.num_stages
        ),
        registers=launcher.n_regs,
        spills=launcher.n_spills,
        cubin=cubins[0] if cubins else None,
    )
