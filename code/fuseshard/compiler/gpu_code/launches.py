"""What a wrapper does, step by step: its launches and library calls, found on fake tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: tensors without numbers, and Inductor's arithmetic of
# grids, which has no public entrance.
from torch._inductor.runtime.triton_heuristics import GridExpr
from torch._subclasses.fake_tensor import FakeTensorMode

from fuseshard.compiler.gpu_code.records import ExternCall, KernelSource, Launch
from fuseshard.compiler.gpu_code.sources import autotuner, definitions, without_compilers

Step = Launch | ExternCall
LIBRARIES = ("extern_kernels", "aten", "inductor_ops")
"""names under which a wrapper calls what Inductor didn't write"""


def steps(
    wrapper: str,
    kernels: Iterable[KernelSource],
    inputs: Sequence[object],
    *,
    fake_mode: FakeTensorMode,
    constants: Mapping[str, torch.Tensor] | None = None,
) -> tuple[Step, ...]:
    """Run a wrapper on fake tensors and list what it would have the GPU do.

    No kernel is compiled or started. Call it while the GPU that the wrapper was written for is
    described.

    Args:
        wrapper: module that Inductor wrote.
        kernels: all of its Triton kernels, from `kernel_sources`.
        inputs: what its graph was compiled for; only shapes, types and devices matter, and of a
            size that is a variable its value.
        fake_mode: makes inputs and buffers, which have shapes but no numbers.
        constants: tensors by the names that the wrapper's module leaves at None.

    Returns:
        Launches and library calls in the order of the wrapper. A loop that Inductor put on the
        CPU counts as a library call under its variable's name.
    """
    done: list[Step] = []
    stand_ins: dict[str, object] = {kernel.name: _Launcher(kernel, done) for kernel in kernels}
    for found in definitions(wrapper):
        stand_ins.setdefault(found.variable, _LoopOnCpu(found.variable, done))
    with fake_mode:
        names = without_compilers(wrapper, stand_ins)
        names.update({name: _fake(tensor) for name, tensor in (constants or {}).items()})
        names.update(_on_fake_tensors(names, done))
        names["call"]([_fake(value) for value in inputs])
    return tuple(done)


def _fake(value: object) -> object:
    """Make a tensor of the same layout, and take a size that is a variable at its value.

    Inductor writes a function `get_args` for that, which fails where two inputs share memory whose
    size is a variable (torch 2.13).
    """
    if not isinstance(value, torch.Tensor):
        return _number(value)
    size = [_number(extent) for extent in value.shape]
    stride = [_number(step) for step in value.stride()]
    return torch.empty_strided(size, stride, dtype=value.dtype, device=value.device)


def _number(value: Any) -> Any:
    return value.node.hint if isinstance(value, torch.SymInt | torch.SymFloat) else value


class _Launcher:
    """What a wrapper takes for a compiled kernel: notes each launch, starts nothing."""

    def __init__(self, kernel: KernelSource, done: list[Step]) -> None:
        self._kernel = kernel
        self._done = done
        self._tuner = autotuner(kernel)

    def run(self, *arguments: object, stream: object) -> None:
        del stream
        grids = tuple(self._grid(config, arguments) for config in self._tuner.configs)
        texts = tuple(_text(argument) for argument in arguments)
        self._done.append(Launch(kernel=self._kernel.name, arguments=texts, grids=grids))

    def _grid(self, config: Any, arguments: tuple[object, ...]) -> tuple[int, ...]:
        """Blocks in each dim. They depend on tile sizes and on what is passed, mostly lengths."""
        expression = GridExpr.from_meta(self._tuner.inductor_meta, config)
        grid = expression.eval_slow({**self._numbers(arguments), **config.kwargs})
        return tuple(int(blocks) for blocks in grid)

    def _numbers(self, arguments: tuple[object, ...]) -> dict[str, Any]:
        """Arguments that aren't tensors, by name.

        Parameters that the function declares constant aren't passed: the text says what they are,
        or a configuration, such as tile sizes. Last come numbers that only the grid needs.
        """
        function = self._tuner.fn
        extra = self._tuner.inductor_meta.get("extra_launcher_args", [])
        names = [n for i, n in enumerate(function.arg_names) if i not in function.constexprs]
        pairs = [
            *zip(names, arguments, strict=False),
            *zip(extra, arguments[len(arguments) - len(extra) :], strict=True),
        ]
        return {name: value for name, value in pairs if not isinstance(value, torch.Tensor)}


class _LoopOnCpu:
    """What a wrapper takes for a C++ kernel, which it writes for tensors that stay on the CPU."""

    def __init__(self, variable: str, done: list[Step]) -> None:
        self._variable = variable
        self._done = done

    def __call__(self, *arguments: object) -> None:
        self._done.append(ExternCall(op=self._variable, arguments=_texts(arguments, {})))


class _Recorded:
    """A name from which operators are reached by attributes, each call of which is noted."""

    def __init__(self, original: Any, name: str, done: list[Step]) -> None:
        self._original = original
        self._name = name
        self._done = done

    def __getattr__(self, attribute: str) -> _Recorded:
        original = getattr(self._original, attribute)
        return _Recorded(original, f"{self._name}.{attribute}", self._done)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        op = self._name.removeprefix("torch.ops.")  # wrappers write both, with it and without
        self._done.append(ExternCall(op=op, arguments=_texts(arguments, keywords)))
        return self._original(*arguments, **keywords)


class _Torch:
    """The module torch with its operators recorded."""

    def __init__(self, done: list[Step]) -> None:
        self.ops = _Recorded(torch.ops, "torch.ops", done)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(torch, attribute)


def _on_fake_tensors(names: Mapping[str, Any], done: list[Step]) -> dict[str, object]:
    """Replace what in a wrapper's module touches a GPU's memory, and record its libraries."""
    libraries = {name: _Recorded(names[name], name, done) for name in LIBRARIES if name in names}
    return {
        **libraries,
        "torch": _Torch(done),
        # Written in C++ for real memory: a fake tensor has none.
        "empty_strided_cpu": partial(_empty_strided, device="cpu"),
        "empty_strided_cpu_pinned": partial(_empty_strided, device="cpu"),
        "empty_strided_cuda": partial(_empty_strided, device="cuda"),
        "reinterpret_tensor": _reinterpret_tensor,
        "copy_if_misaligned": lambda tensor: tensor,
        # Libraries answer in layouts of the card's, which fake ones needn't.
        "assert_size_stride": _nothing,
        "assert_alignment": _nothing,
    }


def _empty_strided(
    size: tuple[int, ...], stride: tuple[int, ...], dtype: torch.dtype, *, device: str
) -> torch.Tensor:
    return torch.empty_strided(size, stride, dtype=dtype, device=device)


def _reinterpret_tensor(
    tensor: torch.Tensor, size: tuple[int, ...], stride: tuple[int, ...], offset: int = 0
) -> torch.Tensor:
    """View a buffer under another shape; `offset` counts from the view's own beginning."""
    return tensor.as_strided(size, stride, tensor.storage_offset() + offset)


def _nothing(*_: object) -> None:
    pass


def _texts(arguments: tuple[object, ...], keywords: Mapping[str, object]) -> tuple[str, ...]:
    named = (f"{name}={_text(value)}" for name, value in keywords.items())
    return (*(_text(argument) for argument in arguments), *named)


def _text(value: object) -> str:
    """A tensor as "float32[4096, 600]", alone or in a list; the rest as Python writes it."""
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, list | tuple):
        inside = ", ".join(_text(item) for item in value)
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    return repr(value)
