"""What Inductor writes under a mode or with single options, and what changes against no mode."""

import contextlib
import functools
import io
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: Dynamo's statistics, the cache of AOTAutograd, and the
# settings of Inductor. `InductorError` is what a failing compile raises.
from torch._dynamo.utils import counters
from torch._functorch import config as autograd_config
from torch._inductor import config, list_mode_options
from torch._inductor.exc import InductorError

from fuseshard.compiler.inductor import extern_calls, kernels, wrapper
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.modes.programs import Program
from fuseshard.compiler.modes.records import Candidate, Effect, Trial, Written
from fuseshard.compiler.stages import source_kept

_COUNTER_LINE = re.compile(r"^# AOT ID:.*\n", re.MULTILINE)
_CANDIDATE = re.compile(r"^ +(\w+) ([\d.]+) ms", re.MULTILINE)
_OPERATOR_CALL = re.compile(r"= torch\.ops\.\w+\.\w+")


def write(
    program: Program, *, mode: str | None = None, options: dict[str, Any] | None = None
) -> tuple[Written, Callable[[], torch.Tensor]]:
    """Compile a program, and keep what Inductor wrote.

    The text is always written anew. Kernels that were compiled before are taken from Inductor's
    cache on disk, so that equal text costs no second run of the C++ compiler.

    Args:
        program: needs no gradient; a copy of its function is compiled, for static shapes.
        mode: of torch.compile; None together with `options`.
        options: of torch.compile.

    Returns:
        The module, and the compiled program, called once.
    """
    compiled = torch.compile(isolated(program.fn), dynamic=False, mode=mode, options=options)
    call = functools.partial(compiled, program.x)
    source: list[str] = []
    skips_before = counters["inductor"]["cudagraph_skips"]
    with (
        config.patch(fx_graph_cache=False),
        autograd_config.patch(enable_autograd_cache=False),
        source_kept(source),
    ):
        call()
    (module,) = source
    written = Written(
        source=_COUNTER_LINE.sub("", module),
        kernels=tuple(kernel.code for kernel in kernels(module)),
        library_calls=len(extern_calls(module)) + len(_OPERATOR_CALL.findall(wrapper(module))),
        skips=int(counters["inductor"]["cudagraph_skips"] - skips_before),
    )
    return written, call


def effect(changed: Written, default: Written) -> Effect:
    """Say what is different between two modules for the same function.

    Args:
        changed: written under some mode or option.
        default: written without.

    Returns:
        "none", the texts are equal to the last character; "around the kernels", only the kernels'
        are; or "kernels".
    """
    if changed.source == default.source:
        return "none"
    return "around the kernels" if changed.kernels == default.kernels else "kernels"


def autotune(program: Program, *, freezing: bool = False) -> tuple[Written, tuple[Candidate, ...]]:
    """Compile under max-autotune, and keep what Inductor timed.

    Inductor reports on stderr, which is read here and goes no further.

    Args:
        program: with one matrix product.
        freezing: take parameters as constants; the program has to be a module.

    Returns:
        The module that was written, and the candidates, fastest first; none without a search.
    """
    report = io.StringIO()
    with (
        torch.set_grad_enabled(not freezing),  # constants are made only without gradients
        warnings.catch_warnings(),
        contextlib.redirect_stderr(report),
        config.patch(freezing=freezing, autotune_local_cache=False),
    ):
        warnings.simplefilter("ignore")  # timing a template touches a deprecated class of torch
        written, _ = write(program, mode="max-autotune-no-cudagraphs")
    found = _CANDIDATE.findall(report.getvalue())
    timed = (Candidate(name=name, seconds=float(millis) / 1e3) for name, millis in found)
    return written, tuple(sorted(timed, key=lambda candidate: candidate.seconds))


def try_options(programs: Mapping[str, Program]) -> tuple[Trial, ...]:
    """Switch each option of each mode alone, and look at what Inductor writes for the CPU.

    Args:
        programs: by name.

    Returns:
        One trial an option and value, in torch's order.
    """
    defaults = {name: write(program)[0] for name, program in programs.items()}
    pairs = {
        (option, value): None
        for options in list_mode_options().values()
        for option, value in options.items()
    }
    return tuple(_trial(option, value, programs, defaults) for option, value in pairs)


def _trial(
    option: str, value: object, programs: Mapping[str, Program], defaults: Mapping[str, Written]
) -> Trial:
    effects: dict[str, Effect] = {}
    errors = []
    for name, program in programs.items():
        try:
            changed, _ = write(program, options={option: value})
            effects[name] = effect(changed, defaults[name])
        except InductorError as error:
            effects[name] = "refused"
            errors.append(str(error).splitlines()[0])
    return Trial(option=option, value=repr(value), effects=effects, error="".join(errors[:1]))
