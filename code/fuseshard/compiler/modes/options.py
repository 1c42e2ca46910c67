"""What each mode of torch.compile switches, read from torch itself."""

from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: torch's own list of modes, and Inductor's settings.
from torch._inductor import config, list_mode_options

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


def _identity(x: torch.Tensor) -> torch.Tensor:
    return x
