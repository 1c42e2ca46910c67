"""Dynamo's guard cache by hand: entries, their guards, and the search for one that holds.

Covered: tensors by dtype, requires_grad and size, numbers and strings by value, sizes that become
symbols, and the limit. Left out: strides, devices, aliases, modules, and whatever else isn't an
argument. The function itself stands for its compiled code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fuseshard.compiler.recompiles.reasons import failure
from fuseshard.compiler.recompiles.recorder import describe
from fuseshard.compiler.recompiles.records import Call, GuardFailure, History, State

Facts = Mapping[str, Any]
"""what guards look at: "x dtype", "x.size()[0]", "n", ... -> its value in one call"""

Guard = Callable[[Facts], str | None]
"""None where it holds, else what is wrong, in Dynamo's words"""

LIMIT = 8
"""torch.compiler.config.recompile_limit"""

_CHANGED = object()


@dataclass
class _Group:
    """The guards of one argument, and how often one of them failed."""

    guards: list[Guard]
    failures: int = 0

    def first_failure(self, facts: Facts) -> str | None:
        """Try the guards in order, up to the first that doesn't hold."""
        return next((wrong for guard in self.guards if (wrong := guard(facts))), None)


@dataclass
class _Entry:
    """One compiled version: its number, and the guards under which it may run."""

    index: int
    groups: list[_Group]
    relations: _Group
    """among symbols, tried when all arguments have passed"""

    def first_failure(self, facts: Facts) -> str | None:
        """Try one argument after the other; what failed most often moves to the front."""
        for group in self.groups:
            if group.first_failure(facts) is not None:
                group.failures += 1
                if group is not self.groups[0]:
                    self.groups.sort(key=lambda group: -group.failures)
                break
        # Dynamo words the reason in a second pass, after the guards have changed places.
        wrongs = (group.first_failure(facts) for group in (*self.groups, self.relations))
        return next((wrong for wrong in wrongs if wrong), None)


class GuardCache:
    """A function that decides as torch.compile does whether a call has to compile."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        dynamic: bool | None = None,
        limit: int = LIMIT,
        specialise_below: int = 2,
    ) -> None:
        """Start with an empty cache.

        Args:
            fn: function of tensors, numbers and strings.
            dynamic: None makes a size a symbol once it has changed, True from the start, False
                never.
            limit: entries from which on nothing more is compiled.
            specialise_below: sizes below this never become symbols; torch's rule is 2.
        """
        self._fn, self._dynamic, self._limit = fn, dynamic, limit
        self._specialise_below = specialise_below
        self._names = tuple(inspect.signature(fn).parameters)
        self._entries: list[_Entry] = []  # the most recently used one first
        self._seen: dict[str, Any] = {}  # sizes and numbers at the compiles so far
        self._has_given_up = False
        self._label: str | None = None
        self._calls: list[Call] = []

    def record(self, args: Sequence[Any], label: str | None = None) -> Any:
        """Call with arguments under a label of one's own, like `Recorder.record`."""
        self._label = label
        return self(*args)

    def __call__(self, *args: Any) -> Any:
        """Look for an entry whose guards hold, compile one if there is none, and run."""
        facts = _facts(dict(zip(self._names, args, strict=True)))
        failures = []
        for entry in self._entries:
            wrong = entry.first_failure(facts)
            if wrong is None:
                self._entries.remove(entry)
                self._entries.insert(0, entry)
                return self._run(args, "hit", entry.index)
            failures.append(failure(f"0/{entry.index}: {wrong}"))
        if len(self._entries) >= self._limit:
            return self._give_up(args, failures)
        entry = self._compile(facts)
        return self._run(args, "recompile" if failures else "compile", entry.index, failures)

    @property
    def history(self) -> History:
        """Everything decided so far; there are no graphs to tell of."""
        return History(function=self._fn.__name__, calls=tuple(self._calls), graphs=())

    def _compile(self, facts: Facts) -> _Entry:
        """Write the guards of a new entry, with a symbol for each size that may vary."""
        for key, value in facts.items():
            if self._seen.setdefault(key, value) != value:
                self._seen[key] = _CHANGED
        symbols = {key: facts[key] for key in facts if self._is_symbol(key, facts[key])}
        groups: dict[str, _Group] = {}
        for key, value in facts.items():
            group = groups.setdefault(_argument(key), _Group([]))
            if key not in symbols:
                group.guards.append(_is_exactly(key, value))
        relations = _Group(list(self._relations(symbols)))
        entry = _Entry(len(self._entries), list(groups.values()), relations)
        self._entries.insert(0, entry)
        return entry

    def _relations(self, symbols: Facts) -> Iterator[Guard]:
        """Give what must hold among symbolic sizes: equal ones stay equal, none is 0 or 1."""
        sizes = {key: value for key, value in symbols.items() if _is_size(key)}
        first_of: dict[int, str] = {}
        for key, value in sizes.items():
            # A size that was seen to vary gets a symbol of its own, whatever its value.
            is_free = self._seen[key] is _CHANGED
            if not is_free and first_of.setdefault(value, key) != key:
                yield _are_equal(key, first_of[value])
        for key in sizes:
            yield _is_at_least(key, self._specialise_below)

    def _is_symbol(self, key: str, value: Any) -> bool:
        if not (_is_size(key) or type(value) is int) or self._dynamic is False:
            return False
        if _is_size(key) and value < self._specialise_below:
            return False
        return self._dynamic is True or self._seen[key] is _CHANGED

    def _give_up(self, args: tuple[Any, ...], failures: list[GuardFailure]) -> Any:
        """Run without an entry; only the first time does anyone ask why."""
        asked, self._has_given_up = not self._has_given_up, True
        return self._run(args, "eager", None, failures if asked else [])

    def _run(
        self,
        args: tuple[Any, ...],
        state: State,
        entry: int | None,
        failures: list[GuardFailure] | None = None,
    ) -> Any:
        is_new = state in ("compile", "recompile")
        used = () if entry is None else (entry,)
        call = Call(
            index=len(self._calls),
            inputs=describe(args) if self._label is None else self._label,
            state=state,
            failures=tuple(failures or ()),
            compiled=used if is_new else (),
            ran=used,
            graphs_so_far=len(self._entries),
        )
        self._calls.append(call)
        return self._fn(*args)


