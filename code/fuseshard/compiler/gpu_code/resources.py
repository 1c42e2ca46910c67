"""What a compiled kernel takes and does, counted in its text. Torch-free and Triton-free."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD_BYTES = 4
"""bytes of one register"""


@dataclass(frozen=True, kw_only=True)
class Reserved:
    """What the assembler set aside for each thread."""

    registers: int
    """32-bit registers; on AMD vector registers, accumulation ones included"""
    spills: int
    """times that the code writes a register to memory to have it free, in registers of 4 bytes:
    each place in the text once, however often it runs"""
    stack_bytes: int
    """bytes of the thread's own memory: spilled registers and arrays"""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """Instructions of the machine code by what they do, each counted once however often it runs."""

    loads: int
    stores: int
    load_bits: tuple[int, ...]
    shuffles: int
    barriers: int
    tensor_core_ops: int
    instructions: int


_REGISTERS = re.compile(r"Used (\d+) registers")
_FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores")
_CUMULATIVE = re.compile(r"(\d+) bytes cumulative stack size")
_SASS = re.compile(r"\s*(?:@!?U?P\w+ +)?([A-Z][A-Z0-9]*)((?:\.\w+)*)[\s;].*")

_SASS_LOADS = {"LDG", "LDGSTS", "UTMALDG"}
_SASS_STORES = {"STG", "UTMASTG", "UTMAREDG", "RED", "REDG", "ATOM", "ATOMG"}
_SASS_SHUFFLES = {"SHFL", "REDUX", "CREDUX"}
_SASS_TENSOR_CORE = re.compile(r"(?:UTC(?:MX)?)?[A-Z]G?MMA")
_SASS_WIDTHS = {"U8": 8, "S8": 8, "U16": 16, "S16": 16, "64": 64, "128": 128, "256": 256}


def reserved_nvidia(log: str) -> Reserved:
    """Read what `ptxas -v` said of the one kernel that it assembled.

    `spills` are its bytes of spill stores over 4, so that they agree with the stores to local
    memory (STL) in the machine code. The size of the stack tells less: a slot is used again for
    another register, and arrays stand there as well.

    Args:
        log: what ptxas wrote, with the option -v.

    Raises:
        ValueError: the log says nothing of registers.
    """
    registers = _REGISTERS.search(log)
    frames = _FRAME.findall(log)
    if registers is None or not frames:
        raise ValueError(
            f"reserved_nvidia: got {log[:200]!r}, must hold the lines 'bytes stack frame' and "
            "'Used ... registers' (they are what is counted); run ptxas with the option -v."
        )
    cumulative = _CUMULATIVE.search(log)
    return Reserved(
        registers=int(registers[1]),
        spills=sum(int(stored) for _, stored in frames) // WORD_BYTES,
        stack_bytes=int(cumulative[1] if cumulative else frames[0][0]),
    )


def counts_sass(sass: str) -> Counts:
    """Count instructions of NVIDIA's machine code.

    Loads are LDG, LDGSTS (to shared memory without passing a register) and UTMALDG (a whole tile,
    started by one thread; its width is given as 0). Stores are STG, tiles (UTMASTG, UTMAREDG) and
    atomic updates. Memory through a generic address isn't counted: Triton writes none. Barriers
    are those of a block (BAR), without the ones at which nobody waits (BAR.ARV); shuffles are SHFL
    and the whole warp's reduction in one instruction (REDUX). Padding (NOP) is left out.

    Args:
        sass: as `disassembly.sass` gives it.

    Raises:
        ValueError: a line is neither a label nor an instruction.
    """
    lines = [line for line in sass.splitlines() if not line.endswith(":")]
    codes = [(name, parts) for name, parts in map(_opcode, lines) if name != "NOP"]
    widths = tuple(_sass_width(name, parts) for name, parts in codes if name in _SASS_LOADS)
    names = [name for name, _ in codes]
    return Counts(
        loads=len(widths),
        stores=sum(name in _SASS_STORES for name in names),
        load_bits=widths,
        shuffles=sum(name in _SASS_SHUFFLES for name in names),
        barriers=sum(name == "BAR" and "ARV" not in parts for name, parts in codes),
        # In full: HFMA2.MMA is an ordinary multiplication of half floats.
        tensor_core_ops=sum(bool(_SASS_TENSOR_CORE.fullmatch(name)) for name in names),
        instructions=len(codes),
    )


