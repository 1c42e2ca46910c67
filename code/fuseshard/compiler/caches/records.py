"""What the chapter on compile time measures, as plain data: drawing code has no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fuseshard.measure.records import Comparison, Origin, Ratio

Answer = Literal["hit", "miss", "not asked"]
"""what a cache said; a cache isn't asked when one before it has hit, or when it is off"""


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """One first call, and what each cache on its way said."""

    dynamo: Answer
    """the cache of Dynamo's own result, off by default and experimental"""
    autograd: Answer
    """AOTAutograd's cache: from Dynamo's graph to everything after it"""
    graph: Answer
    """Inductor's FX-graph cache: from the ATen graph to the module that Inductor writes"""
    compiler_runs: int
    """C++ files handed to the compiler: those whose text was not yet compiled in the folder"""
    graphs: int
    """graphs that Dynamo captured"""
    first_call_s: float
    """seconds of the call, tracing and lookup included"""


@dataclass(frozen=True, kw_only=True)
class WidthTrial:
    """A function compiled under one width of vectors, perhaps over another's caches."""

    capability: str
    """the vector instructions that torch used, e.g. "AVX2" """
    graph: Answer = "not asked"
    """Inductor's FX-graph cache"""
    autograd: Answer = "not asked"
    """AOTAutograd's cache"""
    compiler_runs: int = 0
    """C++ files handed to the compiler"""
    difference: float | None = None
    """largest relative difference from eager mode; None if the process ended before"""
    error: str = ""
    """how a process ended that didn't come to its end"""


@dataclass(frozen=True, kw_only=True)
class ClinicCase:
    """One change to a program, and what the caches filled by the unchanged program say."""

    change: str
    """short name of the change"""
    lookup: Lookup
    key_by_hand: str
    """under which our own cache files the program"""


@dataclass(frozen=True, kw_only=True)
class Start:
    """How one process came from its start to its first result, and how it went on."""

    way: str
    """eager, cold, disk, precompile or package"""
    import_s: float
    """seconds from the start of the process until torch is imported"""
    prepare_s: float
    """seconds of what is paid once a process: the compiler's imports, and a first trial compile"""
    load_s: float
    """seconds of loading a package; 0 where nothing is loaded"""
    first_call_s: float
    """seconds of the model's first call"""
    call_s: float
    """seconds of a later call; median"""

    @property
    def first_result_s(self) -> float:
        """Seconds from the start of the process to the first result."""
        return self.import_s + self.prepare_s + self.load_s + self.first_call_s


@dataclass(frozen=True, kw_only=True)
class Starts:
    """The same model started in several ways, each in a process of its own."""

    device: str
    """what ran it: cpu or cuda"""
    num_layers: int
    twins_s: tuple[float, ...]
    """seconds of the cold process's first two compiles, of functions that differ in one number"""
    artifact_bytes: int
    """size of what save_cache_artifacts returned"""
    load_s: float
    """seconds of load_cache_artifacts"""
    dropped_guards: tuple[str, ...]
    """what Dynamo said of guards that it can't keep on disk, one line a guard; empty on a GPU"""
    starts: tuple[Start, ...]
    lookups: dict[str, Lookup]
    """cold, disk, artifacts and precompile -> what the caches said at the model's first call;
    precompile on a CPU only"""
    outputs: dict[str, tuple[float, ...]]
    """way -> the first call's results, row by row"""
    clinic: tuple[ClinicCase, ...]
    """changes tried out in the process that found the cold one's folder; empty on a GPU"""
    origin: Origin | None = None

    def __getitem__(self, way: str) -> Start:
        for start in self.starts:
            if start.way == way:
                return start
        known = ", ".join(repr(start.way) for start in self.starts)
        raise KeyError(f"no start {way!r}; there are {known}")


@dataclass(frozen=True, kw_only=True)
class FirstCall:
    """The first call of a stack that was compiled in one way."""

    parts_s: dict[str, float]
    """stage -> seconds, with nothing to take from a cache on disk; one stage, "all", on a GPU;
    empty where the call may have found something, so that its time says nothing"""
    graphs: int
    """graphs captured; 0 where all was found in memory"""
    compiler_runs: int
    """C++ files handed to the compiler"""

    @property
    def elapsed_s(self) -> float:
        """Seconds of all stages together."""
        return sum(self.parts_s.values())


@dataclass(frozen=True, kw_only=True)
class RegionPoint:
    """One stack, run in eager mode and compiled as a whole, by region and by nested region."""

    num_layers: int
    width: int
    """features of a row"""
    num_rows: int
    first_calls: dict[str, FirstCall]
    """whole, regional and nested -> the first call"""
    comparison: Comparison
    """steady times: eager first, then whole, regional, nested"""
    to_whole: dict[str, Ratio]
    """regional and nested -> time over that of the whole, in the same rounds"""
    errors: dict[str, float]
    """way, eager among them -> largest error against float64, relative to the largest value"""


@dataclass(frozen=True, kw_only=True)
class RegionSweep:
    """Stacks of growing depth, and one of wide layers."""

    device: str
    """what ran it: cpu or cuda"""
    points: tuple[RegionPoint, ...]
    """narrow layers, growing in number"""
    wide: RegionPoint
    """fewer layers with more to compute in each"""
    origin: Origin | None = None


@dataclass(frozen=True, kw_only=True)
class PackageReport:
    """A model exported, compiled ahead of time and loaded in a process that compiles nothing."""

    export_s: float
    """seconds of torch.export"""
    compile_s: float
    """seconds of AOTInductor, headers included where this machine had not yet compiled them"""
    package_bytes: int
    start: Start
    """of the process that loaded it"""
    outputs: tuple[float, ...]
    """the first call's results, row by row"""
    num_rows: int
    """rows of the input that it was compiled for"""
    other_rows: int
    """rows of an input that it was not compiled for"""
    returned_rows: int
    """rows that the package returned for it, having raised nothing"""
    right_rows: int
    """of these, rows equal to eager mode's"""
    checked: str
    """what it raised for it, with input checks asked for"""
    exported: str
    """what the exported program, not compiled, raised for it"""
    origin: Origin | None = None
