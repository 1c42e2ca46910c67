"""What a measurement is, as plain frozen data: no torch, so that figures can read it anywhere.

Times are seconds. A *round* times every variant once, one after the other; a *ratio* divides a
variant's time by the first variant's time of the same round.
"""

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, Self

Verdict = Literal["faster", "slower", "no difference measured"]


@dataclass(frozen=True, kw_only=True)
class GpuState:
    """A GPU's clocks, power and heat as they were found, which nobody set for a measurement."""

    sm_mhz: float
    max_sm_mhz: float
    memory_mhz: float
    power_limit_w: float
    temperature_c: float


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The machine and the software that a number comes from; no path and no host name."""

    date_utc: str
    """ISO 8601, to the second."""
    python: str
    torch: str
    triton: str | None
    """None: not installed; likewise for the other fields that may be None."""
    compiler: str | None
    """name and version of the C++ compiler that Inductor would call."""
    system: str
    cpu: str
    cpu_capability: str
    """widest vector instructions that torch's own kernels use here, such as AVX2."""
    num_cores: int
    """cores that this process may use."""
    num_threads: int
    """torch's threads when the environment was read."""
    gpu: str | None
    num_gpus: int
    driver: str | None
    cuda: str | None
    commit: str | None
    """the book's commit; None outside a git checkout."""
    is_modified: bool
    """tracked files differ from the commit."""
    gpu_state: GpuState | None = None
    """None also where the driver's tool isn't there or doesn't say."""
    num_processes: int = 1
    """that repeated the measurement; what a GPU's host limits differs between them."""


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a result comes from: measured here and now, or read from a recording."""

    is_live: bool
    environment: Environment


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Time of a variant over the time of the first, below 1 is faster."""

    median: float
    low: float
    high: float
    confidence: float
    """probability that low..high holds the true median, whatever the noise looks like."""
    verdict: Verdict

    def __post_init__(self) -> None:
        if not 0 < self.low <= self.median <= self.high:
            raise ValueError(
                f"Ratio: got low {self.low}, median {self.median}, high {self.high}; "
                "required 0 < low <= median <= high."
            )

    @property
    def speedup(self) -> float:
        """How many times faster than the first variant; above 1 is faster."""
        return 1.0 / self.median

    @property
    def speedup_low(self) -> float:
        """Lower end of the speed-up's interval."""
        return 1.0 / self.high

    @property
    def speedup_high(self) -> float:
        """Upper end of the speed-up's interval."""
        return 1.0 / self.low


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One variant's times."""

    name: str
    first_call_s: float
    """seconds of the very first call, which pays for whatever happens once."""
    rounds_s: tuple[float, ...]
    """seconds per call of the fastest block, one value a round, in the order of the rounds."""
    calls_per_round: int
    """calls in a row behind one of rounds_s."""
    median_s: float
    low_s: float
    """lower quartile of rounds_s."""
    high_s: float
    """upper quartile of rounds_s."""
    ratio: Ratio | None
    """None for the first variant, which the others are compared with."""

    def __post_init__(self) -> None:
        if not self.rounds_s or self.calls_per_round < 1:
            raise ValueError(
                f"Timing {self.name!r}: got {len(self.rounds_s)} rounds of "
                f"{self.calls_per_round} calls; required at least 1 of each."
            )

    @property
    def verdict(self) -> Verdict | None:
        """What the rounds allow to say against the first variant; None for the first itself."""
        return self.ratio.verdict if self.ratio else None


@dataclass(frozen=True, kw_only=True)
class Range:
    """Smallest and largest of a number that was measured once a process."""

    low: float
    high: float

    @classmethod
    def of(cls, number: float) -> Self:
        """Make the range of a single process.

        Args:
            number: what it measured.
        """
        return cls(low=number, high=number)


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Variants timed in the same rounds; the first is what the others are compared with."""

    timings: tuple[Timing, ...]
    num_threads: int
    origin: Origin | None = None

    def __getitem__(self, name: str) -> Timing:
        for timing in self.timings:
            if timing.name == name:
                return timing
        known = ", ".join(repr(timing.name) for timing in self.timings)
        raise KeyError(f"no variant {name!r}; there are {known}")

    @property
    def baseline(self) -> Timing:
        """The first variant."""
        return self.timings[0]

    def candidate(self, name: str | None = None) -> tuple[Timing, Ratio]:
        """Return a variant with its ratio; without a name, the only one besides the first.

        Args:
            name: which variant; may be left out when there are two.

        Returns:
            Its timing, and its ratio to the first variant.

        Raises:
            ValueError: the name is left out although there are not two variants, or it names
                the first.
        """
        if name is None and len(self.timings) != 2:
            raise ValueError(
                f"Comparison: got {len(self.timings)} variants and no name; a verdict without a "
                "name needs exactly 2. Ask for comparison['name'].verdict."
            )
        timing = self.timings[1] if name is None else self[name]
        if timing.ratio is None:
            raise ValueError(
                f"Comparison: {timing.name!r} is what the others are compared with, so it has no "
                "ratio; name another variant."
            )
        return timing, timing.ratio

    @property
    def ratio(self) -> Ratio:
        """Ratio of the second variant to the first; for comparisons of two."""
        return self.candidate()[1]

    @property
    def verdict(self) -> Verdict:
        """What can be said about the second variant; for comparisons of two."""
        return self.ratio.verdict


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """One size of a sweep."""

    size: int
    comparison: Comparison


@dataclass(frozen=True, kw_only=True)
class BreakEven:
    """Where a variant starts to pay, as far as the measurement can tell.

    The crossing lies between the two sizes; in between, no difference was measured.
    """

    slower_until: int | None
    """largest size up to which every size was slower; None: not slower at the smallest."""
    faster_from: int | None
    """first size from which on every size was faster; None: not faster at the largest."""


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The same comparison at growing sizes."""

    size_name: str
    """what the size counts, such as "rows"."""
    points: tuple[SweepPoint, ...]
    origin: Origin | None = None

    def __post_init__(self) -> None:
        sizes = self.sizes
        if not sizes or any(a >= b for a, b in pairwise(sizes)):
            raise ValueError(f"Sweep: got sizes {sizes}; required at least one, growing.")

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes, growing."""
        return tuple(point.size for point in self.points)

    def break_even(self, name: str | None = None) -> BreakEven:
        """Return between which sizes a variant starts to be faster than the first.

        Args:
            name: which variant; may be left out when there are two.

        Returns:
            The bracket; an end that the sweep didn't reach is None.
        """
        verdicts = [point.comparison.candidate(name)[1].verdict for point in self.points]
        num_slower = _run_length(verdicts, "slower")
        num_faster = _run_length(verdicts[::-1], "faster")
        return BreakEven(
            slower_until=self.sizes[num_slower - 1] if num_slower else None,
            faster_from=self.sizes[-num_faster] if num_faster else None,
        )


def to_json(record: Any) -> dict[str, Any]:
    """Return a record as data that `json.dumps` takes; `schema.read` is the way back.

    Args:
        record: an instance of one of this module's dataclasses, or one made like them.

    Returns:
        A dictionary with one entry a field.

    Raises:
        ValueError: a number is not finite.
    """
    data: dict[str, Any] = _plain(asdict(record))
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"to_json: got {value}, required a finite number; JSON has no other.")
    return value


def _run_length(verdicts: list[Verdict], wanted: Verdict) -> int:
    """Length of the run of `wanted` at the front."""
    length = 0
    while length < len(verdicts) and verdicts[length] == wanted:
        length += 1
    return length
