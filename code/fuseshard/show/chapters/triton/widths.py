"""How wide a kernel's loads are, and what the candidates of an autotuner take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from fuseshard.compiler.gpu_code.records import Configuration, MachineCode, Resources
from fuseshard.compiler.gpu_study.records import WidthCase
from fuseshard.show.chapters.modes.ways import in_a_row
from fuseshard.show.chapters.triton.names import target_name
from fuseshard.show.charts.variants import listed
from fuseshard.show.numbers import number
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word


def width_table(cases: Sequence[WidthCase]) -> Table:
    """Show how wide the loads are, by what the compiler may assume of addresses.

    Args:
        cases: from `compiler.gpu_study.tiles.width_cases`.
    """
    caption = word("One row of a softmax: what alignment allows a thread to load at once.")
    table = TableBuilder("load-widths", caption)
    table.texts(word("GPU"), [plain(target_name(case.target)) for case in cases])
    table.code(word("Type"), [case.dtype for case in cases])
    table.counts(word("Columns"), [case.columns for case in cases])
    table.texts(
        word("First row at a multiple of 16"),
        [word("yes") if case.is_aligned else word("not known") for case in cases],
    )
    table.counts(word("Widest load"), [case.load_bits for case in cases], "bit")
    table.counts(word("Loads"), [case.resources.loads for case in cases])
    table.counts(word("Instructions"), [case.resources.instructions for case in cases])
    return table.build()


def width_finding(cases: Sequence[WidthCase], target: str = "h200") -> Word:
    """Say in a clause what each width of a row allows in float32.

    Args:
        cases: from `compiler.gpu_study.tiles.width_cases`.
        target: the GPU that is spoken of.
    """
    own = [case for case in cases if case.target == target and case.dtype == "float32"]
    return in_a_row(
        [
            word("{bits} bits at {columns} columns", bits=case.load_bits, columns=case.columns)
            if case.is_aligned
            else word(
                "{bits} bits at {columns} where the compiler doesn't know where rows begin",
                bits=case.load_bits,
                columns=case.columns,
            )
            for case in own
        ]
    )


def configuration_table(name: str, codes: Sequence[MachineCode]) -> Table:
    """Show a kernel under each configuration that the autotuner would time.

    Args:
        name: of the record.
        codes: from `compiler.gpu_study.tiles.configuration_codes`.
    """
    caption = word(
        "Candidates of the autotuner on the {gpu}; which is fastest, only a card can tell.",
        gpu=target_name(codes[0].target),
    )
    table = TableBuilder(name, caption)
    table.code(word("Configuration"), [configured(code.configuration) for code in codes])
    table.counts(word("Registers"), [code.resources.registers for code in codes])
    table.counts(word("Spills"), [code.resources.spills for code in codes])
    table.counts(word("Loads"), [code.resources.loads for code in codes])
    table.counts(word("Widest load"), [max(code.resources.load_bits) for code in codes], "bit")
    table.counts(word("Instructions"), [code.resources.instructions for code in codes])
    table.numbers(word("Occupancy"), [100 * code.resources.occupancy for code in codes], "%")
    return table.build()


def configuration_finding(codes: Sequence[MachineCode]) -> Word:
    """Say in a clause what each candidate takes, and how many warps it lets reside.

    Args:
        codes: from `compiler.gpu_study.tiles.configuration_codes`.
    """
    return listed(
        [
            word(
                "{configuration} takes {registers} registers and allows {occupancy} % of the warps",
                configuration=configured(code.configuration),
                registers=code.resources.registers,
                occupancy=number(100 * code.resources.occupancy),
            )
            for code in codes
        ]
    )


def configured(configuration: Configuration) -> str:
    """Write a configuration the way that Triton's own code does."""
    sizes = [f"{name}={size}" for name, size in configuration.blocks.items()]
    return ", ".join([*sizes, f"num_warps={configuration.num_warps}"])


def load_counts(resources: Resources) -> str:
    """Write loads by their width, widest first: "4 × 128 bit, 1 × 32 bit"."""
    widths = sorted(Counter(resources.load_bits).items(), reverse=True)
    return ", ".join(f"{count} × {bits} bit" for bits, count in widths)
