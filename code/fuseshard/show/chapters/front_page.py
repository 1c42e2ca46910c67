"""What the book's first page shows: a fused chain as code, and timed by its size."""

from __future__ import annotations

import re
from textwrap import dedent

from fuseshard.compiler.records import Kernel
from fuseshard.measure.records import Sweep
from fuseshard.show.charts.sweep import break_even_finding, sweep_figure
from fuseshard.show.charts.variants import known_variants
from fuseshard.show.records import Figure, Source
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.words import Word, word

_LOOP = re.compile(r"^ *for\(.*?\.store\([^\n]*", re.DOTALL | re.MULTILINE)
"""from the head of the loop to the first store: the branch that handles whole vectors"""


def loop_source(kernel: Kernel) -> Source:
    """Show the loop that Inductor wrote for the chain, as far as it handles whole vectors.

    Args:
        kernel: the only one of the compiled chain, written for vectors.

    Raises:
        ValueError: there isn't exactly one loop, or it doesn't read and write once a vector.
    """
    loops = kernel.code.count("for(")
    found = _LOOP.search(kernel.code)
    if loops != 1 or found is None:
        raise ValueError(
            f"loop_source: got {loops} loops, required one that ends in a store, because the page "
            "says that the chain became one loop; read the kernel and correct the page."
        )
    halved = re.sub(r"^ +", lambda blanks: " " * (len(blanks[0]) // 2), found[0], flags=re.M)
    notes = [
        on(r"for\(", word("One loop over the whole array, a vector register at a time.")),
        on(r"loadu\(", word("Each number is read from memory once ...")),
        on(r"tmp0 \* ", word("... goes through the operations in registers ..."), last=r" - tmp"),
        on(r"\.store\(", word("... and only the result is written.")),
    ]
    caption = word("The loop that Inductor wrote for the chain, without the rest of the array")
    return annotated_source(
        "chain-cpp", caption, dedent(halved), language="cpp", notes=notes, folded=False
    )


def chain_figure(sweep: Sweep) -> Figure:
    """Draw a chain of elementwise operations, eager against compiled, by array size.

    Args:
        sweep: variants "eager" and "compiled" over numbers of elements.
    """
    return sweep_figure(
        "chain-by-size",
        sweep,
        subject=word("Six elementwise operations, run one by one or fused into one loop"),
        size=word("elements"),
    )


def chain_finding(sweep: Sweep) -> Word:
    """Say in one clause where fusing the chain pays on the machine that measured it.

    Args:
        sweep: as `chain_figure` takes it.
    """
    known = known_variants()
    labels = (known["eager"].in_sentence, known["compiled"].in_sentence)
    return break_even_finding(sweep, "compiled", labels, word("elements"))
