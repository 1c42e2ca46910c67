"""Keep a note that torch.compile writes about optimizers off the page."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

# Name of a private module, checked on torch 2.13: it writes one line to stderr, once a process,
# when it meets the profiler mark inside `Optimizer.step`, which it leaves out.
_LOGGER = "torch._dynamo.variables.ctx_manager"


@contextmanager
def without_profiler_notes() -> Iterator[None]:
    """Drop "Profiler record function ... will be ignored", and nothing else."""

    def is_other(record: logging.LogRecord) -> bool:
        return not str(record.msg).startswith("Profiler record function")

    logger = logging.getLogger(_LOGGER)
    logger.addFilter(is_other)
    try:
        yield
    finally:
        logger.removeFilter(is_other)
