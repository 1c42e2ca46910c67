"""Show what stays a library call on the CPU, and where an activation behind a product goes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fuseshard.compiler.records import Kernel
from fuseshard.compiler.templates.records import Epilogue, LibraryUse, Passes, Place
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def library_table(uses: Sequence[LibraryUse]) -> Table:
    """List small functions, what is called for them, and how many kernels are written."""
    caption = word("What Inductor calls, and what it writes itself, for small functions on a CPU.")
    table = TableBuilder("library-calls", caption)
    table.code(word("Function"), [use.code for use in uses])
    table.counts(word("Kernels"), [use.kernels for use in uses])
    table.texts(word("Library call"), [_called(use.calls) for use in uses])
    return table.build()


def way_words() -> dict[str, Text]:
    """Name the ways of `compiler.templates.epilogues.epilogues`."""
    return {
        "default": word("linear"),
        "search alone": word("linear, max-autotune"),
        "frozen": word("linear, frozen"),
        "template": word("frozen, template"),
        "bf16": plain("bfloat16"),
        "frozen bf16": word("bfloat16, frozen"),
        "convolution": word("convolution"),
        "frozen convolution": word("convolution, frozen"),
    }


def place_word(place: Place) -> Word:
    """Say where an activation has gone."""
    return {
        "kernel": word("in a kernel of its own"),
        "library": word("in the library's call, as an argument"),
        "template": word("in the matrix product that Inductor wrote"),
    }[place]


def epilogue_table(found: Sequence[Epilogue]) -> Table:
    """List for each way what is called, what is written, and where the relu is."""
    names = way_words()
    caption = word("A layer and a relu: where the relu goes on this machine.")
    table = TableBuilder("epilogues", caption)
    table.texts(word("Layer and way"), [names[one.way] for one in found])
    table.texts(word("The relu is"), [place_word(one.place) for one in found])
    table.counts(word("Kernels"), [one.kernels for one in found])
    table.texts(word("Library call"), [_called(one.calls) for one in found])
    return table.build()


def frozen_finding(found: Sequence[Epilogue]) -> Word:
    """Say in a clause where freezing has put the relu behind each kind of layer."""
    places = {one.way: place_word(one.place) for one in found}
    return word(
        "frozen, the relu of the float32 layer is {single}, that of the bfloat16 layer {half}, "
        "and that of the convolution {convolution}",
        single=places["frozen"],
        half=places["frozen bf16"],
        convolution=places["frozen convolution"],
    )


def template_source(kernel: Kernel | None) -> Source:
    """Show the matrix product that Inductor writes, with the relu in it.

    Args:
        kernel: from `compiler.templates.epilogues.template_kernel`; None where this machine
            has no template, which is said instead.
    """
    caption = word("Inductor's own matrix product in C++, with bias and relu behind each block")
    if kernel is None:
        text = "# Inductor has no C++ template for matrix products on this machine."
        return annotated_source("gemm-template", caption, text, language="text")
    return annotated_source(
        "gemm-template", caption, _without_tails(kernel.code), language="cpp", notes=_notes()
    )


def _without_tails(code: str) -> str:
    """Shorten the calls for blocks that aren't full, which differ in one number only."""
    return re.sub(
        r"( *)case (\d+):\n.*?break;\n(?: *case \d+:\n.*?break;\n)*",
        lambda found: f"{found[1]}// ... one case for each smaller number of rows\n",
        code,
        count=1,
        flags=re.DOTALL,
    )


def _notes() -> list[Anchor]:
    return [
        on(
            r"inline void \w+_micro_gemm_kernel\(",
            word("The micro-kernel: a small block of the result, kept in vector registers."),
        ),
        on(
            r"fmadd\(",
            word("The one line that multiplies: a number of x times a vector of the weight."),
        ),
        on(r"for \(int64_t m = 0; m < M", word("Blocks of rows; a rest is shorter.")),
        on(r"constexpr int64_t Mr = ", word("Rows and columns of a block."), last=r"Nr = "),
        on(
            r"for \(int64_t mc_block_id = ",
            word("The outer loops choose the blocks so that caches can hold them."),
        ),
        on(r"for \(int64_t kc = ", word("The first slice of features begins, later ones add.")),
        on(
            r"for\(int64_t x0=",
            word("The epilogue: a loop over the block that has just been finished, in the cache."),
        ),
        on(r"clamp_min\(", word("The relu, after the bias was added.")),
    ]


def block_finding(kernel: Kernel | None) -> Word:
    """Say in a clause how large the micro-kernel's block is."""
    if kernel is None:
        return word("this machine has no template")
    sizes = [re.search(rf"constexpr int64_t {name} = (\d+);", kernel.code) for name in ("Mr", "Nr")]
    rows, columns = (int(found[1]) if found else 0 for found in sizes)
    return word(
        "the block has {rows} rows and {columns} columns on this machine",
        rows=rows,
        columns=columns,
    )


def passes_table(found: Sequence[Passes]) -> Table:
    """Count what Inductor makes of linear layer, layer norm and dropout."""
    caption = word("Linear layer, layer norm, dropout: calls, kernels, and loops in the kernel.")
    table = TableBuilder("norm-passes", caption)
    modes = {
        (True, True): word("training"),
        (False, True): word("evaluation"),
        (False, False): word("evaluation, without vectors"),
    }
    table.texts(word("Mode"), [modes[one.training, one.vectors] for one in found])
    table.counts(word("Library calls"), [one.library_calls for one in found])
    table.counts(word("Kernels"), [one.kernels for one in found])
    table.counts(word("Loops over the rows"), [one.row_loops for one in found])
    table.counts(word("of these through all columns"), [one.table_passes for one in found])
    return table.build()


def _called(calls: Sequence[str]) -> Text:
    names = [call.removesuffix(".default") for call in calls]
    return plain(", ".join(names)) if names else word("none")
