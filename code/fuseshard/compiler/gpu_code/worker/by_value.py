"""Functions and classes as code in a pickle, the same bytes in every process.

A pickle names what an import finds. That is right for what an installed package brings, whose
version says which code it is. A reader's own code is written down instead, so that the process
which reads it needs no file, and a digest of the bytes changes with the code.
"""

import functools
import importlib
import io
import itertools
import linecache
import pickle
import re
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import cloudpickle
import torch

# Private, checked on torch 2.11 and 2.13: the classes of operators, which pickle can't name.
import torch._ops

_registering = threading.Lock()
_CachedFunction = type(functools.cache(len))
_BY_NAME = ("torch", "triton")
"""also where a developer's own build lies outside the folders of packages"""
_BY_VALUE = ("fuseshard",)
"""also where it is installed: the book's models are a reader's to change"""
_JIT_CLASSES = ("JITFunction", "InterpretedFunction")
_JIT_SETTINGS = (
    "debug",
    "do_not_specialize",
    "do_not_specialize_on_alignment",
    "noinline",
)
_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_OF_THIS_MACHINE = re.compile(r"__(name|package|path|file|spec|loader|cached|builtins)__")
"""entries of a module that differ between machines, or say where it came from"""


class CodePickler(cloudpickle.Pickler):
    """cloudpickle's, and what more a program for a compiler may hold.

    Bytes are the same in each process: cloudpickle gives a class a random name, code the path of
    its file, and sets of texts come in an order that Python draws anew for each process.
    """

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._files: dict[str, str] = {}
        self._modules: dict[str, ModuleType] = {}
        self.words: set[str] = set()
        self._sent: set[tuple[str, str]] = set()

    def dump_program(self, program: Any) -> None:
        """Write a program down, then what it uses of modules that travel as code."""
        self.dump(program)
        while used := self._used():
            self.dump(used)
        self.dump([])

    def persistent_id(self, obj: Any) -> Any:
        """Write a set of texts down in order."""
        if type(obj) in (set, frozenset) and all(isinstance(item, str) for item in obj):
            return type(obj), sorted(obj)
        return None

    def reducer_override(self, obj: Any) -> Any:
        """Take an object apart: what builds it, and from what; or name it."""
        if isinstance(obj, ModuleType):
            return self._module(obj)
        if isinstance(obj, CodeType):
            return self._code(obj)
        special = _special(obj)
        if special is not None:
            return special
        return _without_chance(obj, super().reducer_override(obj))

    def sources(self) -> dict[str, list[str]]:
        """Return the lines of each file that code came from, by the name the code now bears."""
        found = {short: linecache.getlines(file) for file, short in self._files.items()}
        return {short: lines for short, lines in found.items() if lines}

    def _module(self, module: ModuleType) -> Any:
        """Name a package's module; of a reader's own, make an empty one to be filled later."""
        if isinstance(module, torch._ops._OpNamespace):
            return _operator, (module.name,)
        if not _is_own(module.__name__) and module.__name__ in sys.modules:
            return importlib.import_module, (module.__name__,)
        self._modules[module.__name__] = module
        return ModuleType, (module.__name__,)

    def _used(self) -> list[tuple[ModuleType, dict[str, Any]]]:
        """List what the code so far names in the modules so far, and wasn't sent yet.

        Not the whole of a module: it may hold what can't be pickled, and parts that have no
        part in the program would change its bytes.
        """
        found = []
        for name, module in list(self._modules.items()):
            words = [w for w in sorted(self.words) if (name, w) not in self._sent]
            entries = {w: vars(module)[w] for w in words if w in vars(module)}
            self._sent |= {(name, word) for word in entries}
            if entries:
                found.append((module, entries))
        return found

    def _code(self, code: CodeType) -> Any:
        """Write code down with the short name of its file."""
        # Attributes, and texts: `getattr(module, "name")` uses the module too.
        self.words.update(code.co_names, (c for c in code.co_consts if isinstance(c, str)))
        file = code.co_filename
        if file not in self._files:
            self._files[file] = _free(_short(file), self._files.values())
        return self.dispatch_table[CodeType](code.replace(co_filename=self._files[file]))


def load_program(unpickler: pickle.Unpickler) -> Any:
    """Read what `CodePickler.dump_program` wrote, and fill the modules in it."""
    program = unpickler.load()
    while used := unpickler.load():
        for module, entries in used:
            vars(module).update(entries)
    return program


@contextmanager
def code_by_value() -> Iterator[None]:
    """Have cloudpickle write down all functions and classes that no installed package brings."""
    with _registering:
        before = cloudpickle.list_registry_pickle_by_value()
        added = [module for module in _own_modules() if module.__name__ not in before]
        for module in added:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in added:
                _unregister(module)


def _unregister(module: ModuleType) -> None:
    with suppress(ValueError):  # somebody else took it out meanwhile
        cloudpickle.unregister_pickle_by_value(module)


