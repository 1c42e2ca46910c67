"""What measuring a network yields, as data: times, the line through them, trials. No torch here.

S = bytes of a message; alpha = seconds that a message costs whatever its size; beta = seconds
that each byte adds; gamma = seconds to add a received byte to one's own. The model says: a message
takes alpha + beta S, and adding it gamma S.
"""

import math
import statistics
from dataclasses import dataclass
from typing import Literal, Self

Pattern = Literal["one way", "both ways"]
"""a message there and one back in turn, or both at the same time"""
LinkVerdict = Literal[
    "measured", "no latency measured", "no bandwidth measured", "nothing measured"
]
Outcome = Literal["works", "refused", "wrong"]

ALGORITHMS = ("ring", "tree", "recursive doubling", "gloo")
"""the all-reduces that are timed: three by hand, and the backend's own"""


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with the interval that it lies in."""

    value: float
    "in the unit of what is estimated"
    low: float
    "lower end of the interval, same unit"
    high: float
    "upper end of the interval, same unit"

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise ValueError(
                f"Estimate: got {self.low} <= {self.value} <= {self.high}, required is that order "
                "(an interval holds its number); check which end is which"
            )


@dataclass(frozen=True, kw_only=True)
class LinkTimes:
    """Seconds that messages of several sizes took between two ranks."""

    pattern: Pattern
    "how the two ranks sent"
    sizes_bytes: tuple[int, ...]
    "bytes of a message, ascending"
    rounds_s: tuple[tuple[float, ...], ...]
    "seconds of one message, a row a round and in it one a size; best of `repeats`"
    adding_rounds_s: tuple[tuple[float, ...], ...]
    "seconds in which a rank adds as many bytes of float32 to its own; rows and columns as above"
    repeats: int
    "messages of each size in a round, of which the fastest counts"

    def medians_s(self) -> tuple[float, ...]:
        """Seconds of one message, one a size; median over the rounds."""
        return tuple(statistics.median(column) for column in zip(*self.rounds_s, strict=True))


_FREE = Estimate(value=0.0, low=0.0, high=0.0)


@dataclass(frozen=True, kw_only=True)
class Link:
    """What a message costs between two ranks: alpha + beta S seconds for S bytes."""

    alpha_s: Estimate
    "seconds that every message costs (latency)"
    beta_s_per_byte: Estimate
    "seconds that each byte adds; 1 / beta is the bandwidth"
    gamma_s_per_byte: Estimate = _FREE
    "seconds to add a received byte to one's own"
    confidence: float = 1.0
    "probability that an interval holds the median; 1 where the numbers were stated"
    worst_misfit: float = 0.0
    "largest |model - measured| / measured over the sizes"
    worst_misfit_bytes: int = 0
    "size at which it lies, in bytes"

    @classmethod
    def stated(cls, alpha_s: float, bandwidth_bytes_per_s: float) -> Self:
        """Make a link from numbers of a data sheet or of one's own choice; adding is free.

        Args:
            alpha_s: seconds that every message costs, at least 0.
            bandwidth_bytes_per_s: bytes a second that it can carry, more than 0.

        Raises:
            ValueError: a number is negative, zero where it can't be, or not finite.
        """
        is_possible = 0 <= alpha_s < math.inf and 0 < bandwidth_bytes_per_s < math.inf
        if not is_possible:
            raise ValueError(
                f"Link.stated: alpha_s is {alpha_s} and bandwidth_bytes_per_s "
                f"{bandwidth_bytes_per_s}, required are finite numbers, at least 0 and more than 0 "
                "(a message takes time and arrives); 1 us and 10 GB/s are 1e-6 and 10e9"
            )
        beta = 1 / bandwidth_bytes_per_s
        return cls(
            alpha_s=Estimate(value=alpha_s, low=alpha_s, high=alpha_s),
            beta_s_per_byte=Estimate(value=beta, low=beta, high=beta),
        )

    @property
    def verdict(self) -> LinkVerdict:
        """Which of the two numbers stands out of the noise: its interval lies above 0."""
        has_latency, has_bandwidth = self.alpha_s.low > 0, self.beta_s_per_byte.low > 0
        if has_latency and has_bandwidth:
            return "measured"
        if has_bandwidth:
            return "no latency measured"
        return "no bandwidth measured" if has_latency else "nothing measured"

    @property
    def bandwidth_bytes_per_s(self) -> float:
        """Bytes a second, 1 / beta; infinite where no byte was seen to cost anything."""
        beta = self.beta_s_per_byte.value
        return 1 / beta if beta > 0 else math.inf

    @property
    def balance_bytes(self) -> float:
        """The size at which both terms cost the same, alpha / beta."""
        return max(0.0, self.alpha_s.value) * self.bandwidth_bytes_per_s


@dataclass(frozen=True, kw_only=True)
class AllReduceTimes:
    """Seconds that one all-reduce took, until the last rank had the sum."""

    algorithm: str
    "one of `ALGORITHMS`"
    world_size: int
    "number of ranks"
    payload_bytes: int
    "bytes of the tensor"
    rounds_s: tuple[float, ...]
    "seconds, one a round: the slowest rank, in the fastest of several calls"

    @property
    def median_s(self) -> float:
        """Seconds; median over the rounds."""
        return statistics.median(self.rounds_s)


@dataclass(frozen=True, kw_only=True)
class SupportTrial:
    """One collective, tried on real ranks with one reduce operation and one dtype."""

    collective: str
    "torch's name of the function"
    reduce_op: str
    "torch's name of the reduce operation; empty where nothing is reduced"
    dtype: str
    "torch's name of the element type, without `torch.`"
    outcome: Outcome
    "ran with the right result on every rank, raised, or ran with another result"
    reason: str = ""
    "torch's message, if it raised; what came out, if that was wrong"
