"""Which lines of two Triton kernels do the same thing, found in their syntax trees. Torch-free."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fuseshard.compiler.gpu_study.records import Matching, RoleMatch

ROLES = (
    "rows",
    "columns",
    "mask",
    "load",
    "maximum",
    "subtract",
    "exp",
    "sum",
    "divide",
    "store",
)
"""what a line of a softmax can be for, in the order of its steps; a line may have several"""

_CALLS = {
    "rows": ("program_id",),
    "load": ("load",),
    "maximum": ("max", "max2"),
    "exp": ("exp",),
    "sum": ("sum",),
    "store": ("store",),
}
"""role -> last names of the functions that have it, whatever module they are of"""


def match_softmax(by_hand: str, by_inductor: str) -> Matching:
    """Find what each line of two softmax kernels is for.

    Args:
        by_hand: source of a hand-written kernel.
        by_inductor: module of Inductor's kernel, or the kernel alone.

    Returns:
        Both kernels without what stands around them, and a match for each role.

    Raises:
        ValueError: a source without a kernel, a role that one of them lacks, or roles that come
            in another order in one of them.
    """
    hand, inductor = kernel_text(by_hand), kernel_text(by_inductor)
    hand_lines, inductor_lines = roles(hand), roles(inductor)
    places = zip(_places(hand_lines), _places(inductor_lines), strict=True)
    return Matching(
        by_hand=hand,
        by_inductor=inductor,
        roles=tuple(
            RoleMatch(
                role=role,
                by_hand=hand_lines[role],
                by_inductor=inductor_lines[role],
                places=place,
            )
            for role, place in zip(ROLES, places, strict=True)
        ),
    )


def kernel_text(source: str) -> str:
    """Cut a kernel out of its module, from the decorator `triton.jit` to the function's end.

    Args:
        source: module or function; functions that the kernel calls stand before it.

    Raises:
        ValueError: no function is decorated with `triton.jit`.
    """
    kernels = [node for node in ast.parse(source).body if _is_kernel(node)]
    if not kernels:
        raise ValueError(
            "kernel_text: the source has no kernel, must have one (lines are counted in it); pass "
            "a function with @triton.jit."
        )
    kernel = kernels[-1]
    assert isinstance(kernel, ast.FunctionDef)
    first = kernel.decorator_list[-1].lineno
    return "\n".join(source.splitlines()[first - 1 : kernel.end_lineno])


def roles(kernel: str) -> dict[str, tuple[int, ...]]:
    """Find the lines of a kernel that have each role.

    Args:
        kernel: source of one function.

    Returns:
        Role -> numbers of lines, 1-based, in order.
    """
    found: dict[str, list[int]] = {role: [] for role in ROLES}
    for statement in _statements(ast.parse(kernel)):
        for role in sorted(_roles_of(statement)):
            found[role].append(statement.lineno)
    return {role: tuple(lines) for role, lines in found.items()}


def _is_kernel(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(decorator).startswith("triton.jit") for decorator in node.decorator_list
    )


def _statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield assignments and calls, in the order of their lines."""
    inner = (node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.Expr)))
    yield from sorted(inner, key=lambda statement: statement.lineno)


def _roles_of(statement: ast.stmt) -> set[str]:
    nodes = list(ast.walk(statement))
    called = {_last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    found = {role for role, names in _CALLS.items() if not called.isdisjoint(names)}
    operators = {type(node.op) for node in nodes if isinstance(node, ast.BinOp)}
    if ast.Sub in operators:
        found.add("subtract")
    if ast.Div in operators:
        found.add("divide")
    if any(isinstance(node, ast.Compare) for node in nodes):
        found.add("mask")
    if "arange" in called and any(_lies_in_a_row(node) for node in nodes):
        found.add("columns")
    return found


def _last_name(function: ast.expr) -> str:
    return ast.unparse(function).rpartition(".")[2]


def _lies_in_a_row(node: ast.AST) -> bool:
    """Tell whether a tile is laid along its second dim: `[None, :]`."""
    return isinstance(node, ast.Subscript) and ast.unparse(node.slice) in ("None, :", "(None, :)")


def _places(lines: dict[str, tuple[int, ...]]) -> list[int]:
    """Choose a line for each role's note: notes are numbered by lines, so orders have to agree."""
    # Of masks the last: it joins the others, or is the one of the columns.
    found = [lines[role][-1 if role == "mask" else 0] if lines[role] else 0 for role in ROLES]
    if 0 in found or found != sorted(found):
        raise ValueError(
            f"match_softmax: lines of the roles are {lines}, must be there for each and in the "
            f"order of {ROLES} (notes with equal numbers are compared); pass kernels of a softmax "
            "that takes a whole row at a time."
        )
    return found
