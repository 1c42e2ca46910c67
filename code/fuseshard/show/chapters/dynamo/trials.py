"""What becomes of a change: compiled again, reused, or wrong."""

from __future__ import annotations

from collections.abc import Sequence

from fuseshard.compiler.dynamo.records import Call, Passes, Trial
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Table
from fuseshard.show.tables import MISSING, TableBuilder
from fuseshard.show.words import Text, Word, plain, word


def trial_table(trials: Sequence[Trial]) -> Table:
    """Show for each change what Dynamo did at the second call and at the third.

    Args:
        trials: from `compiler.dynamo.trials.trial`, of the experiments that have a name here.
    """
    names = _names()
    table = TableBuilder("trials", word("One thing changes between calls of a compiled function."))
    table.texts(word("What changes"), [names[trial.name] for trial in trials])
    table.code(word("Function"), [trial.code for trial in trials])
    table.texts(word("2nd call"), [_outcome(trial.calls[1]) for trial in trials])
    table.texts(word("3rd call"), [_outcome(trial.calls[2]) for trial in trials])
    table.code(word("In the newest graph"), [_in_graph(trial) for trial in trials])
    return table.build(
        notes=[
            word(
                "In a graph a digit is a constant; item, l_k_ and s77 are symbols, and "
                "l_module_parameters_w_ is a tensor that the graph is given."
            ),
            word("wrong: the result differs from eager mode's."),
        ]
    )


def trial_choice(trials: Sequence[Trial]) -> Choice:
    """Let the reader pick a change and see its three calls, with the guard that failed."""
    names = _names()
    return choose(
        "trial",
        word("What changes"),
        [(names[trial.name], _calls_table(trial)) for trial in trials],
        start=[trial.name for trial in trials].index("float-argument"),
    )


def passes_table(passes: Sequence[Passes]) -> Table:
    """Show how often Dynamo went over one line, call by call."""
    names = {
        "whole": word("one graph"),
        "broken": word("with a graph break after the line"),
    }
    table = TableBuilder("passes", word("How often Dynamo went over one line of a function."))
    table.texts(word("Function"), [names[each.name] for each in passes])
    table.counts(word("First call"), [each.first for each in passes])
    table.counts(word("Same call again"), [each.again for each in passes])
    table.counts(word("With another shape"), [each.reshaped for each in passes])
    table.code(word("Tensor met there"), [", ".join(each.kinds) for each in passes])
    table.code(word("Its shapes"), [", ".join(each.shapes) for each in passes])
    return table.build()


def versions_table(
    gains: Sequence[float], by_hand: Sequence[int], by_dynamo: Sequence[int]
) -> Table:
    """Show for each call of the chapter's function whether a version was compiled for it.

    Args:
        gains: argument of each call, in order.
        by_hand: versions that our compiler made at each call, 0 or 1.
        by_dynamo: graphs that Dynamo captured at each call, 0 or 1.
    """
    table = TableBuilder("versions", word("Five calls of blend, in this order."))
    table.code(word("Call"), [f"blend(x, y, {gain})" for gain in gains])
    for title, made in ((word("Our compiler"), by_hand), (plain("torch.compile"), by_dynamo)):
        table.texts(title, [word("new version") if n else word("reused") for n in made])
    return table.build()


def equality_table(largest: dict[str, float]) -> Table:
    """Judge results by their largest difference from eager mode; nothing but 0 is right.

    Args:
        largest: "ours", "compiled", "no-guard" or "no-relu" -> largest absolute difference.
    """
    names: dict[str, Text] = {
        "ours": word("our compiler"),
        "compiled": plain("torch.compile"),
        "no-guard": word("ours without the guard on offset"),
        "no-relu": word("our kernel without its relu"),
    }
    table = TableBuilder("equality", word("Largest difference from eager mode."))
    table.texts(word("Computed by"), [names[name] for name in largest])
    table.numbers(word("Difference"), list(largest.values()))
    verdicts = [
        word("equal, bit for bit") if value == 0 else word("wrong") for value in largest.values()
    ]
    table.texts(word("Verdict"), verdicts)
    return table.build()


def _names() -> dict[str, Word]:
    return {
        "tensor-data": word("data of a tensor"),
        "tensor-shape": word("size of a tensor"),
        "tensor-dtype": word("dtype of a tensor"),
        "tensor-gradient": word("whether a tensor needs a gradient"),
        "float-argument": word("float argument"),
        "int-argument": word("int argument"),
        "string-argument": word("string argument"),
        "list-length": word("length of a list"),
        "unused-argument": word("argument that isn't used"),
        "float-global": word("float in a global"),
        "int-global": word("int in a global"),
        "int-closure": word("int in the closure"),
        "int-attribute": word("int attribute of a module"),
        "parameter": word("parameter, replaced"),
        "sign-of-zero": word("sign of a zero"),
        "forward-hook": word("forward hook, registered late"),
    }


def _calls_table(trial: Trial) -> Table:
    caption = word(
        "{what}, in a function that computes {code}.", what=_names()[trial.name], code=trial.code
    )
    table = TableBuilder(f"trial-{trial.name}", caption)
    table.code(word("Call with"), [call.state for call in trial.calls])
    table.texts(word("What Dynamo did"), [_outcome(call) for call in trial.calls])
    table.code(word("Because this failed"), [call.failed or str(MISSING) for call in trial.calls])
    table.code(word("Graph"), [call.graph or str(MISSING) for call in trial.calls])
    return table.build()


def _outcome(call: Call) -> Word:
    if not call.is_right:
        return word("reused, wrong") if call.outcome == "reused" else word("new version, wrong")
    return word("reused") if call.outcome == "reused" else word("new version")


def _in_graph(trial: Trial) -> str:
    """Cut out of the newest graph what became of the changed thing: a type, or a factor."""
    newest = next(call.graph for call in reversed(trial.calls) if call.graph)
    if trial.name.startswith("tensor-"):
        return newest.split('"')[1]
    return newest.rpartition(" * ")[2]
