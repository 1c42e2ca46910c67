"""What the chapter on Inductor draws of the same graph written for a GPU."""

from __future__ import annotations

import re

from fuseshard.compiler.gpu_study.matching import kernel_text
from fuseshard.compiler.records import Kernel
from fuseshard.show.choices import Choice, choose
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.words import Word, word

DEEDS = ("loads", "maximum", "exponential", "sum", "division", "stores")
"""what both kernels do, in the order of their lines"""


def kernels_choice(cpp: Kernel, triton: str) -> Choice:
    """Show one graph in two languages; the notes are numbered alike.

    Args:
        cpp: Inductor's kernel for the CPU, with AVX-512 or AVX2 vectors.
        triton: Inductor's kernel for a GPU, as a module.

    Raises:
        ValueError: a kernel has changed, so that a note would be on the wrong line.
    """
    # Nine levels of four blanks would push every line that matters out of the page.
    code = re.sub(r"^ +", lambda blanks: " " * (len(blanks[0]) // 2), cpp.code, flags=re.M)
    return choose(
        "softmax-languages",
        word("Written for"),
        [
            (
                word("a CPU, in C++"),
                annotated_source(
                    "softmax-for-cpu",
                    word("The softmax in C++"),
                    code,
                    language="cpp",
                    notes=_notes(_CPP),
                    folded=False,
                ),
            ),
            (
                word("an H200, in Triton"),
                annotated_source(
                    "softmax-for-gpu",
                    word("The softmax in Triton"),
                    kernel_text(triton),
                    language="python",
                    notes=_notes(_TRITON),
                    folded=False,
                ),
            ),
        ],
        start=1,
    )


def row_tile(triton: str) -> int:
    """Read off how many numbers of a row a program holds at once.

    Args:
        triton: Inductor's kernel for a GPU, a reduction without a loop, as a module.

    Raises:
        ValueError: it isn't such a kernel.
    """
    found = re.search(r"R0_BLOCK: tl\.constexpr = (\d+)", triton)
    if found is None:
        raise ValueError(
            "row_tile: got a kernel that doesn't set R0_BLOCK, must be a persistent reduction "
            "(only those hold a whole row); pass one whose rows fit into a program."
        )
    return int(found[1])


_CPP = {
    "loads": (r"loadu\(in_ptr0", 1),
    "maximum": (r"at::vec::maximum\(tmp_acc0_vec, tmp0\)", 1),
    "exponential": (r"\.exp\(\)", 1),
    "sum": (r"tmp_acc0_vec = tmp_acc0_vec \+ ", 1),
    "division": (r"tmp0 / tmp2", 1),
    "stores": (r"\.store\(out_ptr2", 1),
}
"""deed -> pattern of the line that does it, and which of the lines that match"""

_TRITON = {
    "loads": (r"= tl\.load\(", 1),
    "maximum": (r"triton_helpers\.max2\(", 1),
    "exponential": (r"libdevice\.exp\(", 1),
    "sum": (r"tl\.sum\(", 1),
    "division": (r"\(tmp\d+ / tmp\d+\)", 1),
    "stores": (r"tl\.store\(", 1),
}


def _notes(places: dict[str, tuple[str, int]]) -> list[Anchor]:
    """Give each deed the same note in both languages, and so the same number."""
    said: dict[str, Word] = {
        "loads": word("Logits are loaded."),
        "maximum": word("The maximum of the row."),
        "exponential": word("The exponential of what is left after the maximum is subtracted."),
        "sum": word("The sum of the exponentials."),
        "division": word("The division."),
        "stores": word("Probabilities are stored."),
    }
    return [on(places[deed][0], said[deed], occurrence=places[deed][1]) for deed in DEEDS]
