"""A trace of PyTorch's dispatcher: which operators one call of a function really ran."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ExecutionTraceObserver

from fuseshard.compiler.records import DispatchCall, DispatchTrace, Role
from fuseshard.compiler.stderr import native_lines_dropped

_Node = dict[str, Any]

OBSERVER = "execution_trace_observer.cpp"
"""writes two lines to stderr at every start and stop"""


def trace(fn: Callable[..., Any], *args: Any) -> DispatchTrace:
    """Run a function once and list its dispatcher calls, those made by operators included.

    PyTorch's execution trace observer does the listing: it hears of each call when the
    dispatcher takes it, below Python and above the kernels. `fn` is called twice, first
    untraced, so that what happens once only (compiling, lazy set-up) stays out of the trace.

    Args:
        fn: what to run; whether gradients are recorded is the caller's choice.
        args: its arguments; not modified by the trace.

    Returns:
        The calls in the order in which they began.

    Source:
        torch.profiler.ExecutionTraceObserver. Checked on torch 2.11 and 2.13.
    """
    fn(*args)
    nodes = _observe(lambda: fn(*args))
    by_id = {node["id"]: node for node in nodes}
    ops = [node for node in nodes if _attribute(node, "op_schema")]
    regions = sum(node["name"].startswith("Torch-Compiled Region") for node in nodes)
    owned = _owned_bytes(ops, by_id)
    calls = [
        _call(node, owned[node["id"]], _ancestors(node, by_id))
        for node in sorted(ops, key=lambda node: int(_attribute(node, "rf_id")))
    ]
    return DispatchTrace(calls=tuple(calls), compiled_regions=regions)


def _observe(run: Callable[[], object]) -> list[_Node]:
    """Run under an execution trace observer and return the nodes that it wrote."""
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder, native_lines_dropped(OBSERVER):
        path = Path(folder) / "trace.json"
        observer = ExecutionTraceObserver().register_callback(str(path))
        observer.start()
        try:
            run()
        finally:
            observer.stop()
            observer.unregister_callback()
        nodes: list[_Node] = json.loads(path.read_text())["nodes"]
    return nodes


def _attribute(node: _Node, name: str) -> Any:
    """Read one named attribute of a node; "" where it has none."""
    return next((item["value"] for item in node["attrs"] if item["name"] == name), "")


def _ancestors(node: _Node, by_id: dict[int, _Node]) -> list[_Node]:
    """List the operators around a call, innermost first."""
    found = []
    parent = by_id.get(node["ctrl_deps"])
    while parent is not None and parent["id"] != parent["ctrl_deps"]:
        if _attribute(parent, "op_schema"):
            found.append(parent)
        parent = by_id.get(parent["ctrl_deps"])
    return found


def _tensors(side: dict[str, Any]) -> list[tuple[int, tuple[int, ...], int]]:
    """List (storage, shape, bytes) of the tensors among a node's inputs or outputs."""
    found: list[tuple[int, tuple[int, ...], int]] = []

    def walk(value: Any, shape: Any, kind: str) -> None:
        if kind.startswith("GenericList["):
            inner = kind[len("GenericList[") : -1].split(",")
            for item in zip(value, shape, inner, strict=False):
                walk(*item)
        elif kind.startswith("Tensor"):
            _, storage, _, numel, itemsize, _ = value
            found.append((storage, tuple(shape), numel * itemsize))

    for item in zip(side["values"], side["shapes"], side["types"], strict=True):
        walk(*item)
    return found


def _owned_bytes(ops: list[_Node], by_id: dict[int, _Node]) -> dict[int, int]:
    """Give each new storage to the innermost call that returned it without having received it."""
    claimed: dict[int, set[int]] = {node["id"]: set() for node in ops}
    owned = dict.fromkeys(claimed, 0)
    for node in sorted(ops, key=lambda node: -len(_ancestors(node, by_id))):
        received = {storage for storage, _, _ in _tensors(node["inputs"])}
        ancestors = _ancestors(node, by_id)
        for storage, _, size in _tensors(node["outputs"]):
            if storage in received or storage in claimed[node["id"]]:
                continue
            owned[node["id"]] += size
            for ancestor in [node, *ancestors]:
                claimed[ancestor["id"]].add(storage)
    return owned


def _call(node: _Node, allocated_bytes: int, ancestors: list[_Node]) -> DispatchCall:
    """Turn a node into a record."""
    schema = _attribute(node, "op_schema")
    op = schema.split("(", 1)[0]
    below_kernel = any(_role(_attribute(outer, "op_schema")) != "composite" for outer in ancestors)
    return DispatchCall(
        op=op,
        depth=len(ancestors),
        role=_role(schema),
        layers=_layers(op, _device(node), below_autograd=below_kernel),
        input_shapes=tuple(shape for _, shape, _ in _tensors(node["inputs"])),
        output_shapes=tuple(shape for _, shape, _ in _tensors(node["outputs"])),
        allocated_bytes=allocated_bytes,
    )


def _device(node: _Node) -> str:
    """Name the dispatch key of the first tensor's device, e.g. "CPU" or "CUDA"."""
    for side in (node["inputs"], node["outputs"]):
        for value, kind in zip(side["values"], side["types"], strict=True):
            if kind.startswith("Tensor"):
                return str(value[5]).split(":")[0].upper()
    return "CPU"


def _role(schema: str) -> Role:
    """Tell operators that compute from those that only call others or make views."""
    # torch._C._dispatch_* reads the dispatcher's tables. Private; checked on 2.11 and 2.13.
    # Obsolete when torch.library can say how an operator is registered.
    op, returns = schema.split("(", 1)[0], schema.rsplit("->", 1)[-1]
    if torch._C._dispatch_has_kernel_for_dispatch_key(op, "CompositeImplicitAutograd"):
        return "composite"
    # A result marked (a) shares the argument's memory; (a!) is an argument written in place.
    return "view" if "(a)" in returns else "kernel"


def _layers(op: str, device: str, *, below_autograd: bool) -> tuple[str, ...]:
    """Name the dispatch keys that a dense tensor's call passes, first to last.

    Kernels of the autograd layer switch that layer off for the calls below them. Keys whose
    entry is a fallthrough cost nothing and are left out.
    """
    # Same private tables as in _role.
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if has_kernel(op, "CompositeImplicitAutograd"):
        return ("CompositeImplicitAutograd",)
    above: list[str] = []
    if not below_autograd and not torch.is_inference_mode_enabled():
        if has_kernel(op, "Autograd") or has_kernel(op, f"Autograd{device}"):
            above.append(f"Autograd{device}")
        if has_kernel(op, "ADInplaceOrView"):
            above.append("ADInplaceOrView")
    return (*above, device)
