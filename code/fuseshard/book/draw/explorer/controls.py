"""What a reader picks with: selections, and rows of buttons for GPUs and stages."""

from __future__ import annotations

from html import escape

from fuseshard.book.draw.explorer.seen import Seen


def program_control(seen: Seen) -> str:
    """Return the selection of the program."""
    options = "".join(
        _option(program["key"], seen.voice.text(program["label"]), program is seen.program)
        for program in seen.record["programs"]
    )
    return _select(seen, "program", seen.voice.say("Program"), options)


def kernel_control(seen: Seen) -> str:
    """Return the selection of the kernel, which shows where the program has several."""
    phases = {kernel["phase"] for kernel in seen.program["kernels"]}
    options = []
    for index, kernel in enumerate(seen.program["kernels"]):
        view = kernel["views"].get(seen.target["key"])
        if view:
            phase = f"{seen.text(seen.record['phases'][kernel['phase']])}: "
            name = escape((phase if len(phases) > 1 else "") + view["name"])
            options.append(_option(str(index), name, view is seen.view))
    label = seen.voice.say("Kernel")
    return _select(seen, "kernel", label, "".join(options), is_hidden=len(options) < 2)


def compare_control(seen: Seen) -> str:
    """Return the selection of a second GPU."""
    options = [_option("", seen.voice.say("no other GPU"), True)]
    for target in seen.record["targets"]:
        if target is not seen.target and target["key"] in seen.kernel["views"]:
            options.append(_option(target["key"], escape(target["short"]), False))
    label = seen.voice.say("Compare with")
    return _select(seen, "compare", label, "".join(options), is_hidden=len(options) < 2)


def target_controls(seen: Seen) -> str:
    """Return the row of GPUs."""
    items = "".join(
        _chip(seen, "target", target["key"], escape(target["short"]), _state(target is seen.target))
        for target in seen.record["targets"]
    )
    return _row(seen, "GPU", f'<div class="fs-chips">{items}</div>')


def stage_controls(seen: Seen) -> str:
    """Return the row of stages, in the order in which code passes them."""
    every = max(seen.record["stages"].values(), key=len)
    own = {stage["key"]: stage for stage in seen.stages}
    items = ""
    for stage in every:
        key = stage["key"]
        label = seen.voice.html(own.get(key, stage)["label"])
        state = _state(key == seen.stage["key"]) if key in own else " disabled"
        items += _chip(seen, "stage", key, label, state)
    return _row(seen, "Stage", f'<div class="fs-chips fs-chain">{items}</div>')


def _select(seen: Seen, what: str, label: str, options: str, *, is_hidden: bool = False) -> str:
    name = f"{seen.id}-{what}"
    hidden = " hidden" if is_hidden else ""
    return (
        f'<div class="fs-control"{hidden}><label for="{name}">{label}</label>'
        f'<select id="{name}" data-pick="{what}" autocomplete="off">{options}</select></div>'
    )


def _option(value: str, label: str, is_picked: bool) -> str:
    return f'<option value="{value}"{" selected" if is_picked else ""}>{label}</option>'


def _state(is_picked: bool) -> str:
    return " checked" if is_picked else ""


def _row(seen: Seen, legend: str, content: str) -> str:
    return f"<fieldset><legend>{seen.voice.say(legend)}</legend>{content}</fieldset>"


def _chip(seen: Seen, what: str, value: str, *texts: str) -> str:
    """Return a radio button that looks like a button; `texts` are its label and its state."""
    label, state = texts
    return (
        f'<label class="fs-chip"><input type="radio" name="{seen.id}-{what}" value="{value}" '
        f'data-pick="{what}" autocomplete="off"{state}><span>{label}</span></label>'
    )
