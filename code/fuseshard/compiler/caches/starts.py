"""The same model started in several ways, each in a process of its own with a private cache."""

import json
import shutil
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any

from fuseshard.compiler.caches.records import ClinicCase, Lookup, Start, Starts
from fuseshard.compiler.child import run_script
from fuseshard.measure.experiments import experiment
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin
from fuseshard.measure.schema import read

GPU_LAYERS = 64
"""as in PyTorch's recipe on regional compilation"""

CACHE_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
"""torch's variable for where all caches on disk are; precompiled headers are not among them"""

WAYS = ("eager", "cold", "disk", "precompile")
"""the order matters: the cold process fills what those behind it find"""

TIMEOUT_S = 300.0
"""ten times what the slowest process takes on a quiet machine"""

_EAGER = """
from fuseshard.compiler.caches.plain import run_eager
run_eager(begin_s, imported_s, {num_layers!r}, {device!r})
"""

_COMPILED = """
from fuseshard.compiler.caches.program import Launch, run
run(Launch(begin_s=begin_s, imported_s=imported_s, way={way!r}, folder={folder!r},
           num_layers={num_layers!r}, device={device!r}))
"""


@experiment("compile-time.starts-gpu", needs="cuda")
def gpu_starts() -> Starts:
    """Start the recipe's stack on a CUDA GPU in three ways."""
    home = Home(GPU_LAYERS, device="cuda")
    for way in WAYS[:-1]:
        home.start(way)
    return home.starts()


class Home:
    """A cache folder that processes share, and the processes that started with it.

    The folder is deleted with this object. What the processes report adds up in it.

    Args:
        num_layers: of the stack that they all run.
        device: "cpu" or "cuda".
    """

    def __init__(self, num_layers: int, *, device: str = "cpu") -> None:
        """Make an empty folder."""
        self.num_layers = num_layers
        self.device = device
        self._folder = tempfile.mkdtemp(prefix="fuseshard-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._reports: dict[str, dict[str, Any]] = {}

    def start(self, way: str) -> Start:
        """Start a process, and wait for its report.

        Args:
            way: "eager"; "cold", which fills the folder; "disk", which finds what the cold one
                left, and goes on to load the artifacts saved by it into an empty folder and, on
                a CPU, to visit the clinic; or, on a CPU, "precompile", which finds what Dynamo
                left as well.

        Returns:
            Times of the process.
        """
        script = (_EAGER if way == "eager" else _COMPILED).format(
            way=way, folder=self._folder, num_layers=self.num_layers, device=self.device
        )
        self._reports[way] = report_of(script, cache=Path(self._folder) / "caches")
        return read(Start, self._reports[way]["start"], way)

    def starts(self) -> Starts:
        """Put together what the processes have reported, one of each way."""
        found = list(self._reports.values())
        cold, disk = self._reports["cold"], self._reports["disk"]
        lookups = {way: x for report in found for way, x in report.get("lookups", {}).items()}
        outputs = {way: x for report in found for way, x in report["outputs"].items()}
        return Starts(
            device=self.device,
            num_layers=self.num_layers,
            twins_s=tuple(cold["twins_s"]),
            artifact_bytes=cold["artifact_bytes"],
            load_s=disk["load_s"],
            dropped_guards=tuple(cold["dropped_guards"]),
            starts=tuple(read(Start, report["start"], "start") for report in found),
            lookups={way: read(Lookup, lookup, way) for way, lookup in lookups.items()},
            outputs={way: tuple(row) for way, row in outputs.items()},
            clinic=tuple(read(ClinicCase, case, "clinic") for case in disk.get("clinic", ())),
            origin=Origin(is_live=True, environment=environment()),
        )


def report_of(script: str, *, cache: Path | None = None) -> dict[str, Any]:
    """Start a process that imports torch and goes on with a script, and read what it reports.

    Args:
        script: prints JSON; `begin_s` and `imported_s` tell it when the process was started and
            when torch was there.
        cache: folder of torch's caches; None leaves them where they are.

    Returns:
        What it printed.

    Raises:
        RuntimeError: the script failed.
    """
    head = f"import time\nbegin_s = {time.time()!r}\nimport torch\nimported_s = time.time()\n"
    variables = {} if cache is None else {CACHE_FOLDER: str(cache)}
    result = run_script(head + script, timeout_s=TIMEOUT_S, variables=variables)
    if result.exit_code:
        raise RuntimeError(
            f"report_of: the process ended with {result.exit_code}, must end with 0 (it said: "
            f"{result.error}); run its script by hand to see the whole traceback."
        )
    report: dict[str, Any] = json.loads(result.output.splitlines()[-1])
    return report
