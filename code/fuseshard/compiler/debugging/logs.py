"""torch's logs and structured traces, heard in a process of their own and cut into entries.

`TORCH_LOGS` and `TORCH_TRACE` are read when torch is imported, so each program gets a process.
"""

import json
import re

from fuseshard.compiler.child import run_script
from fuseshard.compiler.debugging.records import LogEntry, TraceEvent

# Level and date, time, process, file and line; then frame, and the artifact in double underscores.
_PREFIX = re.compile(
    r"^[VIWEC]\d{4} [\d:.]+ \d+ \S+?:\d+\] (?:\[(?P<frame>\d+/\d+)[^\]]*\] )?"
    r"(?:\[__(?P<artifact>\w+)\] ?)?(?P<text>.*)$"
)
_HEARING = """
import os, sys
os.environ.update({settings!r})
sys.stderr = sys.stdout
{program}
"""
_TRACING = """
import glob, os
for path in glob.glob("trace/*.log"):
    with open(path) as file:
        print(file.read().rstrip())
"""
# Keys of an event that say where it belongs, not what it is.
_PLACES = {
    "frame_id",
    "frame_compile_id",
    "attempt",
    "has_payload",
    "rank",
    "compiled_autograd_id",
    "process",
    "thread",
    "payload_filename",
}


def log_entries(program: str, names: str) -> tuple[LogEntry, ...]:
    """Run a program with TORCH_LOGS set and return what it logged.

    Args:
        program: Python source.
        names: value of TORCH_LOGS, e.g. "graph_breaks,recompiles".

    Returns:
        One entry a run of lines with one place and artifact, in order.

    Raises:
        RuntimeError: the program failed.
    """
    lines: list[tuple[str, str, str]] = []
    for line in _output(program, {"TORCH_LOGS": names}).splitlines():
        found = _PREFIX.match(line)
        if found and found["artifact"]:
            lines.append((found["artifact"], found["frame"] or "", found["text"]))
    entries: list[list[str]] = []
    keys: list[tuple[str, str]] = []
    for artifact, frame, text in lines:
        if not keys or keys[-1] != (artifact, frame):
            keys.append((artifact, frame))
            entries.append([])
        entries[-1].append(text)
    return tuple(
        LogEntry(artifact=artifact, frame=frame, text="\n".join(text).strip("\n"))
        for (artifact, frame), text in zip(keys, entries, strict=True)
    )


def trace_events(program: str) -> tuple[TraceEvent, ...]:
    """Run a program with TORCH_TRACE set and return the events of its structured trace.

    The trace is a text: each event is a line with JSON at its end, and its payload, if it has
    one, follows on lines that start with a tab. tlparse makes web pages of it; this reads it.

    Args:
        program: Python source.

    Returns:
        The events, in order.

    Raises:
        RuntimeError: the program failed.

    Source:
        torch._logging.trace_structured. Checked on torch 2.13.
    """
    events: list[TraceEvent] = []
    payload = 0
    pending: tuple[str, str] | None = None
    for line in _output(program + _TRACING, {"TORCH_TRACE": "trace"}).splitlines():
        if line.startswith("\t") or not line:  # an empty line of a payload has lost its tab
            payload += 1
            continue
        if pending is not None:
            events.append(TraceEvent(name=pending[0], frame=pending[1], payload_lines=payload))
        pending, payload = _event(line), 0
    if pending is not None:
        events.append(TraceEvent(name=pending[0], frame=pending[1], payload_lines=payload))
    return tuple(events)


def _output(program: str, settings: dict[str, str]) -> str:
    """Run a program in a process of its own and return all that it printed."""
    script = _HEARING.format(settings=settings, program=program)
    result = run_script(script)
    if result.exit_code:
        raise RuntimeError(
            f"logs: the program ended with status {result.exit_code} ({result.error}), must end "
            "with 0, or its log is cut short; run it by itself first."
        )
    return result.output


def _event(line: str) -> tuple[str, str] | None:
    """Read the name and the frame of an event; None for a line that is none."""
    begin = line.find("{")
    if begin < 0 or not re.match(r"^[VIWEC]\d{4} ", line):
        return None
    data = json.loads(line[begin:])
    names = [key for key in data if key not in _PLACES]
    frame = ""
    if data.get("frame_id") is not None:
        frame = f"{data['frame_id']}/{data['frame_compile_id']}"
    name = names[0] if names else ""
    if name == "artifact":  # a box with a name of its own
        name = data["artifact"]["name"]
    return (name, frame)
