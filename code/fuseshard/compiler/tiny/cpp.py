"""Fusing a graph of pointwise operations into one C++ loop, and compiling it."""

import ctypes
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fuseshard.compiler.tiny.graph import Node
from fuseshard.measure.commands import run
from fuseshard.measure.provenance import compiler_command

TEMPLATES = {"add": "{0} + {1}", "mul": "{0} * {1}", "relu": "{0} < 0 ? 0 : {0}"}
"""operation -> C++ for one element; this relu keeps a NaN, as eager mode does"""

# All are Inductor's, too. -ffp-contract=off: no fused multiply-add, which rounds once less
# than eager mode. -fno-trapping-math: a `?:` on floats may become a vector instruction.
FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-trapping-math", "-shared", "-fPIC")
TIMEOUT_S = 60.0


def emit(nodes: Sequence[Node]) -> str:
    """Write one loop nest that carries an element through all operations, then takes the next.

    Args:
        nodes: inputs and operations, each after what it needs; the last one is the result, whose
            shape and strides are compiled in.

    Returns:
        C++ with one function, `kernel`: a pointer for each input, in order, and the result's.
    """
    shape, stride = nodes[-1].fake.shape, nodes[-1].fake.stride()
    pointers = [f"const float* {node.name}" for node in nodes if node.op == "input"]
    lines = [f'extern "C" void kernel({", ".join([*pointers, "float* out"])}) {{']
    for dim in sorted(range(len(shape)), key=lambda dim: -stride[dim]):  # as memory is laid out
        lines.append(f"  for (long i{dim} = 0; i{dim} < {shape[dim]}; i{dim}++) {{")
    for node in nodes:
        if node.op != "input":
            values = [_element(operand, shape) for operand in node.operands]
            lines.append(f"    float {node.name} = {TEMPLATES[node.op].format(*values)};")
    return "\n".join([*lines, f"    out[{_index(stride)}] = {node.name};", "}" * (len(shape) + 1)])


def build(source: str, flags: Sequence[str] = FLAGS) -> Any:
    """Compile C++ and return its `kernel`, a function of addresses; no file is left.

    Args:
        source: from `emit`.
        flags: of the compiler.

    Raises:
        RuntimeError: there is no C++ compiler, or it refuses the text.
    """
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        text, library = Path(folder, "kernel.cpp"), Path(folder, "kernel.so")
        text.write_text(source)
        compiler = compiler_command()
        command = [compiler, *flags, str(text), "-o", str(library)]
        status, output = run(command, timeout_s=TIMEOUT_S)
        if status != 0:
            why = f"{compiler} ended with status {status} ({output.strip()}), must compile C++"
            raise RuntimeError(f"tiny: {why}; install a C++ compiler, or name one in CXX.")
        return ctypes.CDLL(str(library)).kernel


def _element(operand: Node | float, shape: Sequence[int]) -> str:
    """Write an operand's value at the loops' position; broadcasting is a stride of 0."""
    if not isinstance(operand, Node):
        return f"float({operand!r})"
    is_input = operand.op == "input"
    return (
        f"{operand.name}[{_index(operand.fake.expand(shape).stride())}]"
        if is_input
        else operand.name
    )


def _index(stride: Sequence[int]) -> str:
    return " + ".join(f"{step} * i{dim}" for dim, step in enumerate(stride) if step) or "0"
