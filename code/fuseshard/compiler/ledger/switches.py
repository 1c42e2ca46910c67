"""Turning off, one at a time, what Inductor does to a function, and timing every combination.

Three switches, by the names that the records use:
    vectors  a loop takes as many numbers at a step as a vector register holds
    fusion   operations share a loop, and what passes between them stays in registers
    call     the way in: guards and wrappers around the written module, a price and not a gain
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from unittest import mock

import torch

# Private modules, checked on torch 2.11 and 2.13. Each option below is read when the first call
# compiles; none has a public name.
import torch._functorch.config
import torch._inductor.config
import torch._inductor.ir

from fuseshard.compiler.inductor import buffer_bytes, kernels, load
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.ledger.account import Set, Times, name_of
from fuseshard.compiler.ledger.records import COMPILED, EAGER, Ledger, Written
from fuseshard.compiler.modes.steps import largest_error
from fuseshard.compiler.stages import source_kept
from fuseshard.measure.clock import compare
from fuseshard.measure.records import Comparison

SWITCHES = ("vectors", "fusion", "call")

THREADS = 2
"""of the second comparison"""

OFF: Mapping[str, Mapping[str, object]] = {
    # A width that no instruction set has: Inductor then writes no vectors, and tells the C++
    # compiler, as always, not to make any of its own (-fno-tree-loop-vectorize).
    "vectors": {"cpp.simdlen": 1},
    "scheduling": {"max_fusion_size": 1},
}
"""switch -> the options of Inductor that turn it off"""

ALLOWED_ERROR = 16 * torch.finfo(torch.float32).eps
"""relative to the largest value: eight operations, each rounded once, on both sides"""

Function = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Variant:
    """One function compiled with some switches off."""

    compiled: Function
    """through torch.compile, as a program calls it"""
    source: str
    """the module that Inductor wrote"""
    alone: Function
    """that module's own `call`"""


def variant(fn: Function, x: torch.Tensor, *, off: tuple[str, ...] = ()) -> Variant:
    """Compile a copy of a function for one thread or several, with some of Inductor's work off.

    Fusion happens twice: elementwise operations are inlined into each other while the graph is
    lowered, and the scheduler then joins loops. Either alone is enough for a chain, so turning
    fusion off takes both.

    Args:
        fn: function of one tensor.
        x: its argument, whose shape is compiled in.
        off: among "vectors", "inlining", "scheduling", and "fusion" for the last two.

    Returns:
        The compiled copy, what was written for it, and a way to call that directly.

    Raises:
        ValueError: a name that isn't a switch of this function.
    """
    parts = _parts(off)
    patches = {option: value for part in parts for option, value in OFF.get(part, {}).items()}
    # Loops are shared out between as many threads as torch has when the code runs, up to two.
    patches |= {"cpp.threads": THREADS, "cpp.dynamic_threads": True}
    # The caches' keys don't know that inlining is off, so both stay out of this.
    patches |= {"fx_graph_cache": False}
    source: list[str] = []
    with ExitStack() as stack:
        stack.enter_context(source_kept(source))
        stack.enter_context(torch._inductor.config.patch(patches))
        stack.enter_context(torch._functorch.config.patch(enable_autograd_cache=False))
        if "inlining" in parts:
            stack.enter_context(_without_inlining())
        compiled = torch.compile(isolated(fn), dynamic=False)
        compiled(x)
    (module,) = source
    return Variant(compiled=compiled, source=module, alone=_caller(module))


def written(switches: tuple[str, ...], source: str) -> Written:
    """Read off a module what proves that its switches were where they should be.

    Args:
        switches: those that were on.
        source: the module.
    """
    code = "\n".join(kernel.code for kernel in kernels(source))
    return Written(
        switches=switches,
        loops=len(re.findall(r"\bfor\s*\(int64_t", code)),
        vectors=code.count("Vectorized<"),
        parallel_loops=code.count("#pragma omp for"),
        buffer_bytes=buffer_bytes(source),
        code=code,
    )


