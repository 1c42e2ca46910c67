"""Counting launches. Oracle: a trace written by hand; on a CPU nothing is launched."""

import torch

from fuseshard.compiler.modes.traces import count_events, device_trace


def span(name: str, category: str, duration: float = 1.0) -> dict[str, object]:
    return {"ph": "X", "name": name, "cat": category, "dur": duration}


EVENTS = [
    span("cudaLaunchKernel", "cuda_runtime"),
    span("cuLaunchKernelEx", "cuda_driver"),
    span("cudaGraphLaunch", "cuda_runtime"),
    span("cudaStreamSynchronize", "cuda_runtime"),
    span("void at::native::vectorized_elementwise_kernel<...>", "kernel", 2.5),
    span("triton_poi_fused_add_0", "kernel", 3.0),
    span("triton_tem_fused_addmm_1", "kernel", 4.5),
    span("Memcpy DtoD", "gpu_memcpy", 9.0),
    span("aten::add", "cpu_op", 7.0),
    {"ph": "M", "name": "process_name"},
]


def test_kernels_launches_and_graphs_are_told_apart() -> None:
    trace = count_events(EVENTS)
    assert (trace.kernels, trace.library, trace.templates, trace.copies) == (3, 1, 1, 1)
    assert (trace.launches, trace.graph_launches) == (2, 1)
    assert trace.busy_s == 10.0e-6  # microseconds of the three kernels, without the copy


def test_a_call_on_a_cpu_launches_nothing() -> None:
    trace = device_trace(lambda: torch.ones(3) + 1, "cpu")
    assert (trace.kernels, trace.launches, trace.graph_launches, trace.busy_s) == (0, 0, 0, 0.0)
