"""Compiled kernels as text fit for a page: without addresses, paths and debugging data."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

TIMEOUT_S = 60.0


class MissingToolError(RuntimeError):
    """A package or program that compiles for a GPU, or takes its code apart, isn't there."""


def sass(cubin: bytes, *, program: Path) -> str:
    """Take NVIDIA's machine code apart.

    nvdisasm names the places that branches lead to, so that addresses can go without loss;
    cuobjdump, no faster, leaves branches with bare addresses.

    Args:
        cubin: what ptxas made; one kernel.
        program: nvdisasm.

    Returns:
        Labels and one instruction a line, without addresses, encodings and padding at the end.

    Raises:
        MissingToolError: `program` can't be started, or can't read this cubin.
    """
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        file = Path(folder) / "kernel.cubin"
        file.write_bytes(cubin)
        # The analysis of data flow would only say where indirect branches lead; Triton has none.
        command = [str(program), "--print-code", "--no-dataflow", str(file)]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=TIMEOUT_S,
            )
        except OSError as error:
            raise MissingToolError(
                f"sass: {program.name} can't be started ({error.strerror}), must be there to show "
                "machine code; install triton again, its wheel holds the program, or name another "
                "in TRITON_NVDISASM_PATH."
            ) from error
    if done.returncode:
        raise MissingToolError(
            f"sass: {program.name} ended with {done.returncode} "
            f"({done.stderr.strip()[:300]}), must end with 0; use an nvdisasm as new as the "
            "architecture, such as the one in triton's wheel."
        )
    return clean_sass(done.stdout)


_ADDRESS = re.compile(r"^\s*/\*[0-9a-f]+\*/( *)")
_ADDRESS_COLUMNS = 11
"""blanks after an address beyond those that a predicate needs"""
_CODE = re.compile(r"^\s+\S.*;$|^[.$\w]+:$")


def clean_sass(text: str) -> str:
    """Keep labels and instructions of nvdisasm's text; drop addresses and directives.

    Args:
        text: output of `nvdisasm --print-code`.
    """
    lines = [_without_address(line) for line in text.splitlines()]
    code = [line for line in lines if _CODE.match(line) and not line.startswith(".text.")]
    while code and (code[-1].strip() == "NOP;" or code[-1].endswith(":")):
        code.pop()
    return "\n".join(code)


def _without_address(line: str) -> str:
    """Drop the address, and keep opcodes in one column, predicates to the left of it."""
    found = _ADDRESS.match(line)
    if found is None:
        return line.rstrip()
    return " " * max(1, len(found[1]) - _ADDRESS_COLUMNS) + line[found.end() :].rstrip()


# Parentheses may stand in one another three deep, texts in quotes may hold any of them.
_FLAT = r'(?:[^()"]|"[^"]*")*'
_NESTED = rf'(?:[^()"]|"[^"]*"|\({_FLAT}\))*'
_LOCATION = re.compile(rf' loc\((?:[^()"]|"[^"]*"|\({_NESTED}\))*\)')
_NAMED_LOCATION = re.compile(r"^#loc\d* = .*\n?", re.MULTILINE)


def clean_mlir(text: str) -> str:
    """Drop from Triton's intermediate code where each operation stands in the Python file.

    Args:
        text: TTIR or TTGIR.
    """
    return _LOCATION.sub("", _NAMED_LOCATION.sub("", text)).strip("\n")


_DEBUG_REFERENCE = re.compile(r",? !dbg !\d+")
_DEFINED_NODE = re.compile(r"^(!\d+) = ")
_NODE = re.compile(r"!\d+")
_FILE_LINE = re.compile(r"^(?:source_filename|!llvm\.dbg\.cu) = ")


def clean_llvm(text: str) -> str:
    """Drop debugging data, paths among it, from LLVM's intermediate code.

    Args:
        text: LLVM IR.

    Returns:
        The code, and of its numbered metadata what is still referred to.
    """
    lines = _DEBUG_REFERENCE.sub("", text).splitlines()
    nodes = {found[1]: line for line in lines if (found := _DEFINED_NODE.match(line))}
    code = [line for line in lines if not (_DEFINED_NODE.match(line) or _FILE_LINE.match(line))]
    reached: set[str] = set()
    waiting = _NODE.findall("\n".join(code))
    while waiting:
        node = waiting.pop()
        if node in nodes and node not in reached:
            reached.add(node)
            waiting += _NODE.findall(nodes[node])
    kept = [line for node, line in nodes.items() if node in reached]
    return "\n".join(code).strip("\n") + "\n" * bool(kept) + "\n".join(kept)


_DEBUG_SECTION = re.compile(r'^\s*\.section\s+"?\.debug')
_OTHER_PART = re.compile(r"^\s*\.(?:section|text|amdgpu_metadata)\b")
_DEBUG_LINE = re.compile(r"^\s*\.(?:loc|file|cfi_\w+)\b|^(?:\$L__|\.L)tmp\d+:")


def clean_assembly(text: str) -> str:
    """Drop line numbers and debugging sections, which spell paths out byte by byte.

    Args:
        text: PTX or amdgcn.
    """
    kept = []
    in_debug = False
    for line in text.splitlines():
        if _DEBUG_SECTION.match(line):
            in_debug = True
        elif _OTHER_PART.match(line):
            in_debug = False
        if not in_debug and not _DEBUG_LINE.match(line):
            kept.append(line)
    return "\n".join(kept).strip("\n")
