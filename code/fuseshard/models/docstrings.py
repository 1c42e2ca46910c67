"""A data set that every Python brings along: docstrings of its library, labelled by subject.

Files are parsed, never imported, so nothing in them runs. The library differs between versions of
Python, and so do the counts; the order of texts and the split don't depend on the machine.

N = texts, T = tokens in a text.
"""

import ast
import re
import sysconfig
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from fuseshard.models.classifier import PADDING

FAMILIES: Mapping[str, str] = {
    "network": "cgi email ftplib http imaplib ipaddress mailbox nntplib poplib smtplib socket "
    "socketserver ssl telnetlib urllib webbrowser wsgiref xmlrpc",
    "concurrency": "_weakrefset asyncio concurrent contextlib multiprocessing queue sched "
    "selectors signal subprocess threading",
    "files": "bz2 configparser csv dbm fileinput fnmatch glob gzip html json lzma ntpath os "
    "pathlib pickle plistlib posixpath shelve shutil sqlite3 tarfile tempfile xml zipfile",
    "testing": "ast bdb cProfile code dis doctest inspect pdb profile pstats timeit trace "
    "traceback tracemalloc unittest",
    "numbers": "_pydatetime _pydecimal bisect calendar collections colorsys datetime fractions "
    "heapq numbers random statistics",
}
"""class -> top-level modules and packages; those that a Python lacks are left out"""

LEAST_WORDS = 4
"""a shorter docstring says too little to tell what it is about"""

MOST_TEXTS = 600
"""texts of one class, so that no class outweighs the others; further modules aren't read"""

VALIDATION_SHARE = 4
"""one module in so many is kept for validation"""

_WORD = re.compile(r"[a-z]+")
_SKIPPED_FOLDERS = frozenset({"test", "tests", "__pycache__"})


@dataclass(frozen=True)
class Text:
    """One docstring."""

    module: str
    """path below the library's folder, such as asyncio/events.py"""
    words: tuple[str, ...]
    """runs of letters, in lower case"""
    label: int
    """index of its class in `FAMILIES`"""


@dataclass(frozen=True)
class DataSet:
    """Texts to learn from, and texts of other modules to test with."""

    training: tuple[Text, ...]
    validation: tuple[Text, ...]

    @property
    def majority_share(self) -> float:
        """Share of validation texts that always naming the commonest training class gets right."""
        counts = count_labels(self.training)
        return count_labels(self.validation)[counts.index(max(counts))] / len(self.validation)


def load() -> DataSet:
    """Collect the docstrings of this Python's library, and split them by module.

    All texts of a module are on the same side, and a text that both sides hold word for word is
    taken out of validation: neither way can a model recognise what it has seen.

    Returns:
        The data set, the same on every run with the same Python.
    """
    texts = [text for label, name in enumerate(FAMILIES) for text in _family(label, name)]
    training = tuple(text for text in texts if not _is_kept(text.module))
    seen = {text.words for text in training}
    validation = (text for text in texts if _is_kept(text.module) and text.words not in seen)
    return DataSet(training, tuple(validation))


def count_labels(texts: Sequence[Text]) -> list[int]:
    """Count the texts of each class, in the order of `FAMILIES`."""
    return [sum(text.label == label for text in texts) for label in range(len(FAMILIES))]


def encode(texts: Sequence[Text], *, vocabulary: int, context: int) -> torch.Tensor:
    """Turn texts into token numbers: a word's number is its hash.

    Two words may share a number, which costs accuracy but needs no word list. The hash is CRC-32,
    because Python's own differs from process to process.

    Args:
        texts: what to encode.
        vocabulary: token numbers, `PADDING` included.
        context: tokens of a text; longer texts are cut, shorter ones end in `PADDING`.

    Returns:
        [N, T] int64.
    """
    rows = torch.full((len(texts), context), PADDING)
    for row, text in zip(rows, texts, strict=True):
        words = text.words[:context]
        numbers = [1 + zlib.crc32(word.encode()) % (vocabulary - 1) for word in words]
        row[: len(numbers)] = torch.tensor(numbers)
    return rows


def labels_of(texts: Sequence[Text]) -> torch.Tensor:
    """Return the classes of texts, [N] int64."""
    return torch.tensor([text.label for text in texts])


def _family(label: int, name: str) -> list[Text]:
    """Collect the texts of one class, each only once, until there are enough."""
    texts: dict[tuple[str, ...], Text] = {}
    for module, docstring in _docstrings(FAMILIES[name].split()):
        words = tuple(_WORD.findall(docstring.lower()))
        if len(words) >= LEAST_WORDS:
            texts.setdefault(words, Text(module, words, label))
        if len(texts) == MOST_TEXTS:
            break
    return list(texts.values())


def _docstrings(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """List module and docstring of each class and function, modules in the order of hashes."""
    library = Path(sysconfig.get_path("stdlib"))
    files = _files(library, names)
    # By the alphabet, a class would consist of its first package.
    for path in sorted(files, key=lambda path: _hash(path.relative_to(library).as_posix())):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        module = path.relative_to(library).as_posix()
        yield from ((module, docstring) for docstring in _in_tree(tree))


def _files(library: Path, names: Sequence[str]) -> Iterator[Path]:
    """List the source files of modules and packages, as far as this Python has them."""
    for name in names:
        found = sorted((library / name).rglob("*.py")) or [library / f"{name}.py"]
        for path in found:
            if path.exists() and not _SKIPPED_FOLDERS & set(path.relative_to(library).parts):
                yield path


def _in_tree(node: ast.Module | ast.stmt) -> Iterator[str]:
    """List the docstrings below a node, in the order of lines."""
    for statement in getattr(node, "body", ()):
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(statement)
            if docstring:
                yield docstring
        yield from _in_tree(statement)


def _is_kept(module: str) -> bool:
    """Tell whether a module is one of those for validation."""
    return _hash(module) % VALIDATION_SHARE == 0


def _hash(text: str) -> int:
    return zlib.crc32(text.encode())
