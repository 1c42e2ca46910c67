"""What the answers of the chapter on Dynamo are tested with."""

import functools
from collections.abc import Callable, Iterable

import torch

from fuseshard.checks.common import is_open, open_question, right, wrong
from fuseshard.compiler.dynamo.fresh import fresh
from fuseshard.compiler.dynamo.guards import guards_of
from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.tiny.graph import Node, scopes_of
from fuseshard.compiler.tiny.interpreter import Interpreter
from fuseshard.compiler.tiny.jit import Jit, compile_for
from fuseshard.show.records import Check
from fuseshard.show.words import word

GAINS = (2.0, 3.0, 0.5, 4.0, 0.25)
"""arguments of the calls whose versions are to be counted"""

scale = 3.0
"""a global of `choose_factor`"""


def blend(x: torch.Tensor, y: torch.Tensor, gain: float) -> torch.Tensor:
    """Compute what the chapter's function computes, with its offset as it begins."""
    mixed = x * gain + y
    if gain > 1:
        mixed = mixed.relu()
    return mixed + 0.5


def choose_factor(x: torch.Tensor, table: list[float], use_scale: bool) -> torch.Tensor:
    """Multiply by a global or by the first element of a list."""
    if use_scale:
        return x * scale
    return x * table[0]


def check_versions(answer: object) -> Check:
    """Check how many versions our compiler and Dynamo make for the calls with GAINS.

    Args:
        answer: two counts, ours first; `...` means nothing yet.
    """
    name = "dynamo-versions"
    if is_open(answer):
        return open_question(name)
    if not isinstance(answer, (tuple, list)) or len(answer) != 2:
        return wrong(name, word("This needs two counts: our compiler's and Dynamo's."))
    ours, theirs = version_counts()
    if answer[0] != ours:
        return wrong(name, word("Our compiler: what does its guard on gain compare?"))
    if answer[1] == theirs:
        return right(
            name, word("Right: a constant first, then a symbol for each side of the `if`.")
        )
    if answer[1] == ours:
        return wrong(name, word("Dynamo: after the second value, gain is no longer a constant."))
    return wrong(name, word("Dynamo: the `if` on a symbol leaves a guard. Which calls fail it?"))


@functools.cache
def version_counts() -> tuple[int, int]:
    """Count the versions that both compilers make, here and now."""
    x, y = torch.ones(3, 5), torch.ones(5)
    ours, theirs = Jit(blend), torch.compile(fresh(blend), backend="eager")
    graphs = 0
    for gain in GAINS:
        ours(x, y, gain)
        graphs += graphs_captured(functools.partial(theirs, x, y, gain))
    return len(ours.versions), graphs


def check_guarded(answer: object) -> Check:
    """Check which variables of `choose_factor` are guarded after a call with use_scale=True.

    Args:
        answer: names; `...` means nothing yet.
    """
    name = "dynamo-guarded"
    if is_open(answer):
        return open_question(name)
    if isinstance(answer, str) or not isinstance(answer, Iterable):
        return wrong(name, word("This needs a set of names."))
    given, expected = {str(each) for each in answer}, guarded_names()
    if given == expected:
        return right(name, word("Right: what was read, and nothing else."))
    unread = sorted(given - expected)
    if unread:
        return wrong(name, word("{name}: does this call read it?", name=unread[0]))
    return wrong(name, word("Something that this call reads is missing."))


@functools.cache
def guarded_names() -> frozenset[str]:
    """Ask Dynamo which variables it guards."""
    guards = guards_of(fresh(choose_factor), torch.ones(3), [2.0], True)
    return frozenset(guard.name for guard in guards if guard.origin != "torch")


def check_negative(answer: object) -> Check:
    """Check a method that teaches our interpreter the instruction UNARY_NEGATIVE.

    Args:
        answer: function of the interpreter and an operand that it ignores; a function that
            returns `...` means nothing yet.
    """
    name = "dynamo-negative"
    if not callable(answer):
        return open_question(name) if is_open(answer) else wrong(name, word("This needs a method."))
    method: Callable[[Interpreter, object], object] = answer
    probe = Interpreter({})
    probe.stack.append(2)
    try:
        returned = method(probe, None)
    except Exception as error:  # the reader's own code: whatever it raises is a hint
        return wrong(name, word("On a Python number it raises {error}.", error=repr(error)))
    if is_open(returned):
        return open_question(name)
    if probe.stack != [-2]:
        return wrong(name, word("With 2 on the stack, the stack should hold -2 and nothing else."))
    return _check_on_tensors(name, method)


def _check_on_tensors(name: str, method: Callable[[Interpreter, object], object]) -> Check:
    taught = type("Taught", (Interpreter,), {"_unary_negative": method})
    x = torch.tensor([[1.5, -2.0, 0.0]]).expand(7, 3)
    for fn in (_negated, _shifted):
        try:
            scopes = scopes_of(fn, (x, 2.0))
            version = compile_for(fn, scopes, taught)
            result = version(scopes)
        except Exception as error:  # the reader's own code again
            return wrong(name, word("On a tensor it raises {error}.", error=repr(error)))
        if not all(isinstance(node, Node) for node in version.nodes):
            return wrong(name, word("The graph holds something that isn't a Node."))
        if not torch.equal(result, fn(x, 2.0)):
            return wrong(name, word("It runs, but the result isn't eager mode's."))
    return right(name, word("Right: one method, and both worlds know the minus sign."))


def _negated(x: torch.Tensor, k: float) -> torch.Tensor:
    return -(x * k)


def _shifted(x: torch.Tensor, k: float) -> torch.Tensor:
    return -x + -k
