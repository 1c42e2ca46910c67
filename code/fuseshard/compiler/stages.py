"""Every stage of torch.compile for one function, as text, taken in this process."""

import dis
import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import torch

# Private modules, checked on torch 2.11 and 2.13. `torch.compiler` has no public view of the
# intermediate stages; once it has one, this file should shrink to calls of it.
import torch._dynamo
import torch._dynamo.convert_frame
import torch._dynamo.eval_frame
import torch._dynamo.utils
import torch._inductor.compile_fx
import torch._inductor.config
import torch._inductor.graph

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.records import Stages
from fuseshard.compiler.text import clean
from fuseshard.measure.clock import fresh_compile, warm_compiler


@dataclass
class _Log:
    """What the hooks heard, in order."""

    frames: list[tuple[CodeType, CodeType]] = field(default_factory=list)
    fx: list[str] = field(default_factory=list)
    joint: list[str] = field(default_factory=list)
    aten: list[str] = field(default_factory=list)
    backward: list[str] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)


def capture(fn: Callable[..., Any], *args: Any, backward: bool = False) -> Stages:
    """Compile a function with Inductor, run it once and keep what every stage produced.

    A copy of the function is compiled, with all of Inductor's caches off, so that neither the
    original's compiled versions nor earlier runs are touched or reused.

    Args:
        fn: function or module to compile; shapes are taken from `args` as they are (static).
        args: its arguments; not modified unless `fn` modifies them.
        backward: also differentiate the result. Without it `fn` runs under torch.no_grad.
            No `.grad` is written.

    Returns:
        The stages; at least one graph.

    Raises:
        ValueError: `fn` is already compiled, Dynamo captured no graph, or `backward` is asked
            for where the result needs no gradient.

    Source:
        Ansel et al. 2024, "PyTorch 2", doi:10.1145/3620665.3640366. Checked on torch 2.13.
    """
    # With caches off, the first compile of a process would precompile the C++ headers again: 10 s.
    warm_compiler()
    log = _Log()
    reasons_before = dict(torch._dynamo.utils.counters["graph_break"])
    compiled = torch.compile(isolated(fn), backend=_spying_inductor(log), dynamic=False)
    with _hooks(log):
        if backward:
            with torch.enable_grad():
                _differentiate(compiled(*args), fn)
        else:
            with torch.no_grad():
                compiled(*args)
    reasons = _new_reasons(reasons_before)
    _require_a_graph(fn, log, reasons)
    return Stages(
        graph_count=len(log.fx),
        break_reasons=reasons,
        bytecode=tuple(_disassembled(after) for _, after in log.frames),
        guards=tuple(text for code in _frame_codes(log) for text in _guards(code)),
        fx=tuple(log.fx),
        joint=tuple(log.joint) if backward else (),
        aten=tuple(log.aten),
        backward=tuple(log.backward),
        loops=tuple(log.loops),
        source=tuple(log.source),
    )


def _spying_inductor(log: _Log) -> Callable[..., Any]:
    """Make a backend that is Inductor with both of its entrances watched."""

    def inner_compile(graph: torch.fx.GraphModule, inputs: Any, **kwargs: Any) -> Any:
        kept = log.backward if kwargs.get("is_backward") else log.aten
        kept.append(_readable(graph))
        return torch._inductor.compile_fx.compile_fx_inner(graph, inputs, **kwargs)

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        log.fx.append(_readable(graph))
        return torch._inductor.compile_fx.compile_fx(graph, inputs, inner_compile=inner_compile)

    return backend


