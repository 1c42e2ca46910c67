"""The workers of this process: one that writes for each vendor's GPUs, and one that interprets."""

import functools
from importlib.util import find_spec

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_code.disassembly import MissingToolError
from fuseshard.compiler.gpu_code.worker.parent import Work, Worker


def writer(target: Target) -> Worker:
    """Find the worker that writes code for a GPU, and compiles it.

    Raises:
        MissingToolError: Triton isn't installed.
    """
    _require_triton()
    return _writer(target.hip)


def interpreter() -> Worker:
    """Find the worker that runs GPU code on this CPU.

    Raises:
        MissingToolError: Triton isn't installed.
    """
    _require_triton()
    return _interpreter()


@functools.cache
def _writer(hip: str | None) -> Worker:
    # Inductor looks at ROCm's version while it is imported: the number of registers that it lets
    # a kernel spill, for one, differs between the vendors.
    prelude = f"import torch; torch.version.hip = {hip!r}"
    return Worker(Work(tasks=f"{__package__}.write_tasks", prelude=prelude))


@functools.cache
def _interpreter() -> Worker:
    # Triton decides where a kernel is decorated, so before anything is imported.
    variables = {"TRITON_INTERPRET": "1"}
    return Worker(Work(tasks=f"{__package__}.interpret_tasks", variables=variables))


def _require_triton() -> None:
    if find_spec("triton") is None:
        raise MissingToolError(
            "gpu: Triton isn't installed, must be there to write or interpret GPU code (Inductor's "
            "kernels are Triton's); run pip install triton on Linux, or read the recorded results."
        )
