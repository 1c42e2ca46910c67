"""Who may import whom: the table of the package's layers, applied to the syntax trees."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from codecheck.syntax import Module, functions

ROOT = "fuseshard"


@dataclass(frozen=True)
class Layer:
    """What the modules of one layer may import, besides each other and the standard library."""

    below: frozenset[str] = frozenset()
    third_party: frozenset[str] = frozenset()
    torch_free: bool = False
    """True where no chain of imports may end in torch"""


def _layer(below: str = "", third_party: str = "", *, torch_free: bool = False) -> Layer:
    return Layer(frozenset(below.split()), frozenset(third_party.split()), torch_free)


ABOVE_TORCH = "palette measure models kernels compiler distributed"
LAYERS = {
    "palette": _layer(torch_free=True),
    "measure": _layer("", "torch numpy"),
    "models": _layer("", "torch"),
    "kernels": _layer("", "torch triton"),
    # NumPy: one of the libraries that a traced function may call. The ONNX packages are optional:
    # one function measures ONNX Runtime beside torch.compile. cloudpickle: a program goes to the
    # process that writes GPU code for it. Hand-written kernels: compared with Inductor's.
    "compiler": _layer(
        "measure models kernels", "torch triton numpy onnx onnxruntime onnxscript cloudpickle"
    ),
    "distributed": _layer("measure models", "torch cloudpickle IPython"),
    "checks": _layer(f"{ABOVE_TORCH} claims show", "torch numpy"),
    "claims": _layer(f"{ABOVE_TORCH} checks", "torch numpy"),
    "show": _layer("palette measure compiler distributed", "plotly IPython", torch_free=True),
    "book": _layer(
        # Of measure: which compiler is called, and whether recordings fit their schema.
        "palette show measure",
        "sphinx docutils myst_nb myst_parser babel jupyter_book jupyter_cache jupyter_client "
        "nbclient nbformat pygments tornado yaml sqlalchemy IPython",
        torch_free=True,
    ),
    # The command line: it says what is missing, so it starts without any of the others.
    "doctor": _layer("measure"),
    "recorder": _layer("measure"),
    "__main__": _layer(f"{ABOVE_TORCH} doctor recorder checks claims show book"),
}
# Plain data, arithmetic and text, which a page reads without starting torch.
TORCH_FREE_MODULES = {
    f"{ROOT}.compiler.described.targets",
    f"{ROOT}.compiler.gpu_code.disassembly",
    f"{ROOT}.compiler.gpu_code.occupancy",
    f"{ROOT}.compiler.gpu_code.records",
    f"{ROOT}.compiler.gpu_code.resources",
    f"{ROOT}.distributed.schedules",
    f"{ROOT}.distributed.scheduling.records",
    f"{ROOT}.distributed.planner",
    f"{ROOT}.measure.records",
}
ENVIRONMENT_READERS = {
    f"{ROOT}.distributed.launcher",
    f"{ROOT}.measure.provenance",
    f"{ROOT}.book.address",
}
NOT_EMPTY = {ROOT, f"{ROOT}.book"}
LAZY = {f"{ROOT}.__main__"}
# Underscored modules that torch's own documentation tells users to import from.
EXTENSION_POINTS = {"torch.utils._python_dispatch"}
RELEASE = "2.13"
COMMENT_REACH = 12
"""lines above a block of private imports in which its comment may stand"""


@dataclass(frozen=True)
class Import:
    """One imported module, in full (`from a import b` may mean `a.b`)."""

    name: str
    line: int
    in_function: bool
    for_types: bool
    """True under `if TYPE_CHECKING:`, where nothing is imported when the module runs"""


def problems(modules: list[Module]) -> list[str]:
    """List every breach of the table and of the rules that go with it."""
    known = {module.name for module in modules}
    found: list[str] = []
    for module in modules:
        imports = list(imports_of(module, known))
        rules = (
            _directions(module, imports),
            _inside_functions(module, imports),
            _relative(module),
            _environment(module),
            _private_torch(module),
            _package_file(module),
            _consequences(module),
        )
        found += [f"{module.name}:{complaint}" for rule in rules for complaint in rule]
    return found + _torch_chains(modules, known)


def layer_of(name: str) -> str:
    """Name the layer of a module: the first part below the package."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def imports_of(module: Module, known: set[str]) -> Iterator[Import]:
    """Walk what a module imports; `known` tells modules from names inside them."""
    nested = {id(n) for _, f in functions(module.tree) for n in ast.walk(f)}
    typed = {id(n) for block in _type_blocks(module.tree) for n in ast.walk(block)}
    for node in ast.walk(module.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        for name in _names(node, known):
            yield Import(name, node.lineno, id(node) in nested, id(node) in typed)


def _names(node: ast.Import | ast.ImportFrom, known: set[str]) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level or not node.module:
        return []
    longer = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in known else node.module for name in longer]


def _type_blocks(tree: ast.Module) -> list[ast.If]:
    tests = (n for n in ast.walk(tree) if isinstance(n, ast.If))
    return [n for n in tests if "TYPE_CHECKING" in ast.unparse(n.test)]


