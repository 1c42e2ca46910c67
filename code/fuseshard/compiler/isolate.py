"""A private copy of a function, so that looking at its compilation disturbs nobody else's."""

from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any


def isolated(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Copy a function down to its code object, which is where Dynamo keeps its cache.

    Compiling the copy neither uses nor fills the cache of the original, and doesn't count
    towards its recompile limit. Other callables (modules, partials) get a function around them.

    Args:
        fn: any callable; not modified.

    Returns:
        A function that does the same, with a code object of its own.

    Raises:
        ValueError: `fn` was made by torch.compile.
    """
    is_wrapped = hasattr(fn, "_torchdynamo_orig_callable") or hasattr(fn, "_orig_mod")
    # torch.compiler.disable wraps too; such a function stays as it is, inside one of ours.
    is_disabled = getattr(fn, "_torchdynamo_disable", False)
    if is_wrapped and not is_disabled:
        raise ValueError(
            f"isolated: got {getattr(fn, '__name__', type(fn).__name__)}, already compiled; "
            "must be the function itself (a second torch.compile around a compiled function "
            "does not compile it anew); pass what you gave to torch.compile."
        )
    if isinstance(fn, MethodType):
        return MethodType(_copy(fn.__func__), fn.__self__)
    if isinstance(fn, FunctionType) and not is_disabled:
        return _copy(fn)

    def call(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return _copy(call)


def _copy(fn: Callable[..., Any]) -> FunctionType:
    """Rebuild a Python function around a copy of its code object."""
    assert isinstance(fn, FunctionType)
    copy = FunctionType(
        fn.__code__.replace(), fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__
    )
    copy.__kwdefaults__ = fn.__kwdefaults__
    copy.__dict__.update(fn.__dict__)
    return copy
