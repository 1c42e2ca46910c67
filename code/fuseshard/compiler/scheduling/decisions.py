"""Listening to Inductor's scheduler: its nodes, each pair it considers, its groups.

Three hooks of torch's own carry it all: the passes before and after fusion hand over the nodes,
the "fusion" log carries reasons and fusions, and a heuristics object is asked about each pair.
"""

import copy
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import torch

# Private, checked on torch 2.13: the scheduler has no public view.
import torch._inductor.compile_fx
import torch._inductor.config
import torch._inductor.scheduler
from torch._inductor.choices import InductorChoices
from torch._inductor.dependencies import MemoryDep
from torch._inductor.virtualized import V

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.scheduling.records import (
    OTHER_RANGES,
    Access,
    Decision,
    Kind,
    Node,
    Relation,
    Schedule,
    Verdict,
)
from fuseshard.compiler.stages import source_kept

_KINDS: dict[str, Kind] = {
    "ExternKernelSchedulerNode": "extern",
    "NopKernelSchedulerNode": "nop",
}


_VIEWS = ("clone", "expand", "permute", "slice", "unsqueeze", "view")
"""operators that only say where elements are read"""


@dataclass
class _Pair:
    """What was heard about one pair."""

    relation: Relation = ""
    score_bytes: int | None = None
    verdict: Verdict = "overtaken"
    reason: str = ""


@dataclass
class _Heard:
    """What the hooks heard, in order."""

    nodes: list[Node] = field(default_factory=list)
    groups: list[tuple[str, ...]] = field(default_factory=list)
    pairs: dict[tuple[str, str], _Pair] = field(default_factory=dict)
    before: int = 0
    after: int = 0
    source: list[str] = field(default_factory=list)

    def pair(self, first: Any, second: Any) -> _Pair:
        """Find the entry of a pair of torch's nodes or of their names."""
        names = [n if isinstance(n, str) else n.get_name() for n in (first, second)]
        return self.pairs.setdefault((names[0], names[1]), _Pair())


class _Written(BaseException):  # no Exception: torch would wrap it and report a failure
    """Raised when the module is written, so that no C++ compiler runs."""


def decisions(
    fn: Callable[..., Any], *args: Any, options: Mapping[str, Any] | None = None
) -> Schedule:
    """Compile a function as far as its module's text, and say what the scheduler decided.

    Args:
        fn: function to compile; shapes are taken from `args` as they are (static).
        args: its arguments, on the CPU.
        options: settings of Inductor, as `torch.compile` takes them.

    Returns:
        Nodes, groups, and every pair that the scheduler looked at.

    Raises:
        ValueError: the function gave another number of graphs than one.

    Source:
        torch/_inductor/scheduler.py: Scheduler.can_fuse, fuse_nodes. Checked on torch 2.13.
    """
    heard = _Heard()
    graphs = 0

    def inner_compile(graph: torch.fx.GraphModule, inputs: Any, **kwargs: Any) -> Any:
        untouched = copy.deepcopy(graph)
        with suppress(_Written):
            torch._inductor.compile_fx.compile_fx_inner(graph, inputs, **kwargs)
        return untouched.forward

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        nonlocal graphs
        graphs += 1
        return torch._inductor.compile_fx.compile_fx(graph, inputs, inner_compile=inner_compile)

    compiled = torch.compile(isolated(fn), backend=backend, dynamic=False)
    with _listening(heard, options or {}), torch.no_grad():
        compiled(*args)
    if graphs != 1:
        raise ValueError(
            f"decisions: {getattr(fn, '__name__', type(fn).__name__)} gave {graphs} graphs, must "
            "give 1 (each graph has a schedule of its own); pass one part of it."
        )
    return _schedule(heard)


@contextmanager
def _listening(heard: _Heard, options: Mapping[str, Any]) -> Iterator[None]:
    """Hang up the hooks, and take them down again."""
    logger = logging.getLogger("torch._inductor.scheduler.__fusion")
    level, propagate = logger.level, logger.propagate
    handler = _Ear(heard)
    patches = {
        **options,
        "_pre_fusion_custom_pass": lambda nodes: _keep_nodes(heard, nodes),
        "_post_fusion_custom_pass": lambda nodes: _keep_groups(heard, nodes),
        "compile_threads": 1,
        "cpp.threads": 1,  # OpenMP's lines would hide where a loop nest begins
        "fx_graph_cache": False,  # a hit would schedule nothing
    }
    with ExitStack() as stack:
        stack.enter_context(torch._inductor.config.patch(patches))
        stack.enter_context(V.set_choices_handler(_Watching(heard)))
        stack.enter_context(source_kept(heard.source, stop=_Written()))
        logger.addHandler(handler)
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        stack.callback(logger.removeHandler, handler)
        stack.callback(logger.setLevel, level)
        stack.callback(setattr, logger, "propagate", propagate)
        yield


class _Ear(logging.Handler):
    """Hears the fusion log."""

    def __init__(self, heard: _Heard) -> None:
        super().__init__()
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        why = record.msg
        if isinstance(why, torch._inductor.scheduler.WhyNoFuse):
            pair = self._heard.pair(why.name1, why.name2)
            pair.verdict, pair.reason = "refused", why.reason % why.args
        elif record.msg == "fusing %s with %s":
            first, second = record.args  # type: ignore[misc]
            pair = self._heard.pair(first, second)
            pair.verdict, pair.reason = "fused", ""