def ledger(fn: Function, x: torch.Tensor, *, budget_s: float = 12.0) -> Ledger:
    """Time a function with every combination of the switches, and with one thread and two.

    All results are held against eager mode first.

    Args:
        fn: function of one tensor.
        x: its argument.
        budget_s: seconds of timing in all; compiling comes on top.

    Returns:
        The times and what was written.
    """
    made = {}
    for has_vectors, has_fusion in itertools.product((False, True), repeat=2):
        off = (*(() if has_vectors else ("vectors",)), *(() if has_fusion else ("fusion",)))
        made[frozenset({"vectors", "fusion"} - set(off))] = variant(fn, x, off=off)
    variants: dict[str, Callable[[], torch.Tensor]] = {EAGER: functools.partial(fn, x)}
    for on, one in made.items():
        variants[name_of(on)] = functools.partial(one.alone, x)
        variants[name_of(on | {"call"})] = functools.partial(one.compiled, x)
    _require_equal(variants)
    whole = made[frozenset({"vectors", "fusion"})]
    comparison = compare(variants, budget_s=0.7 * budget_s)
    return Ledger(
        num_elements=x.numel(),
        comparison=comparison,
        threads=_threads(fn, whole, x, 0.3 * budget_s),
        written=tuple(written(tuple(sorted(on)), one.source) for on, one in made.items()),
        origin=comparison.origin,
    )


def times_of(made: Ledger) -> Times:
    """Return the median seconds of every combination of the switches.

    Args:
        made: by `ledger`.
    """
    chosen: list[Set] = [
        frozenset(on) for n in range(4) for on in itertools.combinations(SWITCHES, n)
    ]
    return {on: made.comparison[name_of(on)].median_s for on in chosen}


def _parts(off: tuple[str, ...]) -> set[str]:
    known = {"vectors", "inlining", "scheduling", "fusion"}
    if not known.issuperset(off):
        raise ValueError(
            f"variant: off is {off}, must be among {sorted(known)} (these change what Inductor "
            "writes); leave the others out."
        )
    return (set(off) - {"fusion"}) | ({"inlining", "scheduling"} if "fusion" in off else set())


@contextmanager
def _without_inlining() -> Iterator[None]:
    """Have every operation write its result to memory, as if each were too large to inline.

    No option of Inductor does this: `realize_opcount_threshold` is not heeded below 100.
    """
    yes = mock.patch.object(
        torch._inductor.ir.Loops, "has_large_inner_fn", lambda self, threshold=None: True
    )
    with yes:
        yield


def _caller(source: str) -> Function:
    call = load(source)

    def alone(x: torch.Tensor) -> torch.Tensor:
        (result,) = call([x])
        return result

    return alone


def _threads(fn: Function, whole: Variant, x: torch.Tensor, budget_s: float) -> Comparison:
    """Time eager mode and the written module on one thread and on two, in the same rounds."""

    def on_two(call: Function) -> Callable[[], object]:
        def both() -> object:
            torch.set_num_threads(THREADS)
            try:
                return call(x)
            finally:
                torch.set_num_threads(1)

        return both

    return compare(
        {
            EAGER: functools.partial(fn, x),
            COMPILED: functools.partial(whole.alone, x),
            f"{EAGER}, {THREADS}": on_two(fn),
            f"{COMPILED}, {THREADS}": on_two(whole.alone),
        },
        budget_s=budget_s,
    )


def _require_equal(variants: Mapping[str, Callable[[], torch.Tensor]]) -> None:
    """Refuse to compare the times of different results."""
    expected = variants[EAGER]()
    for name, call in variants.items():
        off = largest_error((call(),), (expected,))
        if not off <= ALLOWED_ERROR:
            raise ArithmeticError(
                f"{name}: the result is off by {off:.1e}, at most {ALLOWED_ERROR:.1e} expected "
                "(the operations are the same, one by one); its time means nothing."
            )
