"""What torch.profiler saw: one transformer block in time, and operators' shares by batch size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard import palette
from fuseshard.compiler.eager.records import OpSpan, Profile
from fuseshard.show.choices import Choice, choose
from fuseshard.show.figures import FigureBuilder
from fuseshard.show.numbers import duration, number
from fuseshard.show.records import Figure
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

NORM = "aten::layer_norm"
"""the operator with which a block's two halves begin"""

LABELLED = 0.05
"""a span at least so wide, as a share of the figure, has its name in it"""


def block_spans(profile: Profile) -> tuple[OpSpan, ...]:
    """Cut the first transformer block out of a profile of MiniGPT.

    Args:
        profile: of a forward pass; a block has two norms, so the third begins the next block.

    Raises:
        ValueError: there are fewer than three norms.
    """
    begins = [span.start_s for span in profile.spans if span.op == NORM and span.depth == 0]
    if len(begins) < 3:
        raise ValueError(
            f"block_spans: got {len(begins)} calls of {NORM}, required at least 3, because the "
            "third ends the first block; profile a model with two blocks or more."
        )
    return tuple(s for s in profile.spans if begins[0] <= s.start_s < begins[2])


def block_figure(profile: Profile) -> Figure:
    """Draw one block's operators in time, those that an operator calls below it.

    Args:
        profile: of one forward pass of MiniGPT.
    """
    spans = block_spans(profile)
    begin_s = spans[0].start_s
    end_s = max(span.end_s for span in spans)
    deepest = max(span.depth for span in spans)
    levels = [_level(depth) for depth in range(deepest + 1)]
    table = TableBuilder("block-table", word("The operators of one block, in order."))
    table.texts(word("Operator"), [plain(f"{'· ' * span.depth}{span.op}") for span in spans])
    table.numbers(word("Start"), [1e6 * (span.start_s - begin_s) for span in spans], "µs")
    table.numbers(word("Time"), [1e6 * (span.end_s - span.start_s) for span in spans], "µs")
    outside = 1 - sum(s.end_s - s.start_s for s in spans if s.depth == 0) / (end_s - begin_s)
    return _drawn(spans, levels).build(
        caption=word(
            "One transformer block under the profiler: {n} calls in {whole}; gaps in the top row "
            "({share} % of the time) are Python and the profiler. Point at a bar for its name.",
            n=len(spans),
            whole=duration(end_s - begin_s),
            share=number(100 * outside, 2),
        ),
        alt=word(
            "Bars in time on {n} levels; under each operator stand, further down, those that it "
            "calls.",
            n=len(levels),
        ),
        table=table.build(),
    )


def _drawn(spans: Sequence[OpSpan], levels: Sequence[Word]) -> FigureBuilder:
    """Draw the spans, a row for each depth."""
    begin_s, end_s = spans[0].start_s, max(span.end_s for span in spans)
    drawing = FigureBuilder("block", height=150 + 46 * len(levels))
    drawing.x_axis(word("time (µs)"))
    drawing.rows(levels)
    drawing.layout["showlegend"] = False
    drawing.layout["barmode"] = "overlay"
    drawing.layout["uniformtext"] = {"minsize": 11, "mode": "hide"}
    for depth, level in enumerate(levels):
        own = [span for span in spans if span.depth == depth]
        wide = [LABELLED * (end_s - begin_s) <= span.end_s - span.start_s for span in own]
        drawing.bars(
            level,
            [1e6 * (span.end_s - span.start_s) for span in own],
            [level] * len(own),
            palette.FORWARD if depth == 0 else palette.EAGER,
            hover=[f"{s.op} {duration(s.end_s - s.start_s)}" for s in own],
            orientation="h",
            base=[1e6 * (span.start_s - begin_s) for span in own],
            text=[
                drawing.say(plain(_short(span.op))) if shown else ""
                for span, shown in zip(own, wide, strict=True)
            ],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
        )
    return drawing


GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("products", ("aten::addmm", "aten::mm", "aten::bmm")),
    ("attention", ("aten::_scaled_dot_product_flash_attention_for_cpu",)),
    ("pointwise", ("aten::gelu", "aten::add", "aten::native_layer_norm")),
    ("copies", ("aten::copy_", "aten::clone", "aten::contiguous", "aten::index_select")),
)
"""operators that do the work, by what they do; all others only prepare it"""


def shares_choice(profiles: Mapping[int, Profile]) -> Choice:
    """Let the reader move through batch sizes and see which operators take the time.

    Args:
        profiles: sequences in the batch -> profile of a forward pass.
    """
    options = [
        (plain(batch), _shares_figure(batch, profile)) for batch, profile in profiles.items()
    ]
    return choose("shares", word("Sequences in the batch"), options, control="slider")


def shares(profile: Profile) -> dict[str, float]:
    """Split a profiled call: each group of operators, all other operators, and Python.

    Args:
        profile: of one call.

    Returns:
        Shares of the whole, which add up to 1.
    """
    own = profile.self_by_op()
    seconds = {name: sum(own.get(op, 0.0) for op in ops) for name, ops in GROUPS}
    seconds["preparing"] = sum(own.values()) - sum(seconds.values())
    seconds["python"] = profile.outside_s
    whole_s = sum(seconds.values())
    return {name: value / whole_s for name, value in seconds.items()}


def _shares_figure(batch: int, profile: Profile) -> Figure:
    found = shares(profile)
    labels = _labels()
    drawing = FigureBuilder(f"shares-{batch}", height=330)
    drawing.x_axis(word("share of the profiled call (%)"), range=[0, 100])
    drawing.rows([labels[name] for name in found])
    drawing.layout["showlegend"] = False
    for name, share in found.items():
        drawing.bars(
            labels[name],
            [100 * share],
            [labels[name]],
            palette.IDLE if name in ("preparing", "python") else palette.EAGER,
            hover=[f"{number(100 * share, 2)} %"],
            orientation="h",
        )
    table = TableBuilder(f"shares-{batch}-table", word("Shares of a profiled forward pass."))
    table.texts(word("What"), [labels[name] for name in found])
    table.numbers(word("Share"), [100 * share for share in found.values()], "%", significant=2)
    around = found["preparing"] + found["python"]
    return drawing.build(
        caption=word(
            "Batch of {n}, 16 tokens each, {whole} under the profiler: {share} % of it is Python "
            "and operators that only prepare the work.",
            n=batch,
            whole=duration(profile.whole_s),
            share=number(100 * around, 2),
        ),
        alt=word("Six horizontal bars, one for each kind of work."),
        table=table.build(),
    )


def around(profile: Profile) -> float:
    """Return the share of Python and of operators that only prepare the work."""
    found = shares(profile)
    return found["preparing"] + found["python"]


def _labels() -> dict[str, Word]:
    return {
        "products": word("matrix products"),
        "attention": word("attention"),
        "pointwise": word("pointwise and norms"),
        "copies": word("copies and look-ups"),
        "preparing": word("views, allocations, checks"),
        "python": word("outside any operator"),
    }


def _level(depth: int) -> Word:
    if depth == 0:
        return word("called from Python")
    return word("{n} deep", n=depth)


def _short(op: str) -> str:
    return op.removeprefix("aten::").removeprefix("_").split("_flash")[0]