class _Watching(InductorChoices):
    """Torch's own heuristics, which also keep what they were asked."""

    def __init__(self, heard: _Heard) -> None:
        super().__init__()
        self._heard = heard

    # Torch's are static methods; its calls go through the object, so that methods do as well.
    def can_fuse(self, *pair_and_score: Any) -> bool:  # type: ignore[override]
        """Keep the relation and the score; forget what an earlier round said."""
        _, first, second, score = pair_and_score
        pair = self._heard.pair(first, second)
        vertical = first.get_operation_names() & second.ancestors
        pair.relation = "vertical" if vertical else "horizontal"
        pair.score_bytes = int(score)
        pair.verdict, pair.reason = "overtaken", ""
        return InductorChoices.can_fuse(*pair_and_score)

    def can_fuse_vertical(self, *pair_and_score: Any) -> bool:  # type: ignore[override]
        """Ask the backend beforehand, since it gives no reason when it is asked next."""
        scheduler, first, second, _ = pair_and_score
        backend = scheduler.get_backend(first.get_device())
        self._keep(first, second, allowed=backend.can_fuse_vertical(first, second))
        return InductorChoices.can_fuse_vertical(*pair_and_score)

    def can_fuse_horizontal(self, *pair_and_score: Any) -> bool:  # type: ignore[override]
        """Ask the backend beforehand, as for a vertical pair."""
        scheduler, first, second, _ = pair_and_score
        allowed = InductorChoices.can_fuse_horizontal(*pair_and_score)
        backend = scheduler.get_backend(first.get_device())
        if allowed:
            self._keep(first, second, allowed=backend.can_fuse_horizontal(first, second))
        return allowed

    def _keep(self, first: Any, second: Any, *, allowed: bool) -> None:
        if not allowed:
            pair = self._heard.pair(first, second)
            pair.verdict, pair.reason = "refused", OTHER_RANGES


def _keep_nodes(heard: _Heard, nodes: list[Any]) -> list[Any]:
    """Copy the nodes before fusion."""
    heard.nodes += [_node(node) for node in nodes]
    heard.before += sum(node.get_read_write_buffers_sizes() for node in nodes)
    return nodes


def _keep_groups(heard: _Heard, nodes: list[Any]) -> list[Any]:
    """Copy the groups after fusion."""
    heard.groups += [tuple(part.get_name() for part in node.get_nodes()) for node in nodes]
    heard.after += sum(node.get_read_write_buffers_sizes() for node in nodes)
    return nodes


def _node(node: Any) -> Node:
    """Copy one of torch's scheduler nodes."""
    kind = _KINDS.get(type(node).__name__, "reduction" if node.is_reduction() else "pointwise")
    ranges, reduced = node.group[1] if hasattr(node, "group") else ((), ())
    return Node(
        name=node.get_name(),
        kind=kind,
        ops=_ops(node.node, kind),
        ranges=tuple(int(n) for n in ranges),
        reduced=tuple(int(n) for n in reduced),
        shape=_shape(node.node),
        reads=tuple(_access(dep) for dep in node.read_writes.reads),
        writes=tuple(_access(dep) for dep in node.read_writes.writes),
    )


def _ops(operation: Any, kind: Kind) -> tuple[str, ...]:
    """Name the ATen operators whose work an operation does, in the order of the graph."""
    own = operation.get_origin_node()
    origins = {own} if kind == "extern" and own else set(operation.get_origins())
    # Private, checked on torch 2.13: the class of ATen's operators; Python's getitem is none.
    calls = [n for n in origins if isinstance(n.target, torch._ops.OpOverload)]
    order = {n: place for place, n in enumerate(calls[0].graph.nodes)} if calls else {}
    names = [n.target.__name__.split(".")[0] for n in sorted(calls, key=order.__getitem__)]
    return tuple(name for name in names if name not in _VIEWS)


def _shape(operation: Any) -> tuple[int, ...]:
    """Return the shape that an operation's loops were made from; () for a library's."""
    data = getattr(operation, "data", None)
    return () if data is None else tuple(int(n) for n in data.get_size())


def _access(dep: Any) -> Access:
    """Copy one of torch's dependencies, its variables renamed by their order."""
    if not isinstance(dep, MemoryDep):
        reached = int(V.graph.get_dep_size_hint(dep))
        return Access(buffer=dep.name, index="", sizes=(), num_bytes=reached)
    return Access(
        buffer=dep.name,
        index=str(dep.index),
        sizes=tuple(int(n) for n in dep.size),
        num_bytes=int(V.graph.get_dep_size_hint(dep)),
    )


def _schedule(heard: _Heard) -> Schedule:
    """Make the record."""
    return Schedule(
        nodes=tuple(heard.nodes),
        groups=tuple(heard.groups),
        decisions=tuple(
            Decision(
                first=_members(first),
                second=_members(second),
                relation=pair.relation,
                score_bytes=pair.score_bytes,
                verdict=pair.verdict,
                reason=pair.reason,
            )
            for (first, second), pair in heard.pairs.items()
        ),
        bytes_before=heard.before,
        bytes_after=heard.after,
        source=heard.source[0],
    )


def _members(name: str) -> tuple[str, ...]:
    """Split the name of a group, "op0_op1", into the names of its nodes."""
    return tuple(name.split("_"))
