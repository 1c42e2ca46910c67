"""Get a worker and what it uses into bytes that another process can run."""

import functools
import importlib
import io
import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import cloudpickle

_registering = threading.Lock()
_CachedFunction = type(functools.cache(len))


class _Pickler(cloudpickle.Pickler):
    """cloudpickle's, and two things more that workers use and that it can't send.

    Modules with a class of their own, such as `torch.ops` and torch's configurations, travel by
    name; a function behind `functools.cache` travels as code, with its cache empty.
    """

    def reducer_override(self, obj: Any) -> Any:
        if _is_odd_module(obj):
            return importlib.import_module, (obj.__name__,)
        if isinstance(obj, _CachedFunction) and not _is_found_by_name(obj):
            return _cached, (obj.__wrapped__, obj.cache_parameters())
        return super().reducer_override(obj)


def to_bytes(value: object) -> bytes:
    """Pickle a value; functions and classes that no import finds travel as code."""
    file = io.BytesIO()
    _Pickler(file).dump(value)
    return file.getvalue()


def pack(worker: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Pickle the worker and its arguments; cells' functions and classes travel as code.

    Raises:
        ValueError: something can't be pickled; names the worker or the argument.
    """
    with _travelling_as_code(sys.modules.get(getattr(worker, "__module__", None) or "")):
        try:
            return to_bytes((worker, args))
        except Exception as error:
            name, value = _culprit(worker, args)
            raise ValueError(
                f"run: {name} is a {type(value).__name__} that can't be sent to another process "
                f"({error}); each rank works on a copy, so pass plain data, tensors or modules, "
                "and make open files, locks, process groups and what torch.compile returns inside "
                "the worker"
            ) from error


def sources_without_file() -> dict[str, Any]:
    """The source of code that was typed into cells, for tracebacks in the ranks."""
    return {
        name: entry
        for name, entry in list(linecache.cache.items())
        if len(entry) == 4 and entry[1] is None
    }


def _is_odd_module(value: Any) -> bool:
    """Whether it is a module of a class of its own that an import leads to."""
    is_odd = isinstance(value, ModuleType) and type(value) is not ModuleType
    return is_odd and sys.modules.get(value.__name__) is value


def _cached(function: Callable[..., Any], settings: dict[str, Any]) -> Callable[..., Any]:
    """Put a cache before a function again."""
    return functools.lru_cache(**settings)(function)


def _is_found_by_name(function: Any) -> bool:
    """Whether an import in another process leads to this module-level function."""
    module = sys.modules.get(function.__module__)
    if module is None or module.__name__ == "__main__" or not _is_importable(module):
        return False
    return getattr(module, function.__qualname__, None) is function


def _culprit(worker: Any, args: tuple[Any, ...]) -> tuple[str, Any]:
    """The argument that can't be pickled, or else the worker."""
    for index, arg in enumerate(args):
        try:
            to_bytes(arg)
        except Exception:
            return f"args[{index}]", arg
    return "worker", worker


@contextmanager
def _travelling_as_code(module: ModuleType | None) -> Iterator[None]:
    """Send a module's functions as code where a rank couldn't import them by its name."""
    if module is None or module.__name__ == "__main__" or _is_importable(module):
        yield
        return
    with _registering:
        cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            cloudpickle.unregister_pickle_by_value(module)


def _is_importable(module: ModuleType) -> bool:
    """Whether the module's name leads to the module's file on the import path."""
    file = getattr(module, "__file__", None)
    return file is None or _origin(module.__name__)[0] == file


def _origin(name: str) -> tuple[str | None, Any]:
    """File and search path of the module that an import of `name` would find."""
    parent, _, _ = name.rpartition(".")
    path = None
    if parent:
        _, path = _origin(parent)
        if path is None:
            return None, None
    for finder in sys.meta_path:
        spec = finder.find_spec(name, path)
        if spec is not None:
            return spec.origin, spec.submodule_search_locations
    return None, None
