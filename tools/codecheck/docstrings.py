"""Docstrings against signatures: what a docstring says about a parameter, the parameter must be."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from codecheck.syntax import Function, Module, is_kernel

FIRST_SENTENCE = 90
PARAMETERS_WITHOUT_ARGS = 3
# Names that a framework calls; what they do is the framework's business, the class says the rest.
FRAMEWORK = re.compile(r"__\w+__|_repr_\w+_|forward|run|handle_mime|visit_\w+|depart_\w+")
SECTIONS = ("Args", "Returns", "Yields", "Raises", "Communicates", "Source", "Attributes")
ENTRY = re.compile(r"^ {4}(\*{0,2}\w+)(?: \([^)]*\))?:", re.MULTILINE)
Documented = Function | ast.ClassDef


def problems(module: Module) -> list[str]:
    """List what a module's docstrings lack, or say against the signatures."""
    if module.is_package and not module.text.strip():
        return []
    found = []
    if not ast.get_docstring(module.tree):
        found.append(f"{module.name}: no docstring; one sentence on what the module is for")
    for name, node in public(module.tree):
        if isinstance(node, ast.ClassDef):
            complaints = _class(node)
        elif is_kernel(node):
            complaints = _kernel(node, module.text.splitlines())
        else:
            complaints = _function(node)
        found += [f"{module.name}.{name} (line {node.lineno}): {c}" for c in complaints]
    return found


def public(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """Walk the public functions and classes, and the public methods of those classes."""
    for node in tree.body:
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        yield node.name, node
        if isinstance(node, ast.ClassDef) and not _is_protocol(node):
            methods = (m for m in node.body if isinstance(m, Function) and _is_public_method(m))
            yield from ((f"{node.name}.{method.name}", method) for method in methods)


def sections(docstring: str) -> dict[str, str]:
    """Cut a docstring at its section heads; the text before them has the key ''."""
    cut: dict[str, list[str]] = {"": []}
    current = ""
    for line in docstring.splitlines():
        head = line.removesuffix(":")
        if line.endswith(":") and head in SECTIONS:
            current = head
            cut[current] = []
        else:
            cut[current].append(line)
    return {name: "\n".join(lines) for name, lines in cut.items()}


def _is_public_method(member: Function) -> bool:
    decorators = [ast.unparse(decorator) for decorator in member.decorator_list]
    if any(d.endswith(".setter") or d in {"override", "overload"} for d in decorators):
        return False
    return not member.name.startswith("_") and not FRAMEWORK.fullmatch(member.name)


def _is_protocol(node: ast.ClassDef) -> bool:
    """A protocol's members are documented where they are implemented."""
    return any(ast.unparse(base).startswith("Protocol") for base in node.bases)


def _class(node: ast.ClassDef) -> list[str]:
    docstring = ast.get_docstring(node)
    return _first(docstring) if docstring else ["no docstring"]


def _function(node: Function) -> list[str]:
    docstring = ast.get_docstring(node)
    if not docstring:
        return ["no docstring"]
    cut = sections(docstring)
    return [*_first(docstring), *_args(node, cut), *_raises(node, cut)]


def _kernel(node: Function, lines: list[str]) -> list[str]:
    """A kernel says beside each parameter what it is: an Args section would be half the kernel."""
    docstring = ast.get_docstring(node)
    if not docstring:
        return ["no docstring"]
    bare = [a.arg for a in node.args.args if "  # " not in lines[a.lineno - 1]]
    missing = [f"no comment beside {', '.join(bare)}: shape, or what the number counts"]
    return [*_first(docstring), *(missing if bare else [])]


def _first(docstring: str) -> list[str]:
    paragraph = " ".join(docstring.split("\n\n", maxsplit=1)[0].split())
    sentence = re.split(r"(?<=[.?:;])\s", paragraph)[0]
    if len(sentence) > FIRST_SENTENCE:
        return [f"the first sentence has {len(sentence)} characters, at most {FIRST_SENTENCE}"]
    return []


def _args(node: Function, cut: dict[str, str]) -> list[str]:
    signature = _parameters(node.args)
    if signature[:1] == ["app"]:  # Sphinx calls it on an event, with the event's arguments
        return []
    if "Args" not in cut:
        if len(signature) > PARAMETERS_WITHOUT_ARGS:
            return [f"no Args section, yet {len(signature)} parameters: {', '.join(signature)}"]
        return []
    documented = [name.lstrip("*") for name in ENTRY.findall(cut["Args"])]
    if documented == signature:
        return []
    phantom = [name for name in documented if name not in signature]
    missing = [name for name in signature if name not in documented]
    if not phantom and not missing:
        return [f"Args are in the order {documented}, the signature's is {signature}"]
    return [f"Args: not in the signature {phantom or 'none'}, not documented {missing or 'none'}"]


def _raises(node: Function, cut: dict[str, str]) -> list[str]:
    documented = set(ENTRY.findall(cut.get("Raises", "")))
    missing = sorted(_raised(node) - documented)
    return [f"raises {', '.join(missing)} without saying so under Raises"] if missing else []


def _raised(node: Function) -> set[str]:
    """The exceptions that the function itself raises by name, nested functions left out."""
    names: set[str] = set()
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        current = waiting.pop()
        if isinstance(current, Function | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(current, ast.Raise) and isinstance(current.exc, ast.Call):
            names.add(ast.unparse(current.exc.func).rpartition(".")[2])
        waiting += ast.iter_child_nodes(current)
    return {name for name in names if name[:1].isupper()}


def _parameters(arguments: ast.arguments) -> list[str]:
    plain = [a.arg for a in [*arguments.posonlyargs, *arguments.args]]
    variadic = [arguments.vararg.arg] if arguments.vararg else []
    keywords = [a.arg for a in arguments.kwonlyargs]
    rest = [arguments.kwarg.arg] if arguments.kwarg else []
    return [name for name in [*plain, *variadic, *keywords, *rest] if name not in {"self", "cls"}]
