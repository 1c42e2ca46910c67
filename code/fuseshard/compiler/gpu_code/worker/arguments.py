"""The tensors of a program by their places: names for them, and whether others fit in."""

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: torch's own walk over nested lists and dictionaries.
from torch.utils._pytree import keystr, tree_flatten_with_path, tree_structure

from fuseshard.compiler.gpu_code.worker.travel import Packed


def tensor_names(packed: Packed, fn: Callable[..., Any], args: Sequence[Any]) -> tuple[str, ...]:
    """Name each tensor of a program after the place where a reader finds it.

    Args:
        packed: the program.
        fn: its function. A module's parameters and buffers are called as the module does, those
            of a module or a tensor that a function refers to by its variable first.
        args: its arguments.

    Returns:
        In the order in which the program travelled; a tensor elsewhere is "tensor 3".
    """
    places = [("", fn), *_variables(fn), *_leaves(args)]
    names = {id(tensor): name for place in reversed(places) for name, tensor in _held(*place)}
    numbered = enumerate(packed.tensors)
    return tuple(names.get(id(tensor), f"tensor {number}") for number, tensor in numbered)


def _variables(fn: Callable[..., Any]) -> list[tuple[str, Any]]:
    """List what a Python function refers to outside itself."""
    if not isinstance(fn, FunctionType):
        return []
    found = inspect.getclosurevars(fn)
    return [*found.nonlocals.items(), *found.globals.items()]


def _held(name: str, value: Any) -> list[tuple[str, torch.Tensor]]:
    """List the tensors that a value is or, as a module, has."""
    if isinstance(value, torch.nn.Module):
        inner = [*value.named_parameters(), *value.named_buffers()]
        return [(f"{name}.{key}" if name else key, tensor) for key, tensor in inner]
    return [(name, value)] if isinstance(value, torch.Tensor) else []


def matched(
    inputs: tuple[Any, ...], examples: tuple[Any, ...], *, any_size: bool
) -> tuple[Any, ...]:
    """Check that inputs can stand where a program was built for others.

    Args:
        inputs: what is to be computed with.
        examples: what the program was built for.
        any_size: whether its sizes are variables.

    Returns:
        `inputs`.

    Raises:
        ValueError: another structure, shape or type, or another value where it is no tensor.
    """
    if tree_structure(inputs) != tree_structure(examples):
        raise ValueError(
            f"interpret: inputs are {_outline(inputs)}, must be {_outline(examples)} as the "
            "example inputs of the build (its code reads each tensor from its place); pass the "
            "same structure, or build again."
        )
    for (name, given), (_, example) in zip(_leaves(inputs), _leaves(examples), strict=True):
        if _described(given) != _described(example) and not (any_size and _alike(given, example)):
            raise ValueError(
                f"interpret: {name} is {_described(given)}, must be {_described(example)} as in "
                "the build (its code is for that shape and type); pass such a value, or build "
                "again."
            )
    return inputs


def _leaves(args: Sequence[Any]) -> list[tuple[str, Any]]:
    """List what is at the ends of nested lists and dictionaries, with names."""
    found, _ = tree_flatten_with_path(tuple(args))
    return [(f"inputs{keystr(path)}", leaf) for path, leaf in found]


def _alike(given: Any, example: Any) -> bool:
    """Whether two tensors have the same type and number of dims."""
    are_tensors = isinstance(given, torch.Tensor) and isinstance(example, torch.Tensor)
    return are_tensors and (given.dtype, given.ndim) == (example.dtype, example.ndim)


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value)


def _outline(args: Sequence[Any]) -> str:
    """Write arguments down with types and shapes in the place of numbers."""
    described = {name: _described(leaf) for name, leaf in _leaves(args)}
    return ", ".join(f"{name}: {text}" for name, text in described.items()) or "none"