@contextmanager
def _hooks(log: _Log) -> Iterator[None]:
    """Listen to Dynamo and Inductor, and keep their caches out of the way."""

    def keep_joint(graph: torch.fx.Graph) -> None:
        assert graph.owning_module is not None
        log.joint.append(_readable(graph.owning_module))

    def keep_loops(nodes: list[Any]) -> list[Any]:
        log.loops.append(clean("\n\n".join(node.debug_str() for node in nodes)))
        return nodes

    patches = {
        "joint_custom_pre_pass": keep_joint,
        "_post_fusion_custom_pass": keep_loops,
        "compile_threads": 1,  # worker processes could outlive a notebook that is killed
    }
    with ExitStack() as stack:
        stack.enter_context(fresh_compile())  # a cache hit would skip the stages after ATen
        stack.enter_context(torch._inductor.config.patch(patches))
        stack.enter_context(source_kept(log.source))
        handle = torch._dynamo.convert_frame.register_bytecode_hook(
            lambda before, after: log.frames.append((before, after))
        )
        stack.callback(handle.remove)
        yield


@contextmanager
def source_kept(source: list[str], *, stop: BaseException | None = None) -> Iterator[None]:
    """Have Inductor hand over each module that it writes while the block runs.

    Args:
        source: gets one cleaned text a module; a compile found in a cache writes none.
        stop: raised once a text is there, so that no C++ compiler runs; None lets it run.
    """

    def keep(code: str) -> None:
        source.append(clean(code))
        if stop is not None:
            raise stop

    lowering = torch._inductor.graph.GraphLowering
    before = lowering.save_output_code
    lowering.save_output_code = staticmethod(keep)
    try:
        yield
    finally:
        lowering.save_output_code = before


def _readable(graph: torch.fx.GraphModule) -> str:
    """Print a graph as Python with shapes."""
    return clean(graph.print_readable(print_output=False))


def _disassembled(code: CodeType) -> str:
    """Print bytecode."""
    text = io.StringIO()
    dis.dis(code, file=text, depth=0)
    return clean(text.getvalue())


def _frame_codes(log: _Log) -> list[CodeType]:
    """List the frames that were compiled, each once."""
    return list({id(before): before for before, _ in log.frames}.values())


def _guards(code: CodeType) -> list[str]:
    """Print the guards of each compiled version of a frame."""
    entries = torch._dynamo.eval_frame._debug_get_cache_entry_list(code)
    return [clean(str(entry.guard_manager)) for entry in entries]


def _new_reasons(before: dict[str, int]) -> tuple[str, ...]:
    """List the graph breaks counted since `before`, a repeated one as often as it happened."""
    now = torch._dynamo.utils.counters["graph_break"]
    return tuple(
        clean(reason) for reason, n in now.items() for _ in range(n - before.get(reason, 0))
    )


def _require_a_graph(fn: Callable[..., Any], log: _Log, reasons: tuple[str, ...]) -> None:
    """Refuse a capture in which nothing was compiled: every stage would be empty."""
    if log.fx:
        return
    why = f"Dynamo's reason: {reasons[0]}" if reasons else "Dynamo gave no reason"
    raise ValueError(
        f"capture: {getattr(fn, '__name__', type(fn).__name__)} gave 0 graphs, must give at "
        f"least 1 ({why}); pass a function that computes with tensors and isn't excluded from "
        "compiling."
    )


def _differentiate(result: Any, fn: Callable[..., Any]) -> None:
    """Run the backward pass, without writing any `.grad`."""
    # torch's own walk over nested results, private; checked on torch 2.11 and 2.13.
    results = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
    needing = [tensor for tensor in results if tensor.requires_grad]
    if not needing:
        raise ValueError(
            f"capture: the result of {getattr(fn, '__name__', type(fn).__name__)} needs no "
            "gradient, must need one for backward=True (otherwise there is no backward graph); "
            "pass an argument with requires_grad=True or leave backward out."
        )
    grads = [torch.ones_like(tensor) for tensor in needing]
    torch.autograd.grad(needing, _leaves(needing), grads, allow_unused=True)


def _leaves(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Find the tensors that `.backward()` would give a gradient, by walking the autograd graph."""
    found: dict[int, torch.Tensor] = {id(t): t for t in tensors if t.is_leaf}
    nodes = [tensor.grad_fn for tensor in tensors]
    seen = set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            found[id(leaf)] = leaf
        nodes += [parent for parent, _ in node.next_functions]
    return list(found.values())
