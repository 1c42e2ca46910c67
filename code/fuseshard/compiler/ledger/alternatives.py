"""The same model through other tools: TorchScript, AOTInductor, ONNX Runtime.

Each is made into a function from tensor to tensor, so that all can be timed alike. They run on
the CPU with the number of threads that is asked for here.
"""

import functools
import logging
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

# Private module, checked on torch 2.11 and 2.13: AOTInductor has no public name.
import torch._inductor
from torch import nn

from fuseshard.compiler.graphs import graphs_captured
from fuseshard.compiler.isolate import isolated

Function = Callable[[torch.Tensor], torch.Tensor]

_CHATTY_LOGGER = "torch.onnx"


def torchscript(model: nn.Module) -> Function:
    """Compile a model with TorchScript, which warns that it is deprecated; not here.

    Args:
        model: in evaluation mode.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.script.* is deprecated")
        scripted: Function = torch.jit.script(model)
    return scripted


def compiled(model: nn.Module, x: torch.Tensor) -> Function:
    """Compile a model with torch.compile, and make its first call.

    Args:
        model: in evaluation mode.
        x: its argument, whose shape is compiled in.

    Raises:
        ValueError: no graph was captured.
    """
    made: Function = torch.compile(isolated(model), dynamic=False)
    if not graphs_captured(lambda: made(x)):
        raise ValueError("compiled: captured 0 graphs, must capture at least 1; pass a model.")
    return made


def aot_inductor(model: nn.Module, x: torch.Tensor) -> Function:
    """Export a model and compile it ahead of time: no Dynamo and no guards at run time.

    Args:
        model: in evaluation mode.
        x: its argument, whose shape is compiled in.
    """
    exported = torch.export.export(model, (x,))
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder, _own_warning_silenced():
        package = torch._inductor.aoti_compile_and_package(
            exported, package_path=str(Path(folder) / "model.pt2")
        )
        loaded: Function = torch._inductor.aoti_load_package(package)
    return loaded


def onnx_runtime(model: nn.Module, x: torch.Tensor, *, num_threads: int = 1) -> Function:
    """Export a model to ONNX and open it in ONNX Runtime.

    Args:
        model: in evaluation mode.
        x: its argument, whose shape is fixed in the file.
        num_threads: of ONNX Runtime's own pool.

    Returns:
        A function of a tensor; it passes memory on without copying, both ways.

    Raises:
        ImportError: an ONNX package is missing.
    """
    try:
        import onnxruntime  # noqa: PLC0415  # an extra that the package works without
        import onnxscript  # noqa: F401, PLC0415  # torch's exporter needs it
    except ImportError as error:
        raise ImportError(
            f"onnx_runtime: {error.name} is missing, must be there (torch exports with onnxscript "
            "and ONNX Runtime runs the file); install the extra: pip install 'fuseshard[onnx]'."
        ) from error
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        path = Path(folder) / "model.onnx"
        with _quiet_export():
            program = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
        assert program is not None  # only the old exporter writes a file and returns nothing
        program.save(path)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (argument,) = session.get_inputs()
    return functools.partial(_run_session, session, argument.name)


def scripted_refusal(model: nn.Module) -> str:
    """Hand a scripted model to torch.compile, and return what it says.

    Args:
        model: in evaluation mode.

    Returns:
        The first line of the error; "" if it was accepted.
    """
    try:
        torch.compile(torchscript(model))
    except RuntimeError as error:
        return str(error).splitlines()[0]
    return ""


def _run_session(session: Any, name: str, x: torch.Tensor) -> torch.Tensor:
    (result,) = session.run(None, {name: x.numpy()})
    return torch.from_numpy(result)


@contextmanager
def _quiet_export() -> Iterator[None]:
    """Keep the exporter from naming every torchvision operator that isn't installed here."""
    logger = logging.getLogger(_CHATTY_LOGGER)
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with _own_warning_silenced():
            yield
    finally:
        logger.setLevel(before)


@contextmanager
def _own_warning_silenced() -> Iterator[None]:
    """Silence a FutureWarning of torch about a function of its own. Checked on torch 2.13."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated")
        yield
