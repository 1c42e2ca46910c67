"""What an explorer shows first, and in whose words."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fuseshard.book.draw.parts import Json, Voice


@dataclass(frozen=True)
class Seen:
    """The view that an explorer starts with, in one edition."""

    record: Json
    voice: Voice

    @property
    def id(self) -> str:
        """What all ids of the explorer begin with."""
        return f"explorer-{self.record['name']}"

    @cached_property
    def program(self) -> Json:
        """The program."""
        return self._start_of("programs", "program")

    @cached_property
    def target(self) -> Json:
        """The GPU."""
        return self._start_of("targets", "target")

    @cached_property
    def kernel_index(self) -> int:
        """Place among the program's kernels of the first that it has on this GPU."""
        kernels = self.program["kernels"]
        return next(i for i, k in enumerate(kernels) if self.target["key"] in k["views"])

    @property
    def kernel(self) -> Json:
        """That kernel, as each GPU has it."""
        kernel: Json = self.program["kernels"][self.kernel_index]
        return kernel

    @property
    def view(self) -> Json:
        """That kernel, as this GPU has it."""
        view: Json = self.kernel["views"][self.target["key"]]
        return view

    @property
    def stages(self) -> list[Json]:
        """The stages that this GPU's code passes."""
        stages: list[Json] = self.record["stages"][self.target["vendor"]]
        return stages

    @cached_property
    def stage(self) -> Json:
        """The one of them that is open."""
        return next(s for s in self.stages if s["key"] == self.record["start"]["stage"])

    def text(self, data: Json) -> str:
        """Return a Word or Plain as text that isn't escaped."""
        return self.voice.catalog.render(data, self.voice.where)

    def _start_of(self, things: str, what: str) -> Json:
        return next(t for t in self.record[things] if t["key"] == self.record["start"][what])
