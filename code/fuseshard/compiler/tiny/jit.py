"""The whole of it: look for a version whose guards hold, else read, fuse, compile and keep one."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from fuseshard.compiler.tiny.cpp import build, emit
from fuseshard.compiler.tiny.graph import Guard, Node, Scopes, scopes_of
from fuseshard.compiler.tiny.interpreter import Interpreter


@dataclass(frozen=True)
class Version:
    """A function as it was compiled once, and what must hold for that to be used."""

    guards: tuple[Guard, ...]
    nodes: tuple[Node, ...]
    inputs: tuple[tuple[str, str], ...]
    """scope and name of each tensor that the kernel reads"""
    source: str
    """C++"""
    kernel: Any

    def __call__(self, scopes: Scopes) -> torch.Tensor:
        """Run the kernel on the tensors of this call."""
        fake = self.nodes[-1].fake
        result = torch.empty_strided(fake.shape, fake.stride())
        tensors = [*(scopes[scope][name] for scope, name in self.inputs), result]
        self.kernel(*(ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors))
        return result


class Jit:
    """A function that compiles itself, anew for each call that none of its versions fits."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        """Wrap a function of positional arguments; nothing is compiled yet."""
        self.fn = fn
        self.versions: list[Version] = []

    def __call__(self, *arguments: Any) -> torch.Tensor:
        """Run the version that fits this call, after compiling one if there is none."""
        scopes = scopes_of(self.fn, arguments)
        for version in self.versions:
            if all(guard.holds(scopes) for guard in version.guards):
                return version(scopes)
        self.versions.append(compile_for(self.fn, scopes))
        return self.versions[-1](scopes)


def compile_for(
    fn: Callable[..., Any], scopes: Scopes, interpreter: type[Interpreter] = Interpreter
) -> Version:
    """Read a function's bytecode with the values of one call, and compile what it meets."""
    reader = interpreter(scopes)
    reader.run(fn)
    source = emit(reader.nodes)
    inputs = tuple(place for place, value in reader.read.items() if isinstance(value, Node))
    return Version(tuple(reader.guards), tuple(reader.nodes), inputs, source, build(source))
