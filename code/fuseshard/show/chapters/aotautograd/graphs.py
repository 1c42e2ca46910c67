"""The graphs of the chapter on AOTAutograd, with notes on the lines that matter.

Notes hang on patterns: a release that traces something else fails the build instead of explaining
the wrong line.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Source
from fuseshard.show.sources import Anchor, annotated_source, on
from fuseshard.show.words import Text, Word, word


def joint_source(joint: str) -> Source:
    """Show the joint graph of RMS norm."""
    notes = [
        on(r"primals_1: ", word("primals are what goes in, tangents what autograd hands down.")),
        on(
            r"pow_1: ",
            word("The forward pass: what rms_norm says, one operator a line ..."),
            last=r"mul_1: ",
        ),
        on(r"\balias: ", word("(autograd's mark on a result that it will use again: no bytes)")),
        on(r"mul_2: ", word("... and here the backward pass begins: dw before its sum over rows.")),
        on(r"mul_3: ", word("dn = g w, the gradient of the normed rows.")),
        on(r"sum_1: ", word("dw is done: the sum over rows, and its shape."), last=r"\bview: "),
        on(r"mul_4: ", word("Two ways lead back from x s: to s ..."), last=r"sum_2: "),
        on(r"mul_5: ", word("... and to x: the first term of dx.")),
        on(
            r"pow_2: ",
            word("The derivative of rsqrt, in terms of its own result: -s^3 / 2."),
            last=r"mul_7: ",
        ),
        on(
            r"expand: ",
            word("The derivative of the mean: each element of a row gets its share."),
            last=r"\bdiv: ",
        ),
        on(
            r"pow_3: ",
            word("The derivative of the square, by the rule for any power: x^1, times 2."),
            last=r"mul_9: ",
        ),
        on(r"add_1: ", word("x was used twice, so its gradient has two terms: dx is done.")),
        on(r"tree_unflatten", word("One result, then a gradient for each input.")),
    ]
    caption = word("The joint graph of rms_norm: forward and backward pass in one")
    return annotated_source(
        "joint-graph", caption, _narrow(joint), language="python", notes=notes, folded=False
    )


def stage_choice(stages: Mapping[str, str]) -> Choice:
    """Step through the graphs of RMS norm.

    Args:
        stages: "fx", "joint", and "forward" and "backward" of both partitioners, as
            "forward eager", "forward min-cut", "backward eager" and "backward min-cut".
    """
    options = [(label, _stage(name, stages[name])) for name, label in _labels().items()]
    return choose("stages", word("Stage"), options, start=3)


def pure_source(code: str) -> Source:
    """Show what the functionaliser made of the running average."""
    notes = [
        on(r"mul_tensor = ", word("buffer.mul_(0.9) computes a new value and writes nothing.")),
        on(r"slice_tensor = ", word("tail: read from the newest value ...")),
        on(
            r"slice_scatter",
            word("... and tail.add_(rows) put back into it: a whole buffer, with new rows."),
        ),
        on(
            r"slice_tensor_1 = ",
            word("tail again, read anew, since its memory has a new value."),
        ),
        on(r"copy_", word("The one write, at the end: the caller's buffer gets the newest value.")),
    ]
    caption = word("The same function without a write in the middle")
    return annotated_source(
        "pure-graph", caption, _narrow(code.strip()), language="python", notes=notes, folded=False
    )


def engine_source(graph: str) -> Source:
    """Show the graph that compiled autograd captured."""
    notes = [
        on(r"CompiledFunctionBackward.*NodeCall 1", word("The second graph's backward pass ...")),
        on(r"CompiledFunctionBackward.*NodeCall 2", word("... and the first one's, in one graph.")),
        on(r"AccumulateGrad", word("Even adding to .grad is part of it.")),
    ]
    caption = word("One backward pass as compiled autograd captured it, across the graph break")
    return annotated_source(
        "engine-graph", caption, _without_counters(graph), language="python", notes=notes
    )


def _labels() -> dict[str, Text]:
    return {
        "fx": word("1. Dynamo's graph"),
        "joint": word("2. joint graph"),
        "forward eager": word("3a. forward, kept as in eager mode"),
        "forward min-cut": word("3b. forward, cut cheaply"),
        "backward eager": word("4a. backward, kept as in eager mode"),
        "backward min-cut": word("4b. backward, cut cheaply"),
    }


def _stage(name: str, graph: str) -> Source:
    captions: dict[str, Word] = {
        "fx": word("Dynamo's graph: torch functions, no backward pass yet"),
        "joint": word("The joint graph, before the cut"),
        "forward eager": word("Forward graph that keeps what eager mode keeps"),
        "forward min-cut": word("Forward graph that keeps what costs least"),
        "backward eager": word("Backward graph that gets everything handed over"),
        "backward min-cut": word("Backward graph that computes one tensor again"),
    }
    notes: dict[str, Sequence[Anchor]] = {
        "forward eager": [
            on(
                r"return \(",
                word("The result, and five more, two of them the same memory."),
            )
        ],
        "forward min-cut": [on(r"return \(", word("The result, and three tensors more."))],
        "backward eager": [
            on(r"def forward", word("x s comes in as mul, ready-made.")),
        ],
        "backward min-cut": [
            on(r"def forward", word("mul isn't handed over ...")),
            on(r"\bmul: ", word("... but computed again: one multiplication.")),
        ],
    }
    return annotated_source(
        f"stage-{name.replace(' ', '-')}",
        captions[name],
        _narrow(graph),
        language="python",
        notes=notes.get(name, ()),
        folded=False,
    )


def _narrow(graph: str) -> str:
    """Drop what would push lines out of the page, or what no reader needs, of a printed graph."""
    for found, put in (
        (r"^class GraphModule.*\n|^class inner_f.*\n", ""),
        (r";  (?:\w+ = )+None$", ""),
        (r"^\n.* = fx_pytree\..*\n", ""),
        (r"^ *\w+ = L_\w+\n", ""),
        (r"# File: \S+ in \w+, code: ", "# "),
        (r"torch\.ops\.aten\.", "aten."),
        (r"\b9223372036854775807\b", "sys.maxsize"),  # torch's way to say: to the end
    ):
        graph = re.sub(found, put, graph, flags=re.MULTILINE)
    return textwrap.dedent(graph)


def _without_counters(graph: str) -> str:
    """Name the engine's nodes in the order of the graph, and drop torch's own places in files."""
    graph = re.sub(r"^ *# File: <eval_with_key>.*\n", "", graph, flags=re.MULTILINE)
    graph = re.sub(r"# File: compiled_autograd\.py:\d+ in set_node_origin, code:", "#", graph)
    ids = list(dict.fromkeys(re.findall(r"\baot\d+_", graph)))
    for index, name in enumerate(ids, start=1):
        graph = graph.replace(name, f"node{index}_")
    graph = re.sub(r"torch__dynamo_compiled_autograd_(?:ops_)?", "", graph)
    return _narrow(re.sub(r"(CompiledFunctionBackward)\d+", r"\1", graph))
