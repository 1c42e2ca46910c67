"""What a call really asks the CPU's allocator for, and programs under each setting."""

import functools
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile

from fuseshard.compiler.eager.profiling import PROFILER
from fuseshard.compiler.inductor import load
from fuseshard.compiler.planning.by_hand import live_bytes, pack, take_over
from fuseshard.compiler.planning.plans import lifetimes, planned, pool_bytes, torch_take_overs
from fuseshard.compiler.planning.programs import Program
from fuseshard.compiler.planning.records import MemoryUse, Outcome, PlanCheck, ProgramUse
from fuseshard.compiler.planning.timeline import timeline
from fuseshard.compiler.planning.written import module_text
from fuseshard.compiler.stderr import native_lines_dropped

SETTINGS: dict[str, dict[str, Any]] = {
    "nothing": {"allow_buffer_reuse": False, "inplace_buffers": False},
    "in place": {"allow_buffer_reuse": False},
    "hand on": {"inplace_buffers": False},
    "default": {},
    "pool": {"memory_planning": True},
}
"""name -> what is set in torch._inductor.config; by default both kinds of reuse are on"""


SMALLEST_BYTES = 64
"""what counts as an allocation: below are the numbers that eager mode wraps as tensors"""


def memory_use(fn: Callable[[], object]) -> MemoryUse:
    """Run a function, and count what it asks the CPU's allocator for.

    The allocator itself reports to the profiler, so buffers count that no operator made. The
    function is called twice, first unwatched; its result is let go inside the watch.

    Args:
        fn: what to run.

    Source:
        torch.profiler, profile_memory. Checked on torch 2.11 and 2.13.
    """
    fn()
    with (
        native_lines_dropped(PROFILER),
        profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found,
    ):
        fn()
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        path = Path(folder) / "trace.json"
        found.export_chrome_trace(str(path))
        events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    events = sorted((e for e in events if e["name"] == "[memory]"), key=lambda e: float(e["ts"]))
    sizes = [int(event["args"]["Bytes"]) for event in events]
    sizes = [size for size in sizes if abs(size) >= SMALLEST_BYTES]
    live, peak = 0, 0
    for size in sizes:
        live += size
        peak = max(peak, live)
    asked = [size for size in sizes if size > 0]
    return MemoryUse(allocations=len(asked), allocated_bytes=sum(asked), peak_bytes=peak)


def module_use(source: str, program: Program) -> MemoryUse:
    """Load a module, run it on a program's arguments and count what it asks for.

    Args:
        source: from `module_text`, edited or not; its kernels are compiled here.
        program: the one that it was written for.
    """
    call = load(source)
    return memory_use(functools.partial(_call, call, program))


def setting_uses(program: Program, texts: Mapping[str, str]) -> dict[str, MemoryUse]:
    """Run a program eagerly and as each of its modules, and count what each asks for.

    Args:
        program: that all the modules were written for.
        texts: setting -> module.

    Returns:
        "eager", then the settings.
    """
    modules = {setting: module_use(text, program) for setting, text in texts.items()}
    return {"eager": memory_use(program), **modules}


def outcomes(
    source: str, program: Program, tried: Mapping[str, Mapping[str, str]]
) -> tuple[Outcome, ...]:
    """Put plans into a module's text, run it, and compare with the module as it was.

    Args:
        source: a module that reuses nothing.
        program: the one that it was written for.
        tried: name of a plan -> new buffer -> buffer whose memory it takes over.
    """
    expected = result_of(source, program)
    results = {name: result_of(planned(source, taken), program) for name, taken in tried.items()}
    return tuple(
        Outcome(
            plan=name,
            handed_on=len(tried[name]),
            difference=float((result - expected).abs().max()),
        )
        for name, result in results.items()
    )


def result_of(source: str, program: Program) -> Any:
    """Load a module and return what it computes from a program's arguments."""
    return _call(load(source), program)[0]


def text_of(program: Program, setting: str) -> str:
    """Have a program written under one of `SETTINGS`.

    Raises:
        ValueError: another setting.
    """
    if setting not in SETTINGS:
        raise ValueError(f"text_of: setting is {setting!r}, must be one of {sorted(SETTINGS)}.")
    return module_text(program.fn, *program.args, **SETTINGS[setting])


def program_uses(programs: Mapping[str, Program]) -> tuple[ProgramUse, ...]:
    """Work out for each program what fusion saves by itself, and what planning adds."""
    return tuple(
        ProgramUse(
            name=name,
            eager=memory_use(program),
            fused=timeline(text_of(program, "nothing")).use,
            handed=timeline(text_of(program, "hand on")).use,
            default=timeline(text_of(program, "default")).use,
            pooled=timeline(text_of(program, "pool")).use,
        )
        for name, program in programs.items()
    )


def plan_checks(programs: Mapping[str, Program]) -> tuple[PlanCheck, ...]:
    """Plan each program by hand, and put torch's decisions beside it.

    In-place kernels are off on both sides: whether a kernel may write over its input is decided
    before the planner runs.
    """
    return tuple(_check(name, program) for name, program in programs.items())


def _check(name: str, program: Program) -> PlanCheck:
    buffers = lifetimes(text_of(program, "nothing"))
    pooled = module_text(program.fn, *program.args, inplace_buffers=False, memory_planning=True)
    return PlanCheck(
        name=name,
        buffers=len(buffers),
        by_hand=take_over(buffers),
        by_torch=torch_take_overs(text_of(program, "hand on")),
        packed_bytes=pack(buffers).total_bytes,
        pooled_bytes=sum(pool_bytes(pooled).values()),
        bound_bytes=max(live_bytes(buffers), default=0),
    )


def _call(call: Callable[[list[Any]], tuple[Any, ...]], program: Program) -> tuple[Any, ...]:
    return call(list(program.args))
