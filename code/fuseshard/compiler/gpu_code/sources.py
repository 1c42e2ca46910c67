"""The Triton kernels in a module that Inductor wrote, and each one's autotuner, in memory."""

from __future__ import annotations

import ast
import hashlib
import linecache
import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# Private, checked on torch 2.11 and 2.13: what Inductor decorates its kernels with.
from torch._inductor.runtime.triton_heuristics import CachingAutotuner
from triton.runtime.autotuner import Config

from fuseshard.compiler.gpu_code.records import Configuration, KernelSource, Phase

COMPILERS = "async_compile"
"""the name under which a wrapper asks for its kernels to be compiled"""


@dataclass(frozen=True)
class Definition:
    """A statement `variable = async_compile.language(name, source)` of a wrapper."""

    variable: str
    """by which the wrapper launches it; also the function's name, unless a user wrote it"""
    language: str
    """method of async_compile: "triton", or "cpp_pybinding" for a loop that runs on the CPU"""
    source: str


def definitions(wrapper: str) -> tuple[Definition, ...]:
    """Find the kernels that a wrapper defines, in its order.

    Args:
        wrapper: module that Inductor wrote; only read.
    """
    found = []
    for statement in ast.parse(wrapper).body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=variable)],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr=language), args=arguments
                ),
            ) if owner == COMPILERS:
                source = next(a.value for a in arguments[1:] if isinstance(a, ast.Constant))
                found.append(Definition(variable, language, str(source)))
    return tuple(found)


def kernel_sources(wrapper: str, phase: Phase) -> tuple[KernelSource, ...]:
    """Find a wrapper's Triton kernels and what the autotuner would try for each.

    Call it while the GPU that the wrapper was written for is described.

    Args:
        wrapper: module that Inductor wrote; not run.
        phase: of the graph that it computes.
    """
    kernels = [d for d in definitions(wrapper) if d.language == "triton"]
    return tuple(_kernel_source(kernel, phase) for kernel in kernels)


def autotuner(source: KernelSource) -> CachingAutotuner:
    """Run a kernel's module in memory and return the autotuner that it defines.

    The module begins by asking Triton for its active driver. That of a described GPU will do, so
    call this inside one, or replace `triton_helpers.set_driver_to_gpu` first. For AMD the GPU has
    to be described in any case: candidates depend on `torch.version.hip`.

    Args:
        source: a kernel of Inductor's.

    Returns:
        Inductor's own class: `configs` holds the candidates in the order of
        `source.configurations`, `fn` Triton's function.
    """
    return _autotuner(source.triton)


def without_compilers(wrapper: str, kernels: Mapping[str, object]) -> dict[str, Any]:
    """Run a wrapper's module with kernels that are already there, so that nothing is compiled.

    Args:
        wrapper: module that Inductor wrote.
        kernels: variable of each definition -> object with a method `run`; not modified.

    Returns:
        The module's names, `call` among them; replace those that `call` shouldn't reach.
    """
    tree = ast.parse(wrapper)
    tree.body = [statement for statement in tree.body if not _mentions_compilers(statement)]
    names: dict[str, Any] = {"__name__": "written", **kernels}
    exec(compile(tree, "written.py", "exec"), names)
    return names


def _mentions_compilers(statement: ast.stmt) -> bool:
    return any(isinstance(n, ast.Name) and n.id == COMPILERS for n in ast.walk(statement))


def _kernel_source(kernel: Definition, phase: Phase) -> KernelSource:
    tuner = _autotuner(kernel.source)
    return KernelSource(
        name=kernel.variable,
        phase=phase,
        kind=_kind(kernel.source),
        triton=kernel.source,
        size_hints=dict(tuner.size_hints or {}),  # a template's loops have none
        configurations=tuple(_configuration(config) for config in tuner.configs),
    )


def _kind(source: str) -> str:
    """Read the name of the decorator. (The autotuner knows fewer kinds than there are.)"""
    (kind,) = re.findall(r"^@triton_heuristics\.(\w+)\(", source, re.MULTILINE)
    return str(kind)


def _configuration(config: Config) -> Configuration:
    blocks = {name: value for name, value in config.kwargs.items() if isinstance(value, int)}
    return Configuration(blocks=blocks, num_warps=config.num_warps, num_stages=config.num_stages)


def _autotuner(source: str) -> CachingAutotuner:
    """Run a kernel's module and return its one autotuner (helper functions have none).

    Triton reads a kernel's text by file and line, so the text goes into Python's own store of
    lines, under a path that no file has. Its last part has to be a hash: Inductor identifies
    kernels by it.
    """
    path = f"/written/{hashlib.sha256(source.encode()).hexdigest()[:16]}.py"
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module = ModuleType("written_kernel")
    module.__file__ = path
    exec(compile(source, path, "exec"), vars(module))
    (tuner,) = (value for value in vars(module).values() if isinstance(value, CachingAutotuner))
    return tuner
