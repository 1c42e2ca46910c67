"""Kernels compiled for test_machine.py, in a process of its own; prints what it found as JSON."""

import contextlib
import dataclasses
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_code.machine import FUSION_NOTICE, compile_triton
from fuseshard.compiler.gpu_code.records import MachineCode


@triton.jit
def copy(source, result, count, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    mask = offsets < count
    tl.store(result + offsets, tl.load(source + offsets, mask=mask), mask=mask)


@triton.jit
def row_sum(source, result, width, block: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, block)
    x = tl.load(source + row * width + offsets, mask=offsets < width, other=0.0)
    tl.store(result + row, tl.sum(x, axis=0))


@triton.jit
def centred(source, result, rows: tl.constexpr, columns: tl.constexpr):
    """Needs the whole tile twice over, so that a large tile doesn't fit into registers."""
    places = tl.arange(0, rows)[:, None] * columns + tl.arange(0, columns)[None, :]
    x = tl.load(source + places)
    y = x - tl.sum(x, axis=0)[None, :]
    tl.store(result + places, y * tl.sum(y * y, axis=1)[:, None])


@triton.jit
def product(a, b, c, size: tl.constexpr):
    places = tl.arange(0, size)[:, None] * size + tl.arange(0, size)[None, :]
    tl.store(c + places, tl.dot(tl.load(a + places), tl.load(b + places)))


ALIGNED = {"source": "*fp32:16", "result": "*fp32:16"}
MATRICES = {"a": "*bf16:16", "b": "*bf16:16", "c": "*fp32:16"}


TILES = (("h200", 8), ("h200", 64), ("a100", 64), ("mi300x", 8), ("mi300x", 32), ("mi300x", 256))
"""target and rows of a tile 128 wide; the largest doesn't fit into a warp's registers"""


def compiled(
    fn: Any, signature: dict[str, str], key: str, *, num_warps: int = 4, **constants: int
) -> MachineCode:
    return compile_triton(fn, signature, constants, TARGETS[key], num_warps=num_warps)


def row(code: MachineCode) -> dict[str, Any]:
    """The counts, and what other eyes see in the same text."""
    text = code.sass or code.assembly
    waves = re.search(r"; Occupancy: (\d+)", code.assembly)
    return dataclasses.asdict(code.resources) | {
        "compile_s": code.compile_s,
        "words spilled": words(text, r"\b(?:STL|scratch_store_)([.\w]*)"),
        "LLVM's waves": int(waves[1]) if waves else None,
    }


def words(text: str, pattern: str) -> int:
    """Add up the registers that instructions move; `pattern` catches what follows their name."""
    sizes = {"64": 2, "128": 4, "dwordx2": 2, "dwordx3": 3, "dwordx4": 4}
    return sum(
        next((sizes[part] for part in found.split(".") if part in sizes), 1)
        for found in re.findall(pattern, text)
    )


def all_targets() -> dict[str, dict[str, MachineCode]]:
    """Vector loads, shuffles, barriers and tensor cores on every architecture."""
    plain = {"source": "*fp32", "result": "*fp32", "count": "i32:16"}
    counted, sums = {**ALIGNED, "count": "i32:16"}, {**ALIGNED, "width": "i32:16"}
    return {
        key: {
            "aligned": compiled(copy, counted, key, block=1024),
            "unaligned": compiled(copy, plain, key, block=1024),
            "one warp": compiled(row_sum, sums, key, block=1024, num_warps=1),
            "four warps": compiled(row_sum, sums, key, block=1024, num_warps=4),
            "product": compiled(product, MATRICES, key, size=64),
        }
        for key in ("h200", "a100", "rtx4090", "b200", "mi300x")
    }


def stages(code: MachineCode) -> dict[str, str | None]:
    return {name: getattr(code, name) for name in ("ttir", "ttgir", "llir", "assembly", "sass")}


def tiles() -> dict[str, MachineCode]:
    return {
        f"{key} {rows}": compiled(centred, ALIGNED, key, num_warps=1, rows=rows, columns=128)
        for key, rows in TILES
    }


def by_other_tools(key: str, ours: MachineCode) -> dict[str, Any]:
    """Compile the large tile with nothing but Triton, and ask cuobjdump of the result."""
    target = TARGETS[key]
    source = ASTSource(
        centred,
        {"source": "*fp32", "result": "*fp32", "rows": "constexpr", "columns": "constexpr"},
        {"rows": 64, "columns": 128},
        {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
    )
    kernel = triton.compile(
        source,
        target=GPUTarget("cuda", int(target.architecture), 32),
        options={"num_warps": 1, "num_stages": 3},
    )
    usage = cuobjdump("-res-usage", kernel.asm["cubin"])
    listing = cuobjdump("-sass", kernel.asm["cubin"])
    opcode = r" +(?:@\S+ +)?([\w.]+)"
    theirs = re.findall(rf"^ +/\*[0-9a-f]{{4,}}\*/{opcode}", listing, re.MULTILINE)
    opcodes = re.findall(rf"^{opcode}", ours.sass or "", re.MULTILINE)
    return {
        "registers": [ours.resources.registers, figure("REG", usage)],
        "stack": [ours.resources.stack_bytes, figure("STACK", usage)],
        "opcodes": [Counter(opcodes), Counter(name for name in theirs if name != "NOP")],
    }


def figure(name: str, usage: str) -> int:
    found = re.search(rf"{name}:(\d+)", usage)
    assert found is not None
    return int(found[1])


def cuobjdump(option: str, cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [triton.knobs.nvidia.cuobjdump.path, option, file.name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def leftovers(cache: Path) -> dict[str, Any]:
    """What a compile must leave as it was. Positive control: Triton by itself fills its cache."""

    def state() -> tuple[Any, ...]:
        return dict(os.environ), sys.stdout, triton.knobs.nvidia.dump_ptxas_log

    before = state()
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        compiled(copy, {**ALIGNED, "count": "i32"}, "h200", block=512)
    kept = len(list(cache.iterdir()))
    source = ASTSource(copy, {"source": "*fp32", "result": "*fp32", "count": "i32"}, {"block": 512})
    source.signature["block"] = "constexpr"
    triton.compile(source, target=GPUTarget("cuda", 90, 32))
    return {
        "same state": before == state(),
        "printed": printed.getvalue(),
        "folders": kept,
        "control": len(list(cache.iterdir())),
    }


def errors() -> dict[str, str]:
    """Messages of what can't work; the last one makes Triton impossible to import."""
    signature = {**ALIGNED, "count": "i32"}
    found = {}
    found["not triton"] = complaint(lambda: compiled(len, signature, "h200", block=8))
    found["argument"] = complaint(lambda: compiled(copy, ALIGNED, "h200", block=8))
    tool = vars(type(triton.knobs.nvidia))["ptxas"]
    tool.default_path = "/nowhere/ptxas"
    found["tool"] = complaint(lambda: compiled(copy, signature, "a100", block=8))
    sys.modules["triton"] = None  # type: ignore[assignment] # Python's way to say: not there
    found["package"] = complaint(lambda: compiled(copy, signature, "h200", block=8))
    return found


def complaint(call: Any) -> str:
    try:
        call()
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "none"


def main() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        first = compiled(copy, {**ALIGNED, "count": "i32"}, "a100", block=512)
        assert first.sass
        # Only from here on: our own compiles are to keep quiet by themselves.
        warnings.filterwarnings("ignore", FUSION_NOTICE)
        left = leftovers(Path(folder))
        small, large = all_targets(), tiles()
        return {
            "leftovers": left,
            "targets": {
                key: {name: row(code) for name, code in codes.items()}
                for key, codes in small.items()
            },
            "stages": {key: stages(small[key]["four warps"]) for key in ("h200", "mi300x")},
            "tiles": {name: row(code) for name, code in large.items()},
            "tools": {key: by_other_tools(key, large[f"{key} 64"]) for key in ("h200", "a100")},
            "errors": errors(),
        }


if __name__ == "__main__":
    print(json.dumps(main()))