def _own_modules() -> list[ModuleType]:
    """List the reader's modules; a package stands for all in it."""
    tops = {name.partition(".")[0] for name in list(sys.modules)}
    found = [sys.modules.get(top) for top in tops if _is_own(top)]
    # cloudpickle looks modules up by the name that they give themselves.
    return [m for m in found if m is not None and sys.modules.get(m.__name__) is m]


def _is_own(module_name: str | None) -> bool:
    """Whether a module is the reader's, rather than Python's or an installed package's."""
    top = (module_name or "__main__").partition(".")[0]
    if top in _BY_VALUE:
        return True
    if top in _BY_NAME or top in sys.stdlib_module_names:
        return False
    module = sys.modules.get(top)
    places = [getattr(module, "__file__", None) or "", *map(str, getattr(module, "__path__", ()))]
    return not any(_is_installed(place) for place in places)


def _is_installed(place: str) -> bool:
    """Whether a path lies where packages are installed."""
    path = Path(place)
    return not _PACKAGE_FOLDERS.isdisjoint(path.parts) or any(
        path.is_relative_to(folder) for folder in _package_folders()
    )


@functools.cache
def _package_folders() -> tuple[str, ...]:
    """Where this Python's packages are, whatever that folder is called."""
    return sysconfig.get_path("purelib"), sysconfig.get_path("platlib")


def _short(file: str) -> str:
    """Name a file after the module in it, wherever that lies; a notebook's cell is "cell\"."""
    if "ipykernel_" in file or file.startswith("<ipython-input"):
        return "cell"
    path = Path(file)
    names = [name for name, module in list(sys.modules.items()) if _file_of(module) == file]
    package, _, _ = min(names, default=path.stem).rpartition(".")
    return f"{package.replace('.', '/')}/{path.name}" if package else path.name


def _file_of(module: object) -> object:
    return getattr(module, "__file__", None)


def _free(name: str, taken: Collection[str]) -> str:
    """Number a name that another file has: "cell-2" is the second cell that code came from."""
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    return next(found for found in itertools.chain([name], numbered) if found not in taken)


def _operator(name: str) -> Any:
    """Find an operator, such as "aten.mm.default", or a family of them."""
    return functools.reduce(getattr, name.split("."), torch.ops)


def _is_triton_function(value: Any) -> bool:
    """Whether `triton.jit` made it; Triton need not be installed for other programs to travel."""
    kind = type(value)
    return kind.__module__.startswith("triton.runtime.") and kind.__name__ in _JIT_CLASSES


def _triton_function(kernel: Any) -> Any:
    """Name a function of Triton's own library; take a reader's kernel apart."""
    if not _is_own(kernel.fn.__module__):
        return kernel.fn.__qualname__
    return _jit, (kernel.fn, {name: getattr(kernel, name, None) for name in _JIT_SETTINGS})


def _jit(function: Callable[..., Any], settings: dict[str, Any]) -> Any:
    """Decorate a kernel again: for the compiler, or for the interpreter where that is on."""
    import triton  # noqa: PLC0415 - there is no wheel for every system

    return triton.jit(function, **settings)


def _cached(function: Callable[..., Any], settings: dict[str, Any]) -> Callable[..., Any]:
    """Put an empty cache before a function again."""
    return functools.lru_cache(**settings)(function)


def _special(obj: Any) -> Any:
    """Take apart what cloudpickle can't; None for all that it can."""
    if isinstance(obj, FunctionType) and obj.__module__ == __name__:
        return obj.__name__  # one of this module's own, named below
    if isinstance(obj, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return _operator, (str(obj),)
    if _is_triton_function(obj):
        return _triton_function(obj)
    if isinstance(obj, _CachedFunction) and _is_own(obj.__module__):
        return _cached, (obj.__wrapped__, obj.cache_parameters())
    return None


def _without_chance(obj: Any, reduced: Any) -> Any:
    """Drop from a function or class what differs between processes, where it travels as code."""
    if isinstance(reduced, tuple) and isinstance(obj, FunctionType):
        return _without_module(reduced)
    if isinstance(reduced, tuple) and isinstance(obj, type):
        return _without_random_name(reduced)
    return reduced


def _without_module(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Drop from a function's globals which module they belong to.

    Dynamo imports the module that the globals name, and expects the function's own globals in
    it; here they are a dictionary that no import leads to, and Dynamo guards them as that.
    """
    make, args, *rest = reduced
    for entries in (arg for arg in args if isinstance(arg, dict)):
        for name in [name for name in entries if _OF_THIS_MACHINE.fullmatch(name)]:
            del entries[name]
    return make, args, *rest


def _without_random_name(reduced: tuple[Any, ...]) -> tuple[Any, ...]:
    """Drop the name by which cloudpickle finds a class again in a later pickle.

    It is a UUID, and it would lead a program to the class of an earlier one.
    """
    make, args, *rest = reduced
    return make, tuple(None if _is_uuid(arg) else arg for arg in args), *rest


def _is_uuid(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{32}", value) is not None
