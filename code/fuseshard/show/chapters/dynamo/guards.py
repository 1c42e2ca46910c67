"""Guards in words, sorted by where the guarded value comes from."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fuseshard.compiler.dynamo.records import GuardLine, Origin
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, word

_TENSOR = re.compile(
    r"check_tensor\(.*?, (?P<kind>\w+), DispatchKeySet\(.*?\), torch\.(?P<dtype>\w+),.*?"
    r"requires_grad=(?P<gradient>True|False), size=\[(?P<size>.*?)\], stride=\[(?P<stride>.*?)\]"
)
_TYPE = re.compile(r"type=<class '(?:[\w.]*\.)?(?P<type>\w+)'>")
_MARKS = ("DIMENSION_DYNAMIC_MARKING_GUARD", "NO_HASATTR")
"""how torch 2.13 and 2.11 call the check for mark_dynamic and its kin"""


def guard_choice(guards: Sequence[GuardLine]) -> Choice:
    """Let the reader pick an origin and read its guards as sentences.

    Args:
        guards: from `compiler.dynamo.guards.guards_of`, at least one of each origin.
    """
    return choose(
        "guards-by-origin",
        word("Where the value comes from"),
        [
            (label, _table(origin, [guard for guard in guards if guard.origin == origin]))
            for origin, label in _origins().items()
        ],
    )


def _origins() -> dict[Origin, Word]:
    return {
        "argument": word("an argument"),
        "closure": word("the closure"),
        "attribute": word("an attribute of an object"),
        "global": word("a global"),
        "torch": word("the state of torch"),
    }


def _table(origin: Origin, guards: Sequence[GuardLine]) -> Table:
    """One row a sentence; checks that say the same of the same thing share one."""
    rows = {(_shown(guard), guard.kind, str(words)): words for guard, words in _sentences(guards)}
    captions: Mapping[Origin, Word] = {
        "argument": word("Guards on arguments."),
        "closure": word("Guards on variables of the closure."),
        "attribute": word("Guards on attributes of objects."),
        "global": word("Guards on globals."),
        "torch": word("Guards on the state of torch, which the function never mentions."),
    }
    table = TableBuilder(f"guards-{origin}", captions[origin])
    table.code(word("Checked"), [name for name, _, _ in rows])
    table.texts(word("What must still hold"), list(rows.values()))
    table.code(word("torch calls it"), [kind for _, kind, _ in rows])
    return table.build()


def _sentences(guards: Sequence[GuardLine]) -> list[tuple[GuardLine, Word]]:
    return [(guard, sentence(guard)) for guard in guards]


def _shown(guard: GuardLine) -> str:
    """Name the subject; torch's own hook tables are many, and one name will do."""
    if guard.origin != "torch":
        return guard.name
    return "torch.nn.Module" if guard.subject else "torch"


def sentence(guard: GuardLine) -> Word:
    """Say what must hold, and what in the compiled code depends on it.

    Args:
        guard: of a kind that the chapter meets.

    Raises:
        ValueError: a kind without a sentence; a release may bring new ones.
    """
    if guard.origin == "torch":
        return _state_sentence(guard)
    if guard.kind == "TENSOR_MATCH":
        return _tensor_sentence(guard)
    if guard.kind in _MARKS:
        return word("nobody has marked one of its sizes as dynamic, or as static, since")
    value = guard.check.rpartition("== ")[2]
    found = _TYPE.search(guard.check)
    kind = found["type"] if found else ""
    simple = {
        "EQUALS_MATCH": word("equals {value}: it stands in the graph as a constant", value=value),
        "LENGTH_CHECK": word("has {n} elements: a loop over it was written out", n=value),
        "TYPE_MATCH": word("is a {kind}: how this type behaves is in the graph", kind=kind),
        "ID_MATCH": word("is the same object: what it does, or holds, is in the graph"),
        "DICT_CONTAINS": word("has no `forward` of its own that would hide the class's"),
    }
    if guard.kind not in simple:
        raise ValueError(
            f"sentence: {guard.kind} ({guard.check}) has no sentence, must be one of "
            f"{sorted([*simple, *_MARKS, 'TENSOR_MATCH'])}; read the guard and add one."
        )
    return simple[guard.kind]


def _tensor_sentence(guard: GuardLine) -> Word:
    found = _TENSOR.search(guard.check)
    if found is None:
        raise ValueError(
            f"sentence: {guard.check!r} has no dtype, size and stride, must have them (the "
            "sentence names them); read what this release writes and correct the pattern."
        )
    words = {
        "kind": found["kind"],
        "dtype": found["dtype"],
        "size": found["size"].replace(", ", "×"),
        "stride": found["stride"],
    }
    if found["gradient"] == "True":
        return word(
            "is a {dtype} {kind} of {size}, strides {stride}, that needs a gradient: code for "
            "other types and layouts would be other code",
            **words,
        )
    return word(
        "is a {dtype} {kind} of {size}, strides {stride}, without gradient: code for other types "
        "and layouts would be other code",
        **words,
    )


def _state_sentence(guard: GuardLine) -> Word:
    """Say what of torch's state must not have changed."""
    if guard.subject:
        return word("the module and its tables of global hooks are of the same kind as before")
    sentences = {
        "GLOBAL_STATE": word(
            "gradient mode, autocast, default dtype, number of threads and deterministic "
            "algorithms are set as before"
        ),
        "TORCH_FUNCTION_MODE_STACK": word("the same modes that intercept torch functions are on"),
        "DEFAULT_DEVICE": word("new tensors go to the same device"),
        "LAMBDA_GUARD": word("nobody has hooked into the saving of tensors for backward"),
    }
    if guard.kind not in sentences:
        raise ValueError(
            f"sentence: {guard.kind} ({guard.check}) has no sentence, must be one of "
            f"{sorted(sentences)}; read the guard and add one."
        )
    return sentences[guard.kind]
