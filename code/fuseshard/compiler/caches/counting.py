"""What torch's caches said during a call, read from its own counters."""

import logging
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Private, checked on torch 2.11 and 2.13: Dynamo's statistics, and seconds by phase.
from torch._dynamo.utils import compilation_time_metrics, counters

from fuseshard.compiler.caches.records import Answer, Lookup


def look_up(call: Callable[[], object]) -> Lookup:
    """Make a first call, and say which caches answered it.

    Args:
        call: the first call of a compiled function; a second one would find it in memory.

    Returns:
        The answers, the C++ files compiled, and the seconds it took.
    """
    counters.clear()
    runs = compiler_runs()
    begin_s = timeit.default_timer()
    call()
    elapsed_s = timeit.default_timer() - begin_s
    return Lookup(
        dynamo=_answer("dynamo_cache", "dynamo_cache"),
        autograd=_answer("aot_autograd", "autograd_cache"),
        graph=_answer("inductor", "fxgraph_cache"),
        compiler_runs=compiler_runs() - runs,
        graphs=int(counters["stats"]["unique_graphs"]),
        first_call_s=elapsed_s,
    )


def compiler_runs() -> int:
    """Count the files that this process has handed to the C++ compiler, headers included."""
    return len(compilation_time_metrics.get("compile_file", ()))


@contextmanager
def dropped_guards() -> Iterator[list[str]]:
    """Collect what Dynamo says of the guards that it can't keep on disk.

    Yields:
        A list that fills with one line a guard, instead of stderr.
    """
    dropped: list[str] = []
    logger = logging.getLogger("torch._dynamo.guards")

    def keep(record: logging.LogRecord) -> bool:
        line = record.getMessage()
        if "is dropped" in line:
            dropped.append(line)
            return False
        return True

    logger.addFilter(keep)
    try:
        yield dropped
    finally:
        logger.removeFilter(keep)


def _answer(group: str, cache: str) -> Answer:
    counted = counters[group]
    if counted[f"{cache}_miss"]:
        return "miss"
    return "hit" if counted[f"{cache}_hit"] else "not asked"
