"""A kernel that Inductor wrote, with its machine code at hand: compiled when first asked for."""

from dataclasses import dataclass

from fuseshard.compiler.described.targets import Target
from fuseshard.compiler.gpu_code.records import (
    Configuration,
    KernelSource,
    Launch,
    MachineCode,
    Phase,
    Resources,
)
from fuseshard.compiler.gpu_code.store import key_of, shared_store
from fuseshard.compiler.gpu_code.worker.workers import writer


@dataclass(frozen=True, kw_only=True)
class GpuKernel:
    """One Triton kernel of a program.

    What needs a compiler (`ttir` to `occupancy`) is of the first configuration; `machine` gives
    the others. Which one is fastest, only a card can tell.
    """

    source: KernelSource
    launches: tuple[Launch, ...]
    """each start of it, in the order of the wrapper"""
    target: Target

    @property
    def name(self) -> str:
        """As the wrapper calls it."""
        return self.source.name

    @property
    def phase(self) -> Phase:
        """Which graph it belongs to: "inference", "forward" or "backward"."""
        return self.source.phase

    @property
    def kind(self) -> str:
        """Inductor's word for its kind of loop, such as "pointwise"."""
        return self.source.kind

    @property
    def triton(self) -> str:
        """Its source as Inductor wrote it."""
        return self.source.triton

    @property
    def configurations(self) -> tuple[Configuration, ...]:
        """Candidates of the autotuner, in Inductor's order."""
        return self.source.configurations

    def machine(self, index: int = 0) -> MachineCode:
        """Compile it under one of its configurations; what was compiled once is kept.

        Args:
            index: of the configuration.

        Raises:
            ValueError: no configuration has that index.
            GpuBuildError: the compiler failed.
        """
        count = len(self.configurations)
        if not 0 <= index < count:
            raise ValueError(
                f"machine: index is {index}, must be 0 to {count - 1} ({self.name} has {count} "
                "configurations); choose one of them."
            )
        key = key_of("machine", self.triton, self.configurations[index], self.target)
        store = shared_store()
        found = store.get(key, MachineCode)
        if found is not None:
            return found
        worker = writer(self.target)
        made: MachineCode = worker.ask("compile_kernel", self.source, index, self.target.key)
        return store.put(key, made)

    @property
    def ttir(self) -> str:
        """Triton's own intermediate language, still the same for each GPU."""
        return self.machine().ttir

    @property
    def ttgir(self) -> str:
        """The same with threads: which one holds which part of a tile."""
        return self.machine().ttgir

    @property
    def llir(self) -> str:
        """LLVM's intermediate language, for one thread."""
        return self.machine().llir

    @property
    def assembly(self) -> str:
        """The last text before the binary: PTX, or amdgcn on AMD."""
        return self.machine().assembly

    @property
    def ptx(self) -> str:
        """NVIDIA's assembly for a GPU that doesn't exist, which ptxas makes real.

        Raises:
            ValueError: the target is AMD's.
        """
        self._require_nvidia("ptx")
        return self.machine().assembly

    @property
    def sass(self) -> str:
        """What NVIDIA's card executes.

        Raises:
            ValueError: the target is AMD's.
        """
        self._require_nvidia("sass")
        found = self.machine().sass
        assert found is not None
        return found

    @property
    def resources(self) -> Resources:
        """What it takes of a multiprocessor."""
        return self.machine().resources

    @property
    def registers(self) -> int:
        """32-bit registers a thread."""
        return self.resources.registers

    @property
    def spills(self) -> int:
        """Registers a thread that had to be kept in memory."""
        return self.resources.spills

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, bytes."""
        return self.resources.shared_bytes

    @property
    def occupancy(self) -> float:
        """Resident warps over the most that fit, between 0 and 1."""
        return self.resources.occupancy

    def _require_nvidia(self, language: str) -> None:
        if self.target.vendor != "nvidia":
            raise ValueError(
                f"GpuKernel: {language} is NVIDIA's, and {self.target.name} is AMD's, whose "
                "assembly is amdgcn; use .assembly, which every target has."
            )
