"""The module that Inductor writes under some settings, without running the C++ compiler."""

from collections.abc import Callable
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: settings and caches of Inductor, and the error in which
# it wraps what a hook raises.
from torch._functorch import config as autograd_config
from torch._inductor import config
from torch._inductor.exc import InductorError

from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.stages import source_kept


class _EnoughError(Exception):
    """Stops a compile once the text is there."""


def module_text(
    fn: Callable[..., Any], *args: Any, mode: str | None = None, **settings: Any
) -> str:
    """Return what Inductor writes for a function, and stop before the C++ compiler runs.

    That takes a tenth of a second instead of seconds. Nothing is run, and a copy of the function
    is compiled, so that its own compiled versions stay as they are.

    Args:
        fn: function or module; captured as one graph, for static shapes, without gradients.
        args: its arguments; not modified.
        mode: of torch.compile.
        settings: of torch._inductor.config, for this compile only.

    Returns:
        The text of the first module.

    Raises:
        ValueError: Inductor wrote nothing.
    """
    texts: list[str] = []
    try:
        with (
            source_kept(texts, stop=_EnoughError()),
            config.patch(fx_graph_cache=False, **settings),
            autograd_config.patch(enable_autograd_cache=False),
            torch.no_grad(),
        ):
            torch.compile(isolated(fn), dynamic=False, mode=mode)(*args)
    except InductorError:
        if not texts:
            raise
    if not texts:
        raise ValueError(
            f"module_text: {getattr(fn, '__name__', type(fn).__name__)} made Inductor write 0 "
            "modules, must be at least 1 (a function without tensor operations has none); pass "
            "one that computes with tensors."
        )
    return texts[0]
