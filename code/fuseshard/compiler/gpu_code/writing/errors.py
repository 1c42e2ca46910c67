"""Why a program can't be written for a GPU that isn't there, in words that say what to change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

# Private, checked on torch 2.11 and 2.13: how the compiler's stages wrap an error, and what a
# tensor without numbers says when it is asked for one.
from torch._dynamo.exc import BackendCompilerFailed, TorchDynamoException
from torch._inductor.exc import InductorError
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from fuseshard.compiler.text import clean


class UnsupportedProgramError(ValueError):
    """A program, or a way to compile it, that needs a real GPU or that Inductor doesn't take."""


def called(fn: Callable[..., Any]) -> str:
    """Say what a program is called."""
    return getattr(fn, "__name__", type(fn).__name__)


def explained(
    fn: Callable[..., Any], error: Exception, *, graph_count: int, reasons: Sequence[str]
) -> UnsupportedProgramError:
    """Turn what was raised while a program was compiled into an error that says what to change.

    Args:
        fn: the program.
        error: from Dynamo, Inductor or a fake tensor; its own words are kept.
        graph_count: graphs that were written before.
        reasons: Dynamo's, for the parts of the program that it left to eager mode.

    Returns:
        To be raised from `error`.
    """
    cause = _innermost(error)
    if isinstance(cause, DataDependentOutputException | DynamicOutputShapeException):
        return UnsupportedProgramError(
            f"write: {called(fn)} asks for the numbers in a tensor (operator {cause.func}), must "
            "work with shapes alone (on a GPU that isn't there, tensors have no numbers); leave "
            ".item(), .nonzero() and decisions on a tensor's value out, or use torch.where."
        )
    in_eager_mode = bool(reasons) and not isinstance(error, TorchDynamoException)
    if in_eager_mode and not graph_count:
        return no_graph(fn, reasons)
    words = f"{type(cause).__name__}: {_told(cause)}"
    if in_eager_mode:
        return UnsupportedProgramError(
            f"write: {called(fn)} failed outside of Dynamo's graphs ({words}), must run there on "
            f"tensors without numbers; Dynamo left that part to eager mode: {_brief(reasons[-1])}"
        )
    return UnsupportedProgramError(f"write: {called(fn)} couldn't be compiled: {words}")


def already_compiled(fn: Callable[..., Any]) -> UnsupportedProgramError:
    """Make the error for what torch.compile returned."""
    return UnsupportedProgramError(
        f"write: {called(fn)} is compiled already, must be the function itself (compiling it "
        "again would not compile it anew); pass what you gave to torch.compile."
    )


def no_graph(fn: Callable[..., Any], reasons: Sequence[str]) -> UnsupportedProgramError:
    """Make the error for a program of which Dynamo captured nothing.

    Args:
        fn: the program.
        reasons: Dynamo's, as far as it gave any.
    """
    why = f"Dynamo: {_brief(reasons[0])}" if reasons else "Dynamo gave no reason"
    return UnsupportedProgramError(
        f"write: {called(fn)} gave 0 graphs with operators, must give at least 1 ({why}); pass a "
        "function that computes with tensors and that Dynamo traces (on a real GPU as well it "
        "leaves nn.LSTM to eager mode, and functions with a graph break inside a loop)."
    )


def no_gradient(fn: Callable[..., Any]) -> UnsupportedProgramError:
    """Make the error for a backward pass where nothing needs a gradient."""
    return UnsupportedProgramError(
        f"write: backward is True and {called(fn)} has no backward graph, must have at least 1 "
        "(no result needs a gradient, or none but views of arguments); pass a tensor with "
        "requires_grad=True or a module with parameters, or leave backward out."
    )


def _brief(reason: str) -> str:
    """Leave out what Dynamo says to its own developers."""
    told = reason.partition("Hint:")[0]
    return ": ".join(part.strip() for part in told.split("Explanation:"))


def _told(error: Exception) -> str:
    """Keep an error's words, of Dynamo's the explanation and the place in the program."""
    words = clean(str(error))
    if not isinstance(error, TorchDynamoException):
        return words
    place = words.partition("from user code:")[2].partition("\n\n")[0]
    return f"{_brief(words)}{place}"


def _innermost(error: Exception) -> Exception:
    """Unwrap what Dynamo and Inductor put around an error."""
    while isinstance(error, BackendCompilerFailed | InductorError):
        inner = getattr(error, "inner_exception", None)
        if not isinstance(inner, Exception):
            break
        error = inner
    return error
