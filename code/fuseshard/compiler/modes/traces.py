"""What one call launches, read from torch's profiler."""

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from fuseshard.compiler.modes.records import DeviceTrace

_KERNEL, _COPIES = "kernel", ("gpu_memcpy", "gpu_memset")
_HOST = ("cuda_runtime", "cuda_driver")
_WRITTEN, _TEMPLATE = "triton_", "triton_tem_"


def device_trace(call: Callable[[], object], device: str) -> DeviceTrace:
    """Run something under the profiler and count what reached the device.

    Args:
        call: what to run; a steady call, everything compiled and captured.
        device: "cuda"; "cpu" launches nothing, and its trace has zeros.

    Returns:
        The counts; kernels replayed by a CUDA graph count as well.
    """
    activities = [ProfilerActivity.CPU]
    if device == "cuda":
        activities.append(ProfilerActivity.CUDA)
        torch.cuda.synchronize()
    with profile(activities=activities) as profiled:
        call()
        if device == "cuda":
            torch.cuda.synchronize()
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        path = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    return count_events(events)


def count_events(events: Iterable[dict[str, Any]]) -> DeviceTrace:
    """Count launches and kernels in a profiler's trace.

    Args:
        events: `traceEvents` of an exported trace; times in microseconds.

    Returns:
        The counts.
    """
    spans = [event for event in events if event.get("ph") == "X"]
    kernels = [span for span in spans if span.get("cat") == _KERNEL]
    calls = [str(span["name"]) for span in spans if span.get("cat") in _HOST]
    names = [str(kernel["name"]) for kernel in kernels]
    return DeviceTrace(
        kernels=len(kernels),
        library=sum(not name.startswith(_WRITTEN) for name in names),
        templates=sum(name.startswith(_TEMPLATE) for name in names),
        copies=sum(span.get("cat") in _COPIES for span in spans),
        # cudaLaunchKernel, cudaLaunchKernelExC, cuLaunchKernel, cuLaunchKernelEx
        launches=sum("LaunchKernel" in name for name in calls),
        graph_launches=sum("GraphLaunch" in name for name in calls),
        busy_s=sum(float(kernel["dur"]) for kernel in kernels) / 1e6,
    )
