"""One kernel at every stage from Triton to machine code, and where its deeds end up. Torch-free.

A deed is found by the words that a stage has for it. In the machine code the counts have to be
those of `MachineCode.resources`, which were counted in another way.
"""

from __future__ import annotations

import ast
import re

from fuseshard.compiler.gpu_code.records import MachineCode
from fuseshard.compiler.gpu_study.records import Ladder, Rung, Stage

DEEDS = ("load", "exchange", "wait", "exp", "divide", "store")
"""what is followed: reading global memory, handing values to other threads, waiting for them,
exponentials, divisions, writing global memory"""

NEVER = r"(?!)"
"""matches nothing: the stage has no word for the deed"""

_MLIR = {
    "load": r"\btt\.load\b|\bamdg\w*\.buffer_load\b",
    "exchange": r"\"tt\.reduce\"",
    "wait": NEVER,
    "exp": r"\bmath\.exp2?\b|extern_elementwise.*exp",
    "divide": r"\barith\.divf\b",
    "store": r"\btt\.store\b|\bamdg\w*\.buffer_store\b",
}
WORDS: dict[Stage, dict[str, str]] = {
    "Triton": {
        "load": r"\btl\.load\(",
        "exchange": r"\btl\.(?:max|sum)\(|\btriton_helpers\.max2\(",
        "wait": NEVER,
        "exp": r"\b(?:tl|tl_math|libdevice)\.exp\(",
        "divide": r" / ",
        "store": r"\btl\.store\(",
    },
    "TTIR": _MLIR,
    "TTGIR": _MLIR,
    "LLVM IR": {
        "load": r"\bld\.global\b|= load .*addrspace\(1\)|call .*buffer\.load",
        "exchange": r"call .*(?:shfl\.sync|update\.dpp|ds\.bpermute|ds\.swizzle|permlane)",
        "wait": r"call .*barrier",
        "exp": r"call .*(?:ex2\.approx|llvm\.exp2?\.|amdgcn\.exp2\.)",
        "divide": r"call .*(?:div\.full|div\.rn|div\.approx)|= fdiv ",
        "store": r"\bst\.global\b|^ +store .*addrspace\(1\)|call .*buffer\.store",
    },
    "PTX": {
        "load": r"\bld\.global\b",
        "exchange": r"\bshfl\.sync\b",
        "wait": r"\bbar(?:rier)?\.(?:cta\.)?sync\b",
        "exp": r"\bex2\.approx\b",
        "divide": r"\b(?:div\.\w+|rcp\.\w+)\.",
        "store": r"\bst\.global\b",
    },
    "SASS": {
        "load": r"\bLDG\.",
        "exchange": r"\bSHFL\.",
        "wait": r"\bBAR\.(?!ARV)",
        "exp": r"\bMUFU\.EX2\b",
        "divide": r"\bMUFU\.RCP\b",
        "store": r"\bSTG\.",
    },
    "amdgcn": {
        "load": r"^\t(?:global|buffer)_load_",
        "exchange": r"^\t(?:ds_b?permute|ds_swizzle|v_permlane|\w+_dpp\b)",
        "wait": r"^\ts_barrier\b",
        "exp": r"^\tv_exp_f32",
        "divide": r"^\tv_rcp_f32",
        "store": r"^\t(?:global|buffer)_store_",
    },
}
"""stage -> deed -> regular expression that is found in its lines"""


def ladder(triton: str, code: MachineCode) -> Ladder:
    """Find each deed of a kernel at each stage.

    Args:
        triton: its source.
        code: what was compiled from it.

    Raises:
        ValueError: the machine code has other loads, stores, exchanges or waits here than in its
            resources.
    """
    texts: dict[Stage, str] = {
        "Triton": triton.strip("\n"),
        "TTIR": code.ttir,
        "TTGIR": code.ttgir,
        "LLVM IR": code.llir,
    }
    if code.sass is None:
        texts["amdgcn"] = code.assembly
    else:
        texts |= {"PTX": code.assembly, "SASS": code.sass}
    rungs = tuple(_rung(stage, text) for stage, text in texts.items())
    _require_same(rungs[-1], code)
    return Ladder(target=code.target, rungs=rungs, resources=code.resources)


def _rung(stage: Stage, text: str) -> Rung:
    lines = text.splitlines()
    places = {
        deed: tuple(i for i, line in enumerate(lines, 1) if _does(line, WORDS[stage][deed]))
        for deed in DEEDS
    }
    num_lines = _statements(text) if stage == "Triton" else sum(map(_is_code, lines))
    return Rung(stage=stage, text=text, num_lines=num_lines, places=places)


def _statements(triton: str) -> int:
    """Count the statements of a kernel's body, its docstring left out."""
    nodes = [node for node in ast.walk(ast.parse(triton)) if isinstance(node, ast.stmt)]
    return sum(not isinstance(node, ast.FunctionDef) and not _is_text(node) for node in nodes)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_code(line: str) -> bool:
    """Tell whether a line is neither empty nor a comment."""
    return not re.match(r"\s*(?:$|//|;|# |declare )", line)


def _does(line: str, pattern: str) -> bool:
    """Tell whether a line does a deed; declarations and comments only name it."""
    return _is_code(line) and re.search(pattern, line) is not None


def _require_same(machine: Rung, code: MachineCode) -> None:
    counted = code.resources
    expected = {
        "load": counted.loads,
        "store": counted.stores,
        "exchange": counted.shuffles,
        "wait": counted.barriers,
    }
    found = {deed: machine.count(deed) for deed in expected}
    if found != expected:
        raise ValueError(
            f"ladder: found {found} in the {machine.stage}, must be {expected} as counted for its "
            "resources (a deed whose word is missing here would be shown as gone); add the word."
        )
