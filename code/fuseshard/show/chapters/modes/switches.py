"""The options that modes switch: in one table, and mode by mode with what they do on a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fuseshard.compiler.modes.records import Effect, Switch, Trial
from fuseshard.show.choices import Choice, choose
from fuseshard.show.records import Table
from fuseshard.show.tables import TableBuilder
from fuseshard.show.words import Word, plain, word

_AS_DEFAULT = "·"


def matrix(switches: Sequence[Switch], modes: Sequence[str]) -> Table:
    """Show every option that some mode sets, with its value in each mode.

    Args:
        switches: from `compiler.modes.options`.
        modes: all modes, torch's order.
    """
    caption = word(
        "The {options} options that some mode of torch.compile sets, and their values.",
        options=len(switches),
    )
    table = TableBuilder("options", caption)
    table.code(word("Option"), [switch.option for switch in switches])
    for mode in modes:
        otherwise = {switch.option: _AS_DEFAULT for switch in switches}
        if mode == "default":  # sets nothing: what holds is what holds without a mode
            otherwise = {switch.option: switch.default for switch in switches}
        cells = [switch.values.get(mode, otherwise[switch.option]) for switch in switches]
        table.code(plain(mode), cells)
    return table.build(notes=[word("A dot: the option is as in default, or without a mode.")])


def chooser(switches: Sequence[Switch], trials: Sequence[Trial], modes: Sequence[str]) -> Choice:
    """Let the reader pick a mode, and show what its options mean and what they do on a CPU.

    Args:
        switches: from `compiler.modes.options`.
        trials: of each option alone, from `compiler.modes.written`.
        modes: all modes; one that sets nothing is left out.
    """
    effects = {(trial.option, trial.value): trial.effect for trial in trials}
    options = [
        (plain(mode), _mode_table(mode, [s for s in switches if mode in s.values], effects))
        for mode in modes
        if any(mode in switch.values for switch in switches)
    ]
    return choose("mode-options", word("Mode"), options)


def effect_word(effect: Effect) -> Word:
    """Say what an option changed in what Inductor wrote."""
    return {
        "none": word("nothing, to the last character"),
        "around the kernels": word("the Python around the kernels"),
        "kernels": word("the kernels"),
        "refused": word("Inductor refuses it alone"),
    }[effect]


def _mode_table(
    mode: str, switches: Sequence[Switch], effects: Mapping[tuple[str, str], Effect]
) -> Table:
    caption = word("What {mode} sets, what it means, and what it changes on this CPU.", mode=mode)
    table = TableBuilder(f"options-of-{mode}", caption)
    table.code(word("Option"), [switch.option for switch in switches])
    table.texts(word("Meaning"), [meaning(switch.option) for switch in switches])
    found = [effects[switch.option, switch.values[mode]] for switch in switches]
    table.texts(word("Alone, on this CPU, it changes"), [effect_word(effect) for effect in found])
    return table.build()


def meaning(option: str) -> Word:
    """Say in words what a mode's option does where it is set as that mode sets it.

    Args:
        option: as torch.compile's `options` takes it.

    Raises:
        ValueError: an option that a release added, and that has no words yet.
    """
    known = _lite_meanings() | _speed_meanings()
    if option not in known:
        raise ValueError(
            f"meaning: {option!r} has no words, must be among {sorted(known)} (a page that shows "
            "it says what it means); read its comment in torch/_inductor/config.py and add it."
        )
    return known[option]


def _lite_meanings() -> dict[str, Word]:
    return {
        "fallback_by_default": word(
            "Call ready-made operators; write a kernel only in regions that you mark."
        ),
        "selective_decompose": word(
            "Break operators down into smaller ones only in regions that you mark."
        ),
        "reorder_for_peak_memory": word(
            "Don't reorder operations so that fewer buffers live at a time."
        ),
        "reorder_for_compute_comm_overlap": word(
            "Don't reorder operations so that communication overlaps with computing."
        ),
        "triton.reorder_for_reducing_graph_partitions": word(
            "Don't reorder operations so that fewer CUDA graphs are needed."
        ),
        "use_pre_grad_passes": word("Don't rewrite Dynamo's graph before autograd."),
        "use_joint_graph_passes": word("Don't rewrite the joint graph of both passes."),
        "use_post_grad_passes": word("Don't rewrite the ATen graph before its loops are made."),
        "use_dce": word("Keep results that nobody uses."),
        "allow_buffer_reuse": word("Don't put a new buffer into the memory of a dead one."),
    }


def _speed_meanings() -> dict[str, Word]:
    return {
        "triton.cudagraphs": word(
            "Capture what a call launches on the GPU in a CUDA graph, and replay it later."
        ),
        "max_autotune": word(
            "Time several ways to compute a matrix product, or tile a kernel; keep the fastest."
        ),
        "coordinate_descent_tuning": word(
            "Then vary one setting of a Triton kernel at a time, as long as it gets faster."
        ),
    }