def _directions(module: Module, imports: list[Import]) -> Iterator[str]:
    own = layer_of(module.name)
    if own and own not in LAYERS:
        yield f"1: layer {own!r} isn't in the table of tools/codecheck/layers.py; add it there"
        return
    layer = LAYERS.get(own, Layer())
    for item in imports:
        top = item.name.split(".")[0]
        if top == ROOT:
            target = layer_of(item.name)
            if target not in {"", own} and target not in layer.below and own:
                allowed = ", ".join(sorted(layer.below)) or "nothing"
                yield f"{item.line}: {own} imports {item.name}; it may import {allowed}"
        elif top not in sys.stdlib_module_names and top not in layer.third_party:
            allowed = ", ".join(sorted(layer.third_party)) or "nothing"
            yield f"{item.line}: {own or ROOT} imports {top}; third party there: {allowed}"


def _inside_functions(module: Module, imports: list[Import]) -> Iterator[str]:
    if module.name in LAZY:
        return
    for item in imports:
        top = item.name.split(".")[0]
        if item.in_function and (top == ROOT or top in sys.stdlib_module_names):
            yield (
                f"{item.line}: imports {item.name} inside a function; move it to the head of the "
                "module (only an optional third party may stand inside)"
            )


def _relative(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield f"{node.lineno}: a relative import; write it in full"


def _environment(module: Module) -> Iterator[str]:
    if module.name in ENVIRONMENT_READERS:
        return
    names = {"os.environ", "os.environb", "os.getenv", "os.putenv", "os.unsetenv"}
    readers = ", ".join(sorted(ENVIRONMENT_READERS))
    for node in ast.walk(module.tree):
        used: set[str] = set()
        if isinstance(node, ast.Attribute):
            used = {ast.unparse(node)}
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            used = {f"os.{alias.name}" for alias in node.names}
        if used & names and isinstance(node, ast.expr | ast.stmt):
            yield f"{node.lineno}: touches the environment; only {readers} may"


def _private_torch(module: Module) -> Iterator[str]:
    """Each private part of torch is explained once, with the release it was checked on."""
    lines = module.text.splitlines()
    places: dict[str, list[int]] = {}
    for line, name in sorted(_private_names(module.tree)):
        places.setdefault(name, []).append(line)
    for name, used in places.items():
        explained = any(RELEASE in text for at in used for text in lines[_back(at) : at])
        if layer_of(module.name) != "compiler" and _is_module(name):
            yield f"{used[0]}: uses {name}; private torch modules are touched in compiler/ only"
        elif not explained:
            yield f"{used[0]}: uses {name}; a comment has to name the release it was checked on"


def _back(line: int) -> int:
    return max(0, line - 1 - COMMENT_REACH)


def _is_module(name: str) -> bool:
    """False for a private name inside a public module, and for what torch documents for users."""
    return ":" not in name and name not in EXTENSION_POINTS


def _private_names(tree: ast.Module) -> set[tuple[int, str]]:
    """The private parts of torch that are imported, or reached by attribute: line and root."""
    found = set()
    for node in ast.walk(tree):
        names: list[str] = []
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        if isinstance(node, ast.Import):
            names = [_private_root(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            root = _private_root(node.module)
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            members = [_private_root(name) for name in whole if node.module != "torch"]
            names = [root] if root else [f"{name}:" for name in members if name]
            names += [_private_root(name) for name in whole if node.module == "torch"]
        elif isinstance(node, ast.Attribute):
            names = [_private_root(ast.unparse(node))]
        found |= {(node.lineno, name) for name in names if name}
    return found


def _private_root(name: str) -> str:
    """Cut a dotted name after its first private part; empty where torch has no part in it."""
    parts = name.split(".")
    private = [i for i, p in enumerate(parts) if p.startswith("_") and not p.endswith("__")]
    return ".".join(parts[: private[0] + 1]) if parts[0] == "torch" and private else ""


def _package_file(module: Module) -> Iterator[str]:
    if module.is_package and module.name not in NOT_EMPTY and module.text.strip():
        yield "1: a sub-package's __init__.py is empty; import from the module that does the work"


def _consequences(module: Module) -> Iterator[str]:
    """Importing does nothing: at the head of a module only definitions, imports and constants."""
    for node in module.tree.body:
        if isinstance(node, ast.Expr) and not isinstance(node.value, ast.Constant):
            yield f"{node.lineno}: importing the module runs {ast.unparse(node)[:60]!r}"
        if isinstance(node, ast.For | ast.While | ast.With):
            yield f"{node.lineno}: importing the module runs a {type(node).__name__} block"


def _torch_chains(modules: list[Module], known: set[str]) -> list[str]:
    """Follow imports from the torch-free layers; name the chain where one ends in torch."""
    edges: dict[str, list[str]] = {}
    for module in modules:
        items = imports_of(module, known)
        # A function-level import is an optional third party's, met only when it is called.
        edges[module.name] = [i.name for i in items if not i.for_types and not i.in_function]
    found = []
    for name in edges:
        layer = LAYERS.get(layer_of(name), Layer())
        if layer.torch_free or name in TORCH_FREE_MODULES:
            chain = _chain_to_torch(name, edges)
            if chain:
                found.append(f"{name}: reaches torch by {' -> '.join(chain)}; it must not")
    return found


def _chain_to_torch(start: str, edges: dict[str, list[str]]) -> list[str]:
    waiting, seen = [[start]], {start}
    while waiting:
        chain = waiting.pop(0)
        for target in edges.get(chain[-1], []):
            if target.split(".")[0] in {"torch", "triton"}:
                return [*chain, target]
            if target not in seen:
                seen.add(target)
                waiting.append([*chain, target])
    return []
