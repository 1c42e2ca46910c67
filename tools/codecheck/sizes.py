"""Hard limits on size: what a reader can hold in mind at one reading."""

from __future__ import annotations

import ast
from collections import Counter

from codecheck.syntax import Function, Module, functions, is_kernel

FUNCTION_LINES = 50
PARAMETERS = 7
POSITIONAL = 4
POSITIONAL_WITH_DEFAULT = 2
KERNEL_PARAMETERS = 12
NESTING = 3
MODULE_LINES = 300
MODULES_PER_PACKAGE = 12
COLUMNS = 100
SELF = {"self", "cls"}
BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match)


def problems(modules: list[Module]) -> list[str]:
    """List what is larger than the house style allows."""
    found = []
    for module in modules:
        found += _lines(module)
        for name, function in functions(module.tree):
            where = f"{module.name}.{name} (line {function.lineno})"
            found += [f"{where}: {complaint}" for complaint in _function(function)]
    return found + _packages(modules)


def nesting(function: Function) -> int:
    """Count how deep blocks stand inside each other; a nested function starts anew."""
    return max((_depth(statement, 0) for statement in function.body), default=0)


def _lines(module: Module) -> list[str]:
    lines = module.text.splitlines()
    found = [
        f"{module.name}:{number}: {len(line)} columns, at most {COLUMNS}"
        for number, line in enumerate(lines, 1)
        if len(line) > COLUMNS
    ]
    if len(lines) > MODULE_LINES:
        found.append(f"{module.name}: {len(lines)} lines, at most {MODULE_LINES}; split it")
    return found


def _function(function: Function) -> list[str]:
    found = []
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    lines = (function.end_lineno or first) - first + 1
    if lines > FUNCTION_LINES:
        found.append(f"{lines} lines, at most {FUNCTION_LINES}; make its phases functions")
    if nesting(function) > NESTING:
        found.append(f"blocks nest {nesting(function)} deep, at most {NESTING}; name the inner one")
    if is_kernel(function):
        return found + _kernel_parameters(function.args)
    return found + _parameters(function.args)


def _kernel_parameters(arguments: ast.arguments) -> list[str]:
    """At most 12, all by position."""
    count = len(arguments.args)
    if count > KERNEL_PARAMETERS:
        return [f"{count} parameters of a kernel, at most {KERNEL_PARAMETERS}; split the kernel"]
    return []


def _parameters(arguments: ast.arguments) -> list[str]:
    """At most 7; at most 4 by position, and of those at most 2 that have a default.

    Sphinx fixes the signature of what it calls on an event, which is known by its first name, app.
    """
    positional = [a for a in [*arguments.posonlyargs, *arguments.args] if a.arg not in SELF]
    if positional and positional[0].arg == "app":
        return []
    count = len(positional) + len(arguments.kwonlyargs)
    found = []
    if count > PARAMETERS:
        found.append(f"{count} parameters, at most {PARAMETERS}; let a dataclass carry them")
    if len(positional) > POSITIONAL:
        found.append(f"{len(positional)} positional parameters, at most {POSITIONAL}; put a * in")
    if len(arguments.defaults) > POSITIONAL_WITH_DEFAULT:
        found.append(
            f"{len(arguments.defaults)} positional parameters with a default, at most "
            f"{POSITIONAL_WITH_DEFAULT}; make them keyword-only"
        )
    return found


def _depth(node: ast.AST, depth: int) -> int:
    if isinstance(node, Function | ast.ClassDef | ast.Lambda):
        return depth
    inside = depth + isinstance(node, BLOCKS)
    same_level = _elif(node)
    children = [child for child in ast.iter_child_nodes(node) if child is not same_level]
    depths = [_depth(child, inside) for child in children]
    if same_level is not None:
        depths.append(_depth(same_level, depth))
    return max([inside, *depths])


def _elif(node: ast.AST) -> ast.AST | None:
    """The `elif` of an `if`: to Python a block inside the `else`, to a reader the same level."""
    if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        return node.orelse[0]
    return None


def _packages(modules: list[Module]) -> list[str]:
    counts = Counter(m.name.rpartition(".")[0] for m in modules if not m.is_package)
    return [
        f"{package}: {count} modules, at most {MODULES_PER_PACKAGE}; split the sub-package"
        for package, count in counts.items()
        if count > MODULES_PER_PACKAGE and package
    ]
