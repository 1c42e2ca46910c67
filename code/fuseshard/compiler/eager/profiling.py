"""torch.profiler, reduced to what operators ran, when, and inside which others."""

from collections.abc import Callable

from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile

from fuseshard.compiler.dispatch import trace
from fuseshard.compiler.eager.records import OpSpan, Part, Profile
from fuseshard.compiler.records import DispatchTrace
from fuseshard.compiler.stderr import native_lines_dropped

PROFILER = "SyncActivityProfilerHandler.cpp"
"""writes two lines to stderr at every start and stop (torch 2.13)"""


def profiled(fn: Callable[[], object], *, warmups: int = 3, repeats: int = 15) -> Profile:
    """Profile several calls of a function and keep the fastest, which nothing interrupted.

    The profiler writes down a time stamp at both ends of every operator, so a profiled call
    takes longer than a plain one, the more so the smaller its operators are.

    Args:
        fn: what to run; calls at least one operator.
        warmups: calls that are not profiled.
        repeats: calls that are.

    Returns:
        The call with the shortest time from the first operator to the last.

    Source:
        torch.profiler. Checked on torch 2.11 and 2.13.
    """
    for _ in range(warmups):
        fn()
    return min((_one(fn) for _ in range(repeats)), key=lambda found: found.whole_s)


def _one(fn: Callable[[], object]) -> Profile:
    with native_lines_dropped(PROFILER), profile(activities=[ProfilerActivity.CPU]) as found:
        fn()
    events = sorted(found.events(), key=lambda event: event.time_range.start)
    operators = [event for event in events if event.name.startswith("aten::")]
    begin_us = operators[0].time_range.start
    spans = [
        OpSpan(
            op=event.name,
            depth=_depth(event),
            start_s=(event.time_range.start - begin_us) * 1e-6,
            end_s=(event.time_range.end - begin_us) * 1e-6,
            self_s=event.self_cpu_time_total * 1e-6,
        )
        for event in operators
    ]
    return Profile(spans=tuple(spans))


def _depth(event: FunctionEvent) -> int:
    """Count the operators around an event."""
    depth, outer = 0, event.cpu_parent
    while outer is not None:
        depth += outer.name.startswith("aten::")
        outer = outer.cpu_parent
    return depth


def step_parts(
    forward: Callable[[], object], step: Callable[[], object], update: Callable[[], object]
) -> tuple[Part, ...]:
    """Count the dispatcher calls of a training step by part.

    Args:
        forward: computes the loss, recorded for a backward pass.
        step: the same and its backward pass.
        update: the optimizer's step, once gradients are there.

    Returns:
        forward, backward (what `step` makes beyond `forward`) and optimizer.
    """
    loss, both, optimizer = trace(forward), trace(step), trace(update)
    ahead, behind = _part("forward", loss), _part("both", both)
    backward = Part(
        name="backward",
        from_python=behind.from_python - ahead.from_python,
        calls=behind.calls - ahead.calls,
        kernels=behind.kernels - ahead.kernels,
        allocated_bytes=behind.allocated_bytes - ahead.allocated_bytes,
    )
    return ahead, backward, _part("optimizer", optimizer)


def _part(name: str, traced: DispatchTrace) -> Part:
    return Part(
        name=name,
        from_python=sum(call.depth == 0 for call in traced.calls),
        calls=len(traced.calls),
        kernels=len(traced.kernels),
        allocated_bytes=traced.allocated_bytes,
    )
