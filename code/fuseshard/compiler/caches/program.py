"""What a process runs that starts with torch.compile: imported there, after torch, and timed."""

import time
import timeit
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: how many threads call the C++ compiler, and whether
# Dynamo keeps what it made of a function.
import torch._dynamo.config
import torch._inductor.config

# Private, checked on torch 2.11 and 2.13: an empty cache folder for the time of a block.
from torch._inductor.utils import fresh_inductor_cache

from fuseshard.compiler.caches.clinic import CHANGES, clinic, visit
from fuseshard.compiler.caches.counting import dropped_guards, look_up
from fuseshard.compiler.caches.plain import model_and_input, report, steady_s
from fuseshard.compiler.caches.records import Lookup, Start

ARTIFACTS = "artifacts.bin"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What the parent tells a process, and when the process came so far."""

    way: str
    """cold, disk or precompile"""
    begin_s: float
    """seconds of the system's clock when the parent started the process"""
    imported_s: float
    """the same when torch was imported"""
    folder: str
    """where the saved artifacts are"""
    num_layers: int
    device: str


@dataclass
class Process:
    """One process: what it was told, and what it found out."""

    launch: Launch
    lookups: dict[str, Lookup] = field(default_factory=dict)
    outputs: dict[str, list[float]] = field(default_factory=dict)
    trials_s: list[float] = field(default_factory=list)

    @property
    def artifacts(self) -> Path:
        """Where the saved artifacts are."""
        return Path(self.launch.folder) / ARTIFACTS

    def start(self) -> Start:
        """Pay what is paid once a process, and make the model's first call."""
        self.trial(_plus_one)
        prepared_s = time.time()
        call_s = self.first_call(self.launch.way)
        return Start(
            way=self.launch.way,
            import_s=self.launch.imported_s - self.launch.begin_s,
            prepare_s=prepared_s - self.launch.imported_s,
            load_s=0.0,
            first_call_s=self.lookups[self.launch.way].first_call_s,
            call_s=call_s,
        )

    def trial(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Compile a trivial function, and note the seconds."""
        x = torch.ones(64, device=self.launch.device)
        self.trials_s.append(seconds_of(lambda: torch.compile(function)(x)))

    def first_call(self, way: str) -> float:
        """Make the model's first call, keep what the caches said, and time a later call."""
        model, x = model_and_input(self.launch.num_layers, self.launch.device)
        compiled: list[Callable[[torch.Tensor], torch.Tensor]] = []
        outputs: list[torch.Tensor] = []

        def call() -> None:
            # Dynamo's own cache answers when the model is wrapped, the others when it is called.
            compiled.append(torch.compile(model, dynamic=False))
            outputs.append(compiled[0](x).cpu())  # waits for a GPU, too

        self.lookups[way] = look_up(call)
        self.outputs[way] = outputs[0].flatten().tolist()
        return steady_s(lambda: compiled[0](x), self.launch.device)

    def save(self) -> int:
        """Save the artifacts for other processes, and return their size in bytes."""
        saved = torch.compiler.save_cache_artifacts()
        assert saved is not None
        self.artifacts.write_bytes(saved[0])
        return len(saved[0])

    def save_dynamo(self) -> list[str]:
        """Compile once more, so that Dynamo's own results are on disk; return what it gave up."""
        torch.compiler.reset()
        with torch._dynamo.config.patch(caching_precompile=True), dropped_guards() as dropped:
            self.trial(_plus_one)
            model, x = model_and_input(self.launch.num_layers, self.launch.device)
            torch.compile(model, dynamic=False)(x)
            torch.compiler.save_cache_artifacts()  # writes Dynamo's results to disk, too
        return dropped

    def elsewhere(self) -> float:
        """Make the first call in an empty folder, into which the artifacts are loaded.

        Returns:
            Seconds of loading.
        """
        torch.compiler.reset()
        with fresh_inductor_cache():
            load_s = seconds_of(
                lambda: torch.compiler.load_cache_artifacts(self.artifacts.read_bytes())
            )
            self.trial(_plus_one)  # finds out anew which vector instructions there are
            self.first_call("artifacts")
        return load_s


def run(launch: Launch) -> None:
    """Start as the launch says, and print what there is to report as JSON."""
    torch.set_num_threads(1)
    torch._inductor.config.compile_threads = 1
    # In a process of its own: it refuses a model that was compiled in memory before.
    torch._dynamo.config.caching_precompile = launch.way == "precompile"
    process = Process(launch)
    start = process.start()
    found: dict[str, Any] = {"start": asdict(start)}
    if launch.way == "cold":
        process.trial(_plus_two)
        found["twins_s"] = process.trials_s[:2]
        found["artifact_bytes"] = process.save()
        found["dropped_guards"] = []
        if launch.device == "cpu":
            visit(CHANGES[0])
            found["dropped_guards"] = process.save_dynamo()
    if launch.way == "disk":
        found["load_s"] = process.elsewhere()
        if launch.device == "cpu":
            found["clinic"] = [asdict(case) for case in clinic()]
    found["lookups"] = {way: asdict(lookup) for way, lookup in process.lookups.items()}
    found["outputs"] = process.outputs
    report(found)


def seconds_of(call: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    begin_s = timeit.default_timer()
    call()
    return timeit.default_timer() - begin_s


def _plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1


def _plus_two(x: torch.Tensor) -> torch.Tensor:
    return x + 2
