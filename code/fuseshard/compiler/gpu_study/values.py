"""GPU code run on the CPU and compared with torch: is the difference rounding, or a bug?

The exact result is the program's in float64. Eager mode is off from it by its own rounding; GPU
code, which sums in another order, may be off by a few times as much.
"""

import copy
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from fuseshard.compiler.gpu import GpuBuild, interpret
from fuseshard.compiler.gpu_code.records import GpuGraph
from fuseshard.compiler.gpu_study.programs import (
    Program,
    TokenLoss,
    cross_entropy,
    gelu,
    softmax,
    training,
)
from fuseshard.compiler.gpu_study.records import Dtype, ValueCheck
from fuseshard.models.minigpt import MiniGPT

Named = dict[str, torch.Tensor]

TARGET = "h200"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A mistake that is put into kernels, to see that the comparison finds it."""

    program: str
    """key of the program whose kernels have the place"""
    what: str
    """the mistake, in a few words"""
    apply: Callable[[str], str]
    """text of a kernel or of a wrapper -> the text with the mistake"""


def value_programs(dtype: Dtype = "float32") -> tuple[Program, ...]:
    """Return small programs with numbers, chosen so that a missing maximum or epsilon shows.

    Args:
        dtype: of parameters and floating-point inputs.
    """
    kind = getattr(torch, dtype)
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(37, 100, generator=draw)
    logits = 60 * rows  # exp of the largest is more than any float32
    faint = 1e-4 * rows  # rows whose variance is no larger than the epsilon
    classes = torch.randint(100, (37,), generator=draw)
    return (
        Program(key="softmax", fn=softmax, inputs=(logits.to(kind),)),
        Program(key="gelu", fn=gelu, inputs=(rows.to(kind),)),
        training("layer-norm", _drawn(nn.LayerNorm(100)).to(kind), faint.to(kind)),
        training("rms-norm", _drawn(nn.RMSNorm(100, eps=1e-6)).to(kind), faint.to(kind)),
        training("cross-entropy", cross_entropy, logits.to(kind), classes),
    )


def model_programs() -> tuple[Program, ...]:
    """Return MiniGPT's forward pass, and its loss with the backward pass, in float32."""
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randint(600, (2, 33), generator=draw)
    return (
        Program(key="minigpt", fn=MiniGPT().requires_grad_(False), inputs=(tokens,)),
        training("minigpt-training", TokenLoss(MiniGPT()), tokens),
    )


def value_checks(
    programs: Sequence[Program], dtype: Dtype = "float32", *, target: str = TARGET
) -> tuple[ValueCheck, ...]:
    """Run programs as written for a GPU in Triton's interpreter, and compare.

    Args:
        programs: with numbers in their inputs, whose type is `dtype`.
        dtype: that says how large a rounding is.
        target: the GPU that they are written for.

    Returns:
        One check a program.
    """
    return tuple(check(program, program.build(target), dtype) for program in programs)


def check(program: Program, build: GpuBuild, dtype: Dtype, edit: str | None = None) -> ValueCheck:
    """Run one build in Triton's interpreter, and compare output and gradients.

    Args:
        program: what was built.
        build: as written, or edited.
        dtype: of its numbers.
        edit: what was broken in `build`.
    """
    upstream = _upstream(program)
    exact = computed(program, upstream, dtype=torch.float64)
    eager = computed(program, upstream)
    found = interpret(build, program.inputs, tangents=[upstream] if program.backward else None)
    gradients = zip(build.tensors, found.gradients, strict=False)  # none without a backward graph
    named = {"output": found.outputs[0], **dict(gradients)}
    got = {name: tensor for name, tensor in named.items() if tensor is not None}
    return ValueCheck(
        program=program.key,
        dtype=dtype,
        edit=edit,
        numbers=sum(tensor.numel() for tensor in exact.values()),
        launches=len(found.launches),
        error=largest_error(got, exact),
        eager_error=largest_error(eager, exact),
    )


def broken_checks(
    programs: Sequence[Program], dtype: Dtype = "float32", *, target: str = TARGET
) -> tuple[ValueCheck, ...]:
    """Break what Inductor wrote, and compare: each of `EDITS` has to be found.

    Args:
        programs: with numbers; those without an edit are left out.
        dtype: of their numbers.
        target: the GPU that they are written for.

    Returns:
        One check an edit.
    """
    known = {program.key: program for program in programs}
    checks = []
    for edit in EDITS:
        if edit.program in known:
            program = known[edit.program]
            build = edited(program.build(target), edit)
            checks.append(check(program, build, dtype, edit.what))
    return tuple(checks)


