"""What each mode of torch.compile switches, read from torch itself."""

from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: torch's own list of modes, and Inductor's settings.
from torch._inductor import config, list_mode_options

from fuseshard.compiler.child import run_script
from fuseshard.compiler.modes.records import Switch


def modes() -> tuple[str, ...]:
    """Return the names of all modes that this torch knows."""
    return tuple(list_mode_options())


def switches() -> tuple[Switch, ...]:
    """Return each option that some mode sets, with its value without a mode and in each mode.

    Returns:
        In the order in which torch lists modes and options.
    """
    by_mode = list_mode_options()
    defaults = config.get_config_copy()
    names = dict.fromkeys(option for options in by_mode.values() for option in options)
    return tuple(
        Switch(
            option=name,
            default=repr(defaults[name]),
            values={
                mode: repr(options[name]) for mode, options in by_mode.items() if name in options
            },
        )
        for name in names
    )


def refusal(**settings: Any) -> str:
    """Ask torch.compile for something that it refuses, and return what it says.

    Args:
        settings: keywords of torch.compile.

    Returns:
        Type and text of the error.

    Raises:
        ValueError: nothing was refused.
    """
    try:
        torch.compile(_identity, **settings)
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"
    raise ValueError(
        f"refusal: torch.compile took {settings}, must refuse it (the page quotes the error); "
        "pass settings that don't go together."
    )


def unheeded() -> str:
    """Ask a small GPU for max-autotune, and another backend for a mode, in a process of its own.

    The GPU is a stand-in with 67 multiprocessors, and then 68, which torch's own code judges.

    Returns:
        What torch logs, and what the process prints between.
    """
    return run_script(_UNHEEDED).output


_UNHEEDED = """
import os, sys
sys.stderr = sys.stdout
os.environ["TORCH_LOGS_FORMAT"] = "%(levelname)s: %(message)s"
import torch
from torch._inductor import utils  # private, checked on torch 2.13

class StandIn:
    multi_processor_count = 67

utils.DeviceProperties.create = staticmethod(lambda device: StandIn)
print("67 multiprocessors, big enough:", utils.is_big_gpu(torch.device("cuda", 0)))
StandIn.multi_processor_count = 68
print("68 multiprocessors, big enough:", utils.is_big_gpu(torch.device("cuda", 1)))
compiled = torch.compile(lambda x: x + 1, mode="max-autotune", backend="eager")
print("result:", compiled(torch.ones(2)).tolist())
"""


def _identity(x: torch.Tensor) -> torch.Tensor:
    return x
