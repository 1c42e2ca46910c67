"""What the checks of the Python sources share: the modules, and how they parse."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from bookcheck.pieces import TOP

PACKAGE = TOP / "code" / "fuseshard"
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A Python source: its name with dots, where it lies, and its text."""

    name: str
    path: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The parsed source."""
        return ast.parse(self.text, str(self.path))

    @property
    def is_package(self) -> bool:
        """True for an `__init__.py`."""
        return self.path.name == "__init__.py"


def package_modules(package: Path = PACKAGE) -> list[Module]:
    """Read every module of the package."""
    return [_read(path, package.parent) for path in sorted(package.rglob("*.py"))]


def source_modules(*folders: str) -> list[Module]:
    """Read every module under some folders of the checkout."""
    paths = [path for folder in folders for path in sorted((TOP / folder).rglob("*.py"))]
    return [_read(path, TOP) for path in paths]


def functions(tree: ast.AST) -> Iterator[tuple[str, Function]]:
    """Walk the functions and methods, nested ones too, each with its name inside the module."""
    yield from _functions(tree, "")


def is_kernel(function: Function) -> bool:
    """True for what Triton compiles: it takes pointers and numbers, and no keyword-only ones."""
    return "triton.jit" in map(ast.unparse, function.decorator_list)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _read(path: Path, root: Path) -> Module:
    parts = path.relative_to(root).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, path, path.read_text("utf-8"))
