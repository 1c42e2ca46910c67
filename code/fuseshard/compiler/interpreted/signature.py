"""What a wrapper's `call` takes, read from its text, and the caller's tensors fitted to it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import torch

from fuseshard.compiler.interpreted.devices import strided_copy


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A tensor that a wrapper takes."""

    size: tuple[int | str, ...]
    """numbers, and expressions of sizes that are known at run time, such as "2*s77\""""
    stride: tuple[int | str, ...]
    """as `size`"""
    dtype: torch.dtype


@dataclass(frozen=True)
class Signature:
    """Everything that a wrapper says of its inputs."""

    tensors: Mapping[str, Expected]
    sizes: Mapping[str, str]
    """inputs that are sizes, and what the wrapper calls them: {"arg0_1": "s77"}"""


@lru_cache(maxsize=64)
def read_signature(text: str) -> Signature:
    """Read a wrapper's inputs.

    Args:
        text: the module that Inductor wrote.

    Returns:
        Its signature.
    """
    tree = ast.parse(text)
    examples = _examples(tree)
    return Signature({**examples, **_asserted(tree, examples)}, _sizes(tree))


def fitted(
    signature: Signature, given: Mapping[str, torch.Tensor], known: Mapping[str, int]
) -> dict[str, torch.Tensor]:
    """Check tensors against a signature and copy them into the strides that it names.

    Args:
        signature: of the wrapper that will get them.
        given: tensors by the wrapper's names for them; not modified.
        known: as `known_sizes` returns it.

    Returns:
        A copy of each.

    Raises:
        ValueError: a shape or type differs from what the kernels are written for.
    """
    values: dict[str, torch.Tensor] = {}
    for name, tensor in given.items():
        expected = signature.tensors.get(name)
        if expected is not None:
            size = resolved(expected.size, known)
            if (tensor.dtype, tuple(tensor.shape)) != (expected.dtype, size):
                raise ValueError(
                    f"run_graphs: {name} is {_described(tensor.dtype, tensor.shape)}, must be "
                    f"{_described(expected.dtype, size)} (the kernels are written for that type "
                    "and shape); pass the tensors in the order in which the program travelled."
                )
            values[name] = strided_copy(tensor, resolved(expected.stride, known))
        else:  # the graph takes it and never looks at it
            values[name] = tensor.detach().clone()
    return values


def sizes_among_inputs(signature: Signature, known: Mapping[str, int]) -> dict[str, int]:
    """Give values to the inputs that are sizes, as far as shapes tell them."""
    return {name: known[size] for name, size in signature.sizes.items() if size in known}


def ones(signature: Signature, name: str, known: Mapping[str, int]) -> torch.Tensor:
    """Make a tensor of ones as the wrapper expects it.

    Args:
        signature: of the wrapper.
        name: of one of its inputs.
        known: as `known_sizes` returns it.
    """
    expected = signature.tensors[name]
    return torch.ones(resolved(expected.size, known), dtype=expected.dtype)


def known_sizes(signature: Signature, given: Mapping[str, torch.Tensor]) -> dict[str, int]:
    """Read the sizes that the text calls by names off the shapes of tensors.

    Args:
        signature: of the wrapper.
        given: tensors by the wrapper's names.

    Returns:
        {"s77": 100} and so on; of two tensors that disagree the first counts.
    """
    known: dict[str, int] = {}
    for name, tensor in given.items():
        expected = signature.tensors.get(name)
        if expected is not None and len(expected.size) == tensor.dim():
            named = zip(expected.size, tensor.shape, strict=True)
            found = {s: n for s, n in named if isinstance(s, str) and s.isidentifier()}
            known = found | known
    return known


def resolved(sizes: Sequence[int | str], known: Mapping[str, int]) -> tuple[int, ...]:
    """Put numbers in place of the names in a shape."""
    return tuple(
        size if isinstance(size, int) else int(eval(size, {"__builtins__": {}}, dict(known)))
        for size in sizes
    )


def _described(dtype: torch.dtype, shape: Sequence[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')}{list(shape)}"


def _examples(tree: ast.Module) -> dict[str, Expected]:
    """Read the inputs from `get_args`, where Inductor makes examples of them for benchmarks."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="rand_strided"), args=[size, stride], keywords=kw),
            ):
                (dtype,) = (k.value for k in kw if k.arg == "dtype")
                found[name] = Expected(
                    size=ast.literal_eval(size),
                    stride=ast.literal_eval(stride),
                    dtype=getattr(torch, ast.unparse(dtype).removeprefix("torch.")),
                )
    return found


def _asserted(tree: ast.Module, examples: Mapping[str, Expected]) -> dict[str, Expected]:
    """Read sizes with their names from the assertions about inputs, where there are any."""
    found = {}
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Name(id="assert_size_stride"),
                args=[ast.Name(id=name), ast.Tuple(elts=size), ast.Tuple(elts=stride), *_],
            ) if name in examples:
                found[name] = Expected(
                    size=_numbers_or_names(size),
                    stride=_numbers_or_names(stride),
                    dtype=examples[name].dtype,
                )
    return found


def _numbers_or_names(nodes: Sequence[ast.expr]) -> tuple[int | str, ...]:
    return tuple(
        n.value if isinstance(n, ast.Constant) and isinstance(n.value, int) else ast.unparse(n)
        for n in nodes
    )


def _sizes(tree: ast.Module) -> dict[str, str]:
    """Find the inputs that `call` takes as sizes, by lines such as `s77 = arg0_1`."""
    (call,) = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "call")
    found = {}
    for node in call.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=size)], value=ast.Name(id=name)):
                found[name] = size
    return found
