"""A compile cache filled under one width of vectors, and used under another."""

import json
import tempfile

import torch

from fuseshard.compiler.caches.counting import look_up
from fuseshard.compiler.caches.records import WidthTrial
from fuseshard.compiler.caches.starts import CACHE_FOLDER
from fuseshard.compiler.child import run_script

CAPABILITY = "ATEN_CPU_CAPABILITY"
"""torch's variable for which vector instructions it may use"""

WIDE, NARROW, COLUMNS = "avx512", "avx2", 600

_SOFTMAX = """
import json
from fuseshard.compiler.debugging.widths import softmax_trial
print(json.dumps(softmax_trial()))
"""


def width_trials() -> tuple[WidthTrial, ...]:
    """Compile one softmax in three processes: wide; narrow, behind the wide one; narrow, alone.

    The first two share a folder of caches. What goes wrong does so in a process of its own.

    Returns:
        The three, in this order; empty where the processor has no AVX-512 to begin with.
    """
    if torch.backends.cpu.get_cpu_capability() != WIDE.upper():
        return ()
    with (
        tempfile.TemporaryDirectory(prefix="fuseshard-") as shared,
        tempfile.TemporaryDirectory(prefix="fuseshard-") as own,
    ):
        return _trial(WIDE, shared), _trial(NARROW, shared), _trial(NARROW, own)


def softmax_trial() -> dict[str, object]:
    """Compile a softmax in this process, and compare it with eager mode.

    Returns:
        Fields of a `WidthTrial`.
    """
    torch.set_num_threads(1)
    x = torch.randn(7, COLUMNS, generator=torch.Generator().manual_seed(0))
    compiled = torch.compile(lambda x: torch.softmax(x, dim=-1), dynamic=False)
    found = look_up(lambda: compiled(x))
    expected = torch.softmax(x, dim=-1)
    return {
        "capability": torch.backends.cpu.get_cpu_capability(),
        "graph": found.graph,
        "autograd": found.autograd,
        "compiler_runs": found.compiler_runs,
        "difference": ((compiled(x) - expected).abs() / expected).max().item(),
    }


def _trial(capability: str, folder: str) -> WidthTrial:
    result = run_script(_SOFTMAX, variables={CACHE_FOLDER: folder, CAPABILITY: capability})
    if result.exit_code:
        return WidthTrial(
            capability=capability.upper(), error=result.error or f"exit code {result.exit_code}"
        )
    return WidthTrial(**json.loads(result.output.splitlines()[-1]))
