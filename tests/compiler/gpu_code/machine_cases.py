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
import time
from collections import Counter
from pathlib import Path
from typing import Any

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.compiler.gpu_code.machine import compile_triton
from fuseshard.compiler.gpu_code.records import MachineCode


@triton.jit
def copy(source, result, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    tl.store(result + offsets, tl.load(source + offsets, mask=mask), mask=mask)


@triton.jit
def row_sum(source, result, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(source + row * width + offsets, mask=offsets < width, other=0.0)
    tl.store(result + row, tl.sum(x, axis=0))


@triton.jit
def centred(source, result, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Needs the whole tile twice over, so that a large tile doesn't fit into registers."""
    places = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    x = tl.load(source + places)
    y = x - tl.sum(x, axis=0)[None, :]
    tl.store(result + places, y * tl.sum(y * y, axis=1)[:, None])


@triton.jit
def product(a, b, c, SIZE: tl.constexpr):
    places = tl.arange(0, SIZE)[:, None] * SIZE + tl.arange(0, SIZE)[None, :]
    tl.store(c + places, tl.dot(tl.load(a + places), tl.load(b + places)))


ALIGNED = {"source": "*fp32:16", "result": "*fp32:16"}
MATRICES = {"a": "*bf16:16", "b": "*bf16:16", "c": "*fp32:16"}


def compiled(
    fn: Any, signature: dict[str, str], key: str, *, num_warps: int = 4, **constants: int
) -> MachineCode:
    return compile_triton(fn, signature, constants, TARGETS[key], num_warps=num_warps)


def row(key: str, code: MachineCode) -> dict[str, Any]:
    found = dataclasses.asdict(code.resources) | {"compile_s": code.compile_s, "key": key}
    text = code.sass or code.assembly
    words = {"64": 2, "128": 4}
    for name, opcode in (("local_stores", "STL"), ("local_loads", "LDL")):
        parts = [m.split(".") for m in re.findall(rf"\b{opcode}[.\w]*", text)]
        found[name] = sum(max([words.get(p, 1) for p in part]) for part in parts)
    found["scratch_stores"] = len(re.findall(r"\bscratch_store", text))
    waves = re.search(r"; Occupancy: (\d+)", code.assembly)
    found["llvm_waves"] = int(waves[1]) if waves else None
    return found


def all_targets() -> dict[str, Any]:
    """Vector loads, shuffles, barriers and tensor cores on every target."""
    found = {}
    for key in TARGETS:
        start = time.perf_counter()
        counted = {"count": "i32:16"}
        plain = {"source": "*fp32", "result": "*fp32", "count": "i32:16"}
        sums = {**ALIGNED, "width": "i32:16"}
        codes = {
            "aligned": compiled(copy, ALIGNED | counted, key, BLOCK=1024),
            "unaligned": compiled(copy, plain, key, BLOCK=1024),
            "one warp": compiled(row_sum, sums, key, BLOCK=1024, num_warps=1),
            "four warps": compiled(row_sum, sums, key, BLOCK=1024, num_warps=4),
            "product": compiled(product, MATRICES, key, SIZE=64),
        }
        found[key] = {name: row(key, code) for name, code in codes.items()}
        found[key]["seconds"] = time.perf_counter() - start
    return found


def tiles() -> dict[str, Any]:
    """A tile that fits into one warp's registers, and one that doesn't."""
    return {
        f"{key} {rows}": row(
            key, compiled(centred, ALIGNED, key, num_warps=1, ROWS=rows, COLUMNS=128)
        )
        for key, rows in (("h200", 8), ("h200", 64), ("mi300x", 8), ("mi300x", 128))
    }


def by_other_tools() -> dict[str, Any]:
    """Compile again with nothing but Triton, and ask cuobjdump of the result."""
    found = {}
    for key, architecture in (("h200", 90), ("a100", 80)):
        signature = {"source": "*fp32", "result": "*fp32", "ROWS": "constexpr"}
        source = ASTSource(
            centred,
            signature | {"COLUMNS": "constexpr"},
            {"ROWS": 64, "COLUMNS": 128},
            {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]},
        )
        kernel = triton.compile(
            source,
            target=GPUTarget("cuda", architecture, 32),
            options={"num_warps": 1, "num_stages": 3, "enable_fp_fusion": True},
        )
        code = compiled(centred, ALIGNED, key, num_warps=1, ROWS=64, COLUMNS=128)
        usage = cuobjdump("-res-usage", kernel.asm["cubin"])
        listing = cuobjdump("-sass", kernel.asm["cubin"])
        opcodes = re.findall(r"^ +/\*[0-9a-f]{4,}\*/ +(?:@\S+ +)?([\w.]+)", listing, re.MULTILINE)
        ours = re.findall(r"^ +(?:@\S+ +)?([\w.]+)", code.sass or "", re.MULTILINE)
        found[key] = {
            "registers": (code.resources.registers, int(re.search(r"REG:(\d+)", usage)[1])),
            "stack": (code.resources.stack_bytes, int(re.search(r"STACK:(\d+)", usage)[1])),
            "opcodes": (Counter(ours), Counter(op for op in opcodes if op != "NOP")),
            "instructions": (code.resources.instructions, len(ours)),
        }
    return found


def cuobjdump(option: str, cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [triton.knobs.nvidia.cuobjdump.path, option, file.name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def stages() -> dict[str, dict[str, str | None]]:
    """The text of each stage on both vendors."""
    signature = {**ALIGNED, "width": "i32:16"}
    return {
        key: {
            name: getattr(compiled(row_sum, signature, key, BLOCK=1024), name)
            for name in ("ttir", "ttgir", "llir", "assembly", "sass")
        }
        for key in ("h200", "mi300x")
    }


def leftovers() -> dict[str, bool]:
    """What a compile must leave as it was."""
    cache = Path(tempfile.mkdtemp())
    os.environ["TRITON_CACHE_DIR"] = str(cache)
    before = dict(os.environ), sys.stdout, triton.knobs.nvidia.dump_ptxas_log
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        compiled(copy, ALIGNED | {"count": "i32"}, "h200", BLOCK=512)
        ours = not any(cache.iterdir()) and printed.getvalue() == ""
    after = dict(os.environ), sys.stdout, triton.knobs.nvidia.dump_ptxas_log
    # Positive control: Triton by itself does fill the folder.
    by_other_tools()
    return {"nothing left": ours and before == after, "control": any(cache.iterdir())}


def errors() -> dict[str, str]:
    """Messages of what can't work; the last one makes Triton impossible to import."""
    signature = {**ALIGNED, "count": "i32"}
    found = {}
    found["not triton"] = complaint(lambda: compiled(len, signature, "h200", BLOCK=8))
    found["argument"] = complaint(lambda: compiled(copy, ALIGNED, "h200", BLOCK=8))
    tool = vars(type(triton.knobs.nvidia))["ptxas"]
    tool.default_path = "/nowhere/ptxas"
    found["tool"] = complaint(lambda: compiled(copy, signature, "a100", BLOCK=8))
    sys.modules["triton"] = None  # type: ignore[assignment] # Python's way to say: not there
    found["package"] = complaint(lambda: compiled(copy, signature, "h200", BLOCK=8))
    return found


def complaint(call: Any) -> str:
    try:
        call()
    except (RuntimeError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "none"


if __name__ == "__main__":
    results = {
        "targets": all_targets(),
        "tiles": tiles(),
        "tools": by_other_tools(),
        "stages": stages(),
        "leftovers": leftovers(),
        "errors": errors(),
        "torch is described": "torch" in sys.modules,
    }
    print(json.dumps(results))