def _opcode(line: str) -> tuple[str, list[str]]:
    """Split off what an instruction of NVIDIA's does: name, and the words behind its points."""
    found = _SASS.fullmatch(line)
    if found is None:
        raise ValueError(
            f"counts_sass: got the line {line!r}, must be a label or an instruction (a line that "
            "is passed over would be missing from the counts); clean the text first."
        )
    return found[1], found[2].split(".")[1:]


def _sass_width(name: str, parts: list[str]) -> int:
    """Bits a thread of a load; 32 goes without saying."""
    if name == "UTMALDG":
        return 0
    return next((_SASS_WIDTHS[part] for part in parts if part in _SASS_WIDTHS), 32)


_AMDGCN = re.compile(r"^\t([a-z]\w*)", re.MULTILINE)
_AMD_LOAD = re.compile(r"(?:global|buffer)_load_")
_AMD_STORE = re.compile(r"(?:global|buffer)_(?:store|atomic)_")
_AMD_SHUFFLE = re.compile(r"ds_(?:b?permute|swizzle)_|v_permlane|\w+_dpp")
_AMD_TENSOR_CORE = re.compile(r"v_s?mfmac?_")
_AMD_WIDTHS = (
    ("dwordx4", 128),
    ("dwordx3", 96),
    ("dwordx2", 64),
    ("dword", 32),
    ("short", 16),
    ("byte", 8),
)


def reserved_amd(amdgcn: str) -> Reserved:
    """Read what LLVM says of the one kernel in its assembly.

    `spills` is .vgpr_spill_count, the stores from a vector register to a place for spilled ones.
    A vector register that is spilled to an accumulation register isn't in it.

    Args:
        amdgcn: assembly with the kernel's metadata.

    Raises:
        ValueError: the text has no metadata.
    """
    return Reserved(
        registers=_metadata(amdgcn, "vgpr_count"),
        spills=_metadata(amdgcn, "vgpr_spill_count"),
        stack_bytes=_metadata(amdgcn, "private_segment_fixed_size"),
    )


def counts_amdgcn(amdgcn: str) -> Counts:
    """Count instructions of AMD's assembly.

    Loads and stores are global_* and buffer_*, atomic updates among the stores; scalar loads
    (s_load_*), which fetch the arguments, are left out. Shuffles are permutations through the LDS
    hardware and the operands that another lane holds (_dpp). Waits without work (s_nop) are left
    out.

    Args:
        amdgcn: assembly of one kernel.

    Raises:
        ValueError: a load of unknown width.
    """
    names = [name for name in _AMDGCN.findall(amdgcn) if name not in {"s_nop", "s_code_end"}]
    widths = tuple(_amd_width(name) for name in names if _AMD_LOAD.match(name))
    return Counts(
        loads=len(widths),
        stores=sum(bool(_AMD_STORE.match(name)) for name in names),
        load_bits=widths,
        shuffles=sum(bool(_AMD_SHUFFLE.match(name)) for name in names),
        barriers=sum(name == "s_barrier" for name in names),
        tensor_core_ops=sum(bool(_AMD_TENSOR_CORE.match(name)) for name in names),
        instructions=len(names),
    )


def _metadata(amdgcn: str, key: str) -> int:
    found = re.search(rf"^ +(?:- )?\.{key}: +(\d+)$", amdgcn, re.MULTILINE)
    if found is None:
        raise ValueError(
            f"reserved_amd: found no .{key} in {len(amdgcn)} characters of assembly, must be "
            "there (it is what is read); pass the whole text, .amdgpu_metadata included."
        )
    return int(found[1])


def _amd_width(name: str) -> int:
    for word, bits in _AMD_WIDTHS:
        if word in name:
            return bits
    known = ", ".join(word for word, _ in _AMD_WIDTHS)
    raise ValueError(
        f"counts_amdgcn: got the load {name!r}, must name one of {known} (its width); add the "
        "word to the table."
    )
