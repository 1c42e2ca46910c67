"""Tables of the chapter on AOTAutograd, from counts, differences and trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.compiler.joint.records import Lowering, Saved, Transformed, Trial, Value
from fuseshard.show.numbers import magnitude, number
from fuseshard.show.records import Cell, Column, Number, Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def lowering_table(lowerings: Sequence[Lowering], sizes: Mapping[str, int]) -> Table:
    """Show what single lines of Python become, with each table of decompositions.

    Args:
        lowerings: from `compiler.joint.decompositions`.
        sizes: "core" and "inductor" -> entries of the table.
    """
    table = TableBuilder("decompositions", word("What one line becomes, and who decomposes it."))
    table.code(plain("Python"), [lowering.python for lowering in lowerings])
    for name, head in (("none", word("No table")), ("inductor", word("Inductor's table"))):
        table.code(head, [", ".join(lowering.ops[name]) for lowering in lowerings])
    heads: dict[str, Text] = {"none": plain("n₁"), "core": plain("n₂"), "inductor": plain("n₃")}
    for name, title in heads.items():
        table.counts(title, [lowering.num_joint_ops[name] for lowering in lowerings])
    return table.build(
        notes=[
            word(
                "n: operators of both passes together, without a table (n₁), with core ATen's "
                "{core} entries (n₂) and with Inductor's {inductor} (n₃).",
                core=number(sizes["core"]),
                inductor=number(sizes["inductor"]),
            ),
            word("With core ATen the forward pass is as without a table, but for t → permute."),
        ]
    )


def saved_table(name: str, values: Sequence[Value], saved: Sequence[Saved]) -> Table:
    """Show the tensors that pass from one half to the other, and why they are saved.

    Args:
        name: lower-case words joined by hyphens, unique on its page.
        values: of the joint graph.
        saved: chosen from them.
    """
    by_name = {value.name: value for value in values}
    table = TableBuilder(name, word("What the forward graph hands to the backward graph."))
    table.code(word("Tensor"), [tensor.name for tensor in saved])
    table.code(word("Shape"), ["×".join(map(str, tensor.shape)) for tensor in saved])
    table.counts(word("Bytes"), [tensor.num_bytes for tensor in saved], unit="B")
    table.texts(
        word("Why it isn't computed again"),
        [_reason(tensor, by_name[tensor.name]) for tensor in saved],
    )
    return table.build()


def bytes_table(counts: Mapping[str, tuple[int, int]], formulas: Mapping[str, int]) -> Table:
    """Put counted bytes beside the formulas.

    Args:
        counts: way -> bytes with library calls, bytes with the operators spelled out; ways are
            "eager", "1.0", "0.99", "0.0" (budgets) and "checkpoint".
        formulas: way -> bytes, for those that have one.

    Raises:
        ValueError: a way that has no name here.
    """
    names: dict[str, Text] = {
        "eager": word("eager"),
        "1.0": word("compiled"),
        "0.99": word("compiled, budget 0.99"),
        "0.0": word("compiled, budget 0"),
        "checkpoint": word("eager, torch.utils.checkpoint"),
    }
    unknown = sorted(set(counts) - set(names))
    if unknown:
        raise ValueError(
            f"bytes_table: got {unknown}, must be among {sorted(names)} (each edition has a name "
            "for these); rename them or add a name."
        )
    table = TableBuilder(
        "kept-bytes", word("Bytes kept for the backward pass of half a block, without parameters.")
    )
    table.texts(word("Way"), [names[way] for way in counts])
    table.counts(word("Library calls"), [library for library, _ in counts.values()], unit="B")
    table.counts(word("Spelled out"), [spelled for _, spelled in counts.values()], unit="B")
    table.counts(word("Formula"), [formulas.get(way) for way in counts], unit="B")
    return table.build()


def gradient_table(differences: Mapping[str, float]) -> Table:
    """Judge gradients by their difference from eager autograd, in float64.

    Args:
        differences: way -> largest absolute difference; ways are "by hand", "eager cut",
            "min-cut", "own cut", "budget 0" and "forgetful".
    """
    names: dict[str, Text] = {
        "by hand": word("backward pass by hand"),
        "eager cut": word("AOTAutograd, kept as in eager mode"),
        "min-cut": word("AOTAutograd, cut by torch"),
        "own cut": word("AOTAutograd, cut by our partitioner"),
        "budget 0": word("AOTAutograd, only inputs kept"),
        "forgetful": word("by hand, without the term through the scale"),
    }
    heads = (Column(word("Computed by")), Column(word("Difference"), numeric=True))
    rows: list[tuple[Cell, ...]] = [
        (names[way], Number(value, magnitude(value)), _verdict(value))
        for way, value in differences.items()
    ]
    return Table(
        name="gradients",
        caption=word("Largest difference of a gradient of rms_norm from eager autograd, float64."),
        columns=(*heads, Column(word("Verdict"))),
        rows=tuple(rows),
    )


ROUNDING = 1e-13
"""float64 keeps 16 digits, and no gradient here is a sum of more than 12 numbers of size 1 or so"""


def transform_table(transformed: Sequence[Transformed]) -> Table:
    """Show the transforms of torch.func under torch.compile."""
    table = TableBuilder(
        "transforms", word("Transforms of torch.func on rms_norm, inside a compiled function.")
    )
    table.code(word("Transform"), [item.name for item in transformed])
    table.counts(word("Graphs"), [item.num_graphs for item in transformed])
    table.counts(word("ATen operators"), [item.num_ops for item in transformed])
    table.texts(
        word("Difference from eager"), [plain(magnitude(item.difference)) for item in transformed]
    )
    return table.build()


def trial_table(trials: Sequence[Trial]) -> Table:
    """Show what eager mode allows beside what a compiled function does."""
    names: dict[str, Text] = {
        "twice": word("backward twice, with retain_graph=True"),
        "strides": word("a tangent whose memory runs columns first"),
        "hook": word("a hook on an intermediate inside the function"),
        "changed": word("the input changed in place before backward"),
        "second": word("a derivative of the derivative"),
    }
    table = TableBuilder("trials", word("The same thing tried in eager mode and compiled."))
    table.texts(word("Tried"), [names[trial.name] for trial in trials])
    table.texts(word("Eager"), [_outcome(trial.eager, None) for trial in trials])
    table.texts(word("Compiled"), [_outcome(t.compiled, t.difference) for t in trials])
    return table.build()


def bend_table(gradients: Mapping[str, Sequence[float]]) -> Table:
    """Put a row of a gradient beside what it should be.

    Args:
        gradients: "eager", "compiled", "rest" and "inside" -> numbers of one row.
    """
    names: dict[str, Text] = {
        "eager": word("eager"),
        "compiled": word("compiled"),
        "rest": plain("3x²"),
        "inside": word("compiled, the slope taken inside"),
    }
    table = TableBuilder("bend", word("First row of the gradient of a penalty on the slope."))
    table.texts(word("Computed by"), [names[name] for name in gradients])
    for column, numbers in enumerate(zip(*gradients.values(), strict=True)):
        table.numbers(plain(f"x[0, {column}]"), list(numbers))
    return table.build()


def _outcome(error: str, difference: float | None) -> Text:
    if error:
        return word("error: {message}", message=error.split(": ", maxsplit=1)[0])
    if difference is None:
        return word("a gradient")
    return word("a gradient, {difference} from eager's", difference=magnitude(difference))


def _verdict(difference: float) -> Word:
    # `not <=` also catches NaN, which compares false with everything.
    return word("rounding") if difference <= ROUNDING else word("a bug")


def _reason(saved: Saved, value: Value) -> Text:
    if value.pinned == "an input":
        return word("a parameter") if saved.kind == "parameter" else word("an input")
    reasons: dict[str, Text] = {
        "": word("it could be, but saving it costs least"),
        "expensive": word("not on the list of cheap operators"),
        "has to be in memory": word("a matrix product of the backward pass reads it from memory"),
        "a reduction": word("a reduction: small to keep, and long to compute"),
    }
    return reasons[value.pinned]