def edited(build: GpuBuild, edit: Edit) -> GpuBuild:
    """Put a mistake into the kernels of a build, and into the wrappers that show them.

    Raises:
        ValueError: the kernels are the same afterwards.
    """
    graphs = tuple(_edited_graph(graph, edit) for graph in build.graphs)
    if all(new.kernels == old.kernels for new, old in zip(graphs, build.graphs, strict=True)):
        raise ValueError(
            f"edited: {edit.what!r} changed nothing in the kernels of {edit.program}, must change "
            "something (an edit that finds no place proves nothing); correct its pattern."
        )
    return replace(build, graphs=graphs)


def _edited_graph(graph: GpuGraph, edit: Edit) -> GpuGraph:
    kernels = tuple(replace(k, triton=edit.apply(k.triton)) for k in graph.kernels)
    return replace(graph, wrapper=edit.apply(graph.wrapper), kernels=kernels)


def computed(
    program: Program, upstream: torch.Tensor, *, dtype: torch.dtype | None = None
) -> Named:
    """Run a program eagerly on copies, and differentiate it if it is to be.

    Args:
        program: not modified.
        upstream: gradient of its output.
        dtype: to compute in; None keeps the program's own.

    Returns:
        "output", and each gradient under the name that a build gives its tensor.
    """
    fn = copy.deepcopy(program.fn) if isinstance(program.fn, nn.Module) else program.fn
    inputs = [_copied(x, dtype) for x in program.inputs]
    leaves = {f"inputs[{i}]": x for i, x in enumerate(inputs)}
    if isinstance(fn, nn.Module):
        fn = fn.to(dtype) if dtype else fn
        leaves |= dict(fn.named_parameters())
    output = fn(*inputs)
    found = {"output": output.detach()}
    if program.backward:
        output.backward(upstream.to(output.dtype))
        found |= {name: x.grad for name, x in leaves.items() if x.grad is not None}
    return found


def largest_error(got: Named, exact: Named) -> float:
    """Return the largest error of several tensors, each relative to its own largest number.

    Args:
        got: what to judge, by name.
        exact: float64, by name.

    Returns:
        The maximum of max |got - exact| / max |exact|; nan where a number is none.

    Raises:
        ValueError: the names differ.
    """
    if set(got) != set(exact):
        raise ValueError(
            f"largest_error: names are {sorted(got)} and {sorted(exact)}, must be equal (tensor "
            "is compared with tensor)."
        )
    errors = [_error(got[name], exact[name]) for name in exact]
    return math.nan if any(math.isnan(error) for error in errors) else max(errors)


def _error(got: torch.Tensor, exact: torch.Tensor) -> float:
    return float((got.double() - exact).abs().max() / exact.abs().max())


def _upstream(program: Program) -> torch.Tensor:
    """Draw a gradient for the output, which no symmetry of the program can hide."""
    with torch.no_grad():
        shaped = program.fn(*program.inputs)
    draw = torch.Generator().manual_seed(1)
    return torch.randn(shaped.shape, generator=draw).to(shaped.dtype)


def _copied(x: torch.Tensor, dtype: torch.dtype | None) -> torch.Tensor:
    copied = x.detach().clone()
    if dtype is not None and x.is_floating_point():
        copied = copied.to(dtype)
    return copied.requires_grad_(x.requires_grad)


def _drawn(module: nn.Module, *, seed: int = 2) -> nn.Module:
    """Fill the parameters of a norm, whose ones and zeros would hide mistakes."""
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw))
    return module


def _without_maximum(text: str) -> str:
    """Subtract nothing where the row's maximum is subtracted."""
    for name in re.findall(r"(\w+) = triton_helpers\.max2\(", text):
        text = re.sub(rf"(= \w+) - {name}\b", r"\1", text)
    return text


def _without_epsilon(text: str) -> str:
    """Add nothing to the mean square."""
    return re.sub(r"\b[\d.]+e-0[5-7]\b", "0.0", text)


EDITS = (
    Edit(program="softmax", what="the maximum isn't subtracted", apply=_without_maximum),
    Edit(program="cross-entropy", what="the maximum isn't subtracted", apply=_without_maximum),
    Edit(program="layer-norm", what="the epsilon is 0", apply=_without_epsilon),
    Edit(program="rms-norm", what="the epsilon is 0", apply=_without_epsilon),
    Edit(
        program="gelu",
        what="0.71 for the root of one half",
        apply=lambda text: text.replace("0.7071067811865476", "0.71"),
    ),
)
"""a mistake for each program that has a place for one"""
