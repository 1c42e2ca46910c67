"""Tables of what torch.compile captured of a training step, and how often it captured anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.compiler.training.records import CastGraphs, StepCapture
from fuseshard.show.chapters.training.words import family_word
from fuseshard.show.numbers import magnitude
from fuseshard.show.records import Source, Table
from fuseshard.show.sources import annotated_source, on
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def data_table(training: Sequence[int], validation: Sequence[int], names: Sequence[str]) -> Table:
    """Show how many texts each class has.

    Args:
        training: texts of each class.
        validation: texts of each class, from other modules.
        names: of the classes.
    """
    table = TableBuilder("docstrings", word("Docstrings of this Python's library, by subject."))
    table.texts(word("Class"), [*map(family_word, names), word("in all")])
    table.counts(word("To learn from"), [*training, sum(training)])
    table.counts(word("To test with"), [*validation, sum(validation)])
    return table.build(notes=[word("No module is in both columns, and no text is in both.")])


def capture_table(captures: Sequence[StepCapture]) -> Table:
    """Show graphs, breaks and sizes for each way to hand over a training step."""
    labels: dict[str, Text] = {
        "loss": word("loss"),
        "backward": word("loss and .backward()"),
        "whole": word("the whole step"),
        "one graph": word("the whole step as functions"),
    }
    table = TableBuilder("step-captures", word("What torch.compile captures of a training step."))
    table.texts(word("Handed over"), [labels[capture.name] for capture in captures])
    table.counts(word("Graphs"), [capture.graphs for capture in captures])
    table.counts(word("Breaks"), [sum(capture.breaks.values()) for capture in captures])
    kinds: dict[str, Word] = {
        "forward": word("Operations: forward"),
        "backward": word("backward"),
        "inference": word("without gradient"),
    }
    for kind, title in kinds.items():
        table.counts(title, [capture.operations.get(kind) for capture in captures])
    return table.build(
        notes=[word("Operations are those of the ATen graphs that reach the backend.")]
    )


def break_table(capture: StepCapture) -> Table:
    """List why Dynamo broke off, in its own words."""
    table = TableBuilder("step-breaks", word("Why the whole step doesn't become one graph."))
    table.code(word("Dynamo's reason"), list(capture.breaks))
    table.counts(word("Times"), list(capture.breaks.values()))
    return table.build()


def graphs_table(as_float: Sequence[int], as_tensor: Sequence[int]) -> Table:
    """Show graphs captured up to each step under a schedule, for two kinds of learning rate.

    Args:
        as_float: graphs after each step, where the learning rate is a number.
        as_tensor: the same number of steps, where it is a tensor.
    """
    table = TableBuilder("learning-rates", word("Graphs of AdamW's step under a schedule."))
    table.texts(word("Graphs after step"), [word("float"), word("tensor")])
    for i, counts in enumerate(zip(as_float, as_tensor, strict=True), start=1):
        table.counts(plain(i), list(counts))
    return table.build()


def length_table(counts: Mapping[str, Sequence[int]], lengths: Sequence[int]) -> Table:
    """Show graphs captured up to each batch, for three ways to treat shapes.

    Args:
        counts: "static", "automatic" and "dynamic" -> graphs after each batch.
        lengths: tokens of the batches.
    """
    labels: dict[str, Text] = {
        "static": plain("dynamic=False"),
        "automatic": plain("dynamic=None"),
        "dynamic": plain("dynamic=True"),
    }
    table = TableBuilder("graphs-by-length", word("Graphs captured so far, batch after batch."))
    table.texts(word("Tokens in the batch"), [labels[name] for name in counts])
    for i, length in enumerate(lengths):
        table.counts(plain(f"{i + 1}: {length}"), [series[i] for series in counts.values()])
    return table.build()


def rounding_table(by_hand: float, without_corrections: float, bound: float) -> Table:
    """Compare the distance of two programs from torch's AdamW with what rounding explains.

    Args:
        by_hand: largest absolute difference of the whole update.
        without_corrections: the same of its twin, which has to be found out.
        bound: largest difference that rounding explains.
    """
    differences = (by_hand, without_corrections)
    table = TableBuilder("adamw-differences", word("Differences, and what rounding explains."))
    table.texts(word("Program"), [word("by hand"), word("without corrections")])
    table.texts(word("Largest difference"), [plain(magnitude(d)) for d in differences])
    table.texts(word("Bound"), [plain(magnitude(bound))] * len(differences))
    table.texts(
        word("Verdict"), [word("rounding") if d <= bound else word("a bug") for d in differences]
    )
    return table.build()


def kernel_source(code: str) -> Source:
    """Show the kernel of AdamW's step for one parameter, with the powers in its loop.

    Args:
        code: C++ from `compiler.training.optimizers.kernel_of_library`.
    """
    notes = [
        on(r"for\(int64_t", word("One loop over all numbers of the parameter.")),
        on(
            r"::loadu\(out_ptr3",
            word("Parameter, average, gradient, average."),
            last=r"loadu\(out_ptr5",
        ),
        on(r"std::pow", word("0.999 to the power of the step: the same in every pass.")),
        on(r"std::pow", word("And 0.9 to the power of the step."), occurrence=2),
        on(r"\.store\(", word("Three results."), last=r"store\(out_ptr5"),
    ]
    return annotated_source(
        "adamw-kernel",
        word("Inductor's kernel for one parameter of torch.optim.AdamW."),
        code,
        language="cpp",
        notes=notes,
    )


def cast_source(graphs: CastGraphs) -> Source:
    """Show the forward graph under autocast, with its casts."""
    notes = [
        on(r"_to_copy: ", word("A weight, float32 in the optimizer, is cast in every step.")),
        on(r"_to_copy_1: ", word("So is the input.")),
        on(r"mm: ", word("The matrix product runs in bfloat16.")),
        on(r"relu: ", word("ReLU follows its input: no cast.")),
        on(r"_to_copy_3: ", word("The loss is on the list of what stays in float32.")),
        on(
            r"^\s+return \(",
            word(
                "Kept for the backward pass: what the matrix products and ReLU need, in bfloat16, "
                "and the loss's own two tensors, in float32."
            ),
        ),
    ]
    return annotated_source(
        "autocast-graph",
        word("The forward graph of loss and two layers under autocast."),
        graphs.forward,
        language="python",
        notes=notes,
        folded=False,
    )