def _facts(arguments: Mapping[str, Any]) -> Facts:
    """List what guards may look at, in the order in which Dynamo's guards do."""
    facts: dict[str, Any] = {}
    for name, value in sorted(arguments.items()):
        if isinstance(value, torch.Tensor):
            facts[f"{name} dtype"] = value.dtype
            facts[f"{name} requires_grad"] = value.requires_grad
            facts |= {f"{name}.size()[{dim}]": size for dim, size in enumerate(value.shape)}
        else:
            facts[name] = value
    return facts


def _argument(key: str) -> str:
    return re.split(r"[ .]", key, maxsplit=1)[0]


def _is_size(key: str) -> bool:
    return key.endswith("]")


def _is_exactly(key: str, expected: Any) -> Guard:
    def guard(facts: Facts) -> str | None:
        actual = facts[key]
        return None if actual == expected else _mismatch(key, expected, actual)

    return guard


def _are_equal(key: str, other: str) -> Guard:
    return lambda facts: None if facts[key] == facts[other] else f"{key} == {other}"


def _is_at_least(key: str, low: int) -> Guard:
    return lambda facts: None if facts[key] >= low else f"{low} <= {key}"


def _mismatch(key: str, expected: Any, actual: Any) -> str:
    """Word a broken guard as Dynamo does, so that both can be compared."""
    name, _, what = key.partition(" ")
    if what == "dtype":
        return (
            f"tensor '{name}' dtype mismatch. expected {_scalar_type(expected)}, "
            f"actual {_scalar_type(actual)}"
        )
    if what == "requires_grad":
        return f"tensor '{name}' requires_grad mismatch. expected requires_grad={int(expected)}"
    if _is_size(key):
        tensor, dim = key.removesuffix("]").split(".size()[")
        return (
            f"tensor '{tensor}' size mismatch at index {dim}. expected {expected}, actual {actual}"
        )
    return f"{key} == {expected!r}"


def _scalar_type(dtype: torch.dtype) -> str:
    """Name a dtype as C++ does, where Dynamo's tensor guards are written."""
    return {torch.float32: "Float", torch.float64: "Double", torch.float16: "Half"}[dtype]
