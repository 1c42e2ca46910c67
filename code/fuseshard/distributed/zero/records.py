"""What is computed and measured about sharded training, as data. No torch here."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ModelStates:
    """What one rank keeps of the model between two steps, and its gradients."""

    parameters: float
    "bytes"
    gradients: float
    "bytes, at the end of the backward pass"
    optimizer_states: float
    "bytes; Adam's two moments, and a master copy where there is one"

    @property
    def total(self) -> float:
        """Bytes of all three."""
        return self.parameters + self.gradients + self.optimizer_states


@dataclass(frozen=True, kw_only=True)
class BytesPerParameter:
    """What one parameter takes on a rank that keeps all of it."""

    parameter: int = 4
    "bytes; 4 in float32"
    gradient: int = 4
    "bytes"
    optimizer_states: int = 8
    "bytes; Adam's two moments in float32"

    @property
    def total(self) -> int:
        """Bytes of all three."""
        return self.parameter + self.gradient + self.optimizer_states


FLOAT32 = BytesPerParameter()
"""everything in float32, as on the pages: 4 + 4 + 8"""
MIXED = BytesPerParameter(parameter=2, gradient=2, optimizer_states=12)
"""16-bit parameters and gradients; a float32 copy beside the two moments: 2 + 2 + 12"""


@dataclass(frozen=True, kw_only=True)
class StepMemory:
    """What one rank held in one training step, by category."""

    variant: str
    "how it trained: ddp, zero1, zero2, zero3 or fully_shard"
    world_size: int
    "ranks"
    rank: int
    "rank that measured it"
    states: ModelStates
    "parameters, gradients and optimizer states"
    activations: int
    "bytes; what autograd kept at the end of the forward pass, parameters apart"
    gathered: int
    "bytes; whole parameters that were there for a while, at the fullest moment"
    peak: int
    "bytes; all tensors alive at the fullest moment of the step"
    sent: float
    "bytes that this rank sent in the step, by the meter"


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One layer about to compute, and what was there for it."""

    phase: str
    "forward or backward"
    layer: str
    "name of the layer"
    whole: tuple[str, ...]
    "units whose parameters were whole"
    gathers: int
    "all-gathers asked for so far in this step"
    gathered_bytes: int
    "bytes of the parameters that were whole"


@dataclass(frozen=True, kw_only=True)
class Residency:
    """One training step of one rank: which unit was whole when."""

    units: tuple[str, ...]
    "names, in the order of the forward pass"
    moments: tuple[Moment, ...]
    "in the order in which layers computed"

    def runs(self, unit: str) -> list[tuple[int, int]]:
        """Return where a unit was whole, as pairs of moments: the first, and the last plus one."""
        found: list[tuple[int, int]] = []
        for index, moment in enumerate(self.moments):
            if unit not in moment.whole:
                continue
            if found and found[-1][1] == index:
                found[-1] = (found[-1][0], index + 1)
            else:
                found.append((index, index + 1))
        return found

    @property
    def most_bytes(self) -> int:
        """Bytes of whole parameters at the fullest moment."""
        return max(moment.gathered_bytes for moment in self.moments)
