"""What each part of a described GPU is for: the same program with it and without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fuseshard.compiler.described.records import Ablation
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def parts_table(ablations: Sequence[Ablation]) -> Table:
    """Show for each part a program that needs it, and what comes of it.

    Args:
        ablations: from `compiler.described.ablation.ablations`.
    """
    purposes = purpose_words()
    caption = word("A GPU that isn't there, one part left out at a time.")
    table = TableBuilder("described-parts", caption)
    table.texts(
        word("What is described"),
        [purposes.get(one.name, plain(one.purpose)) for one in ablations],
    )
    table.code(word("Program"), [one.program for one in ablations])
    table.texts(word("With it"), [result_word(one.with_it) for one in ablations])
    table.texts(word("Without it"), [result_word(one.without_it) for one in ablations])
    return table.build()


def silent_finding(ablations: Sequence[Ablation]) -> Word:
    """Say in a clause how many parts nobody would miss before comparing results.

    Args:
        ablations: from `compiler.described.ablation.ablations`.
    """
    silent = [one for one in ablations if not is_loud(one)]
    return word(
        "of {n} parts {silent} are missed in silence: the program runs without them and gives "
        "something else",
        n=len(ablations),
        silent=len(silent),
    )


def is_loud(ablation: Ablation) -> bool:
    """Tell whether leaving a part out ends in an error."""
    return "Error: " in ablation.without_it or ablation.without_it.startswith("the process ends")


def result_word(result: str) -> Text:
    """Say what came of a program; names and messages of errors stay as they are.

    Args:
        result: as `compiler.described.ablation` writes it.
    """
    for pattern, say in _RESULTS:
        found = re.fullmatch(pattern, result)
        if found is not None:
            return say(found[1])
    return plain(result)


_RESULTS: tuple[tuple[str, Callable[[str], Word]], ...] = (
    (r"a gradient on (\S+)", lambda place: word("a gradient on {place}", place=place)),
    (r"channels (last)", lambda _: word("channels last")),
    (r"channels (first)", lambda _: word("channels first")),
    (r"(\d+) Triton kernels?", lambda n: word("Triton kernels: {n}", n=n)),
    (r"(\d+) multiprocessors", lambda n: word("{n} multiprocessors", n=n)),
    (r"(\d+) bytes", lambda n: word("{n} bytes", n=n)),
    (r"device (\d+)", lambda n: word("GPU number {n}", n=n)),
    (r"stream (\d+)", lambda n: word("stream {n}", n=n)),
    (r"the process ends: (.*)", lambda why: word("the process ends: {why}", why=why)),
)
"""pattern of a result -> how it is said"""


def purpose_words() -> dict[str, Text]:
    """Say what each replacement of `compiler.described.describe` does."""
    return {
        "memos": word("forgets what was remembered of another GPU"),
        "device guard": word("lets C++ switch to the GPU, which does nothing"),
        "accelerator hooks": word("tells the autograd engine that there is a GPU"),
        "library hooks": word("tells convolution and batch norm that cuDNN or MIOpen is there"),
        "factories": word("makes the small tensors of Inductor's own arithmetic on the CPU"),
        "attention choice": word("chooses the implementation of attention as the GPU would"),
        "tensor creation": word("makes fake tensors without touching the GPU"),
        "version": word("says whether torch was built for CUDA or for ROCm"),
        "device queries": word("says how many GPUs there are and what they are like"),
        "device exchange": word("lets Python switch to the GPU and back"),
        "random state": word("keeps a state of random numbers for the GPU"),
        "running calls": word("accepts what a compiled program calls when it runs"),
        "memory size": word("says how much memory is free"),
        "module moves": word("lets a program move a module to the GPU"),
        "Triton driver": word("tells Triton what to compile for"),
    }
