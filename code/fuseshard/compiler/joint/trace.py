"""The joint graph of a function, and the two halves that a partitioner makes of it.

Dynamo captures, AOTAutograd traces and a partitioner cuts; then the halves run operator by
operator, as the backend `aot_eager_decomp_partition` runs them: Inductor would compile the same
halves, and takes part here only with its table of decompositions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._functorch.config

# Private modules, checked on torch 2.11 and 2.13. `functorch.compile` exports some of these names,
# but documents them as experimental too; it is obsolete once torch.compiler has a public joint
# graph.
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table
from torch.fx import GraphModule

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.joint.graphs import duplicate, primals_of, readable, results_of, saved_of
from fuseshard.compiler.joint.records import Saved

Partitioner = Callable[..., tuple[GraphModule, GraphModule]]
"""joint graph, inputs, num_fwd_outputs=..., static_lifetime_input_indices=... -> two graphs"""

Backward = Callable[..., Sequence[torch.Tensor]]
"""arguments of a function and a tangent -> a gradient for each argument"""

Table = Mapping[Any, Callable[..., Any]]
"""operator -> the function that decomposes it"""

AS_EAGER: Partitioner = default_partition
"""keeps what eager mode would keep"""
MIN_CUT: Partitioner = min_cut_rematerialization_partition
"""keeps what costs least; Inductor's choice"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Halves:
    """A forward and a backward graph."""

    forward: GraphModule
    """inputs -> results, then what is saved"""
    backward: GraphModule
    """what was saved, then a tangent for each result -> a gradient for each input"""
    saved: tuple[Saved, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Traced:
    """What the stages before Inductor made of one function."""

    fx: str
    """Dynamo's graph, as Python"""
    joint: GraphModule
    """forward and backward in one, before it is cut"""
    num_outputs: int
    """results of the function; the joint graph's other results are gradients"""
    halves: dict[str, Halves]
    """name of a partitioner -> what it made of the joint graph"""
    inputs: tuple[torch.Tensor, ...]
    """what the forward graphs take, in their order: of this one call, detached"""

    @property
    def static_inputs(self) -> frozenset[str]:
        """Names of the inputs that are parameters."""
        return frozenset(
            node.name
            for node, value in zip(primals_of(self.joint), self.inputs, strict=True)
            if isinstance(value, torch.nn.Parameter)
        )


def trace(
    fn: Callable[..., torch.Tensor],
    *args: torch.Tensor,
    partitioners: Mapping[str, Partitioner] | None = None,
) -> Traced:
    """Compile a function up to the point where Inductor would take over, and run it once.

    Args:
        fn: of tensors, with one tensor as its result; shapes are taken from `args` (static).
        args: at least one of them, or a parameter that `fn` uses, requires a gradient.
        partitioners: name -> partitioner; each cuts a copy of the joint graph. None means
            {"min-cut": MIN_CUT}. What is run is what the first of them made.

    Returns:
        The graphs.

    Raises:
        ValueError: Dynamo captured no graph or several, or nothing needs a gradient.

    Source:
        Ansel et al. 2024, "PyTorch 2", doi:10.1145/3620665.3640366. Checked on torch 2.13.
    """
    log = _Log(partitioners or {"min-cut": MIN_CUT})
    compiled = torch.compile(isolated(fn), backend=log.backend, dynamic=False)
    compiled(*args)
    if len(log.fx) != 1 or log.joint is None:
        raise ValueError(
            f"trace: {getattr(fn, '__name__', type(fn).__name__)} gave {len(log.fx)} graphs"
            f"{'' if log.joint else ' and no backward pass'}, must give one graph with a backward "
            "pass (a break would cut the joint graph too); pass a function without graph breaks, "
            "and an argument that requires a gradient."
        )
    return Traced(
        fx=log.fx[0],
        joint=log.joint,
        num_outputs=log.num_outputs,
        halves=log.halves,
        inputs=tuple(log.inputs),
    )


def compiled_with(
    fn: Callable[..., torch.Tensor], partitioner: Partitioner
) -> Callable[..., torch.Tensor]:
    """Compile a function so that a partitioner of your own cuts its joint graph.

    Args:
        fn: what to compile; a copy is, so that other compiled versions stay apart.
        partitioner: called when the compiled function is called first.

    Returns:
        A function that autograd can differentiate, run operator by operator.
    """
    log = _Log({"own": partitioner})
    compiled: Callable[..., torch.Tensor] = torch.compile(
        isolated(fn), backend=log.backend, dynamic=False
    )
    return compiled


def differences_from_eager(
    fn: Callable[..., torch.Tensor],
    args: Sequence[torch.Tensor],
    tangent: torch.Tensor,
    *,
    cuts: Mapping[str, Partitioner],
    by_hand: Mapping[str, Backward],
) -> dict[str, float]:
    """Differentiate a function in several ways, and compare the gradients with eager autograd's.

    Args:
        fn: of tensors.
        args: its arguments, all of which get a gradient; not modified.
        tangent: gradient of its result.
        cuts: name -> what cuts the joint graph of the compiled function.
        by_hand: name -> a backward pass of arguments and tangent.

    Returns:
        Name -> largest absolute difference of any gradient.
    """
    tracked = [arg.detach().requires_grad_() for arg in args]
    expected = torch.autograd.grad(fn(*tracked), tracked, tangent)
    found: dict[str, Sequence[torch.Tensor]] = {
        name: backward(*args, tangent) for name, backward in by_hand.items()
    }
    for name, cut in cuts.items():
        result = compiled_with(fn, cut)(*tracked)
        found[name] = torch.autograd.grad(result, tracked, tangent)
    return {name: largest_difference(got, expected) for name, got in found.items()}


def largest_difference(got: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> float:
    """Return the largest absolute difference between tensors of two sequences.

    Args:
        got: what to judge.
        expected: as many tensors, of the same shapes.
    """
    return max(float((a - b).abs().max()) for a, b in zip(got, expected, strict=True))


@contextmanager
def memory_budget(budget: float) -> Iterator[None]:
    """Cut with a memory budget what is compiled meanwhile.

    Args:
        budget: 1 keeps what is fastest, 0 keeps the inputs alone.
    """
    # A global flag, private but named in PyTorch's own documentation of memory budgets; restored.
    # Obsolete when torch.compile takes the budget as an option. Checked on torch 2.11 and 2.13.
    with torch._functorch.config.patch(activation_memory_budget=budget):
        yield


@dataclass
class _Log:
    """A backend that keeps what passes it."""

    partitioners: Mapping[str, Partitioner]
    fx: list[str] = field(default_factory=list)
    joint: GraphModule | None = None
    num_outputs: int = 0
    halves: dict[str, Halves] = field(default_factory=dict)
    inputs: list[torch.Tensor] = field(default_factory=list)

    def backend(self, graph: GraphModule, inputs: list[torch.Tensor]) -> Callable[..., Any]:
        """Do what the backend aot_eager_decomp_partition does, and keep the graphs."""
        self.fx.append(readable(graph))
        compile_both = aot_autograd(
            fw_compiler=_uncompiled,
            bw_compiler=_uncompiled,
            partition_fn=self._partition,
            decompositions=select_decomp_table(),
        )
        # Parameters stay what they are, so that they can be told from other inputs.
        is_parameter = torch.nn.Parameter
        self.inputs = [t if isinstance(t, is_parameter) else t.detach() for t in inputs]
        call: Callable[..., Any] = compile_both(graph, inputs)
        return call

    def _partition(
        self, joint: GraphModule, inputs: Any, *, num_fwd_outputs: int, **settings: Any
    ) -> tuple[GraphModule, GraphModule]:
        self.joint, self.num_outputs = duplicate(joint), num_fwd_outputs
        made = []
        for name, partitioner in self.partitioners.items():
            copy = duplicate(joint)
            pair = partitioner(copy, inputs, num_fwd_outputs=num_fwd_outputs, **settings)
            self.halves[name] = self._described(joint, *pair)
            made.append(pair)
        return made[0]

    def _described(self, joint: GraphModule, forward: GraphModule, backward: GraphModule) -> Halves:
        kept = [node for node in results_of(forward)[self.num_outputs :] if node is not None]
        by_name = {node.name: node for node in joint.graph.nodes}
        own = [by_name.get(node.name, node) for node in kept]
        return Halves(
            forward=forward,
            backward=backward,
            saved=tuple(saved_of(joint, own, self.inputs)),
        )


def _uncompiled(graph: GraphModule, inputs: Any) -> Callable[[list[Any]], Any]:
    """Run a graph as it is; it takes its arguments as one list, and empties it."""

    def call(args: list[Any]) -> Any:
        taken = list(args)
        args.clear()
        return graph(*taken)

    # torch's mark for functions that take one list; checked on torch 2.11 and 2.13.
    call._boxed_call = True  # type: ignore[attr-defined]
    return call
