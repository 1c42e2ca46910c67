"""The bytecode of a function before and after Dynamo, one frame after the other."""

import dis
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

# Private, checked on torch 2.11 and 2.13: the hook that torch offers for rewritten bytecode.
from torch._dynamo.convert_frame import register_bytecode_hook

from fuseshard.compiler.dynamo.records import Frame
from fuseshard.compiler.isolate import isolated
from fuseshard.compiler.text import clean


def frames(fn: Callable[..., Any], *args: Any) -> tuple[Frame, ...]:
    """Compile a function's graphs with no backend, call it once, and keep each frame's bytecode.

    Args:
        fn: function to compile; a copy of it is compiled.
        args: its arguments; not modified unless `fn` modifies them.

    Returns:
        The function itself, then a resume function for each graph break that the call met.

    Raises:
        ValueError: Dynamo rewrote nothing.
    """
    heard: list[tuple[CodeType, CodeType]] = []
    handle = register_bytecode_hook(lambda before, after: heard.append((before, after)))
    try:
        torch.compile(isolated(fn), backend="eager", dynamic=False)(*args)
    finally:
        handle.remove()
    if not heard:
        raise ValueError(
            f"frames: Dynamo rewrote no bytecode of {fn.__name__}, must rewrite some; pass a "
            "function that computes with tensors."
        )
    return tuple(
        Frame(name=before.co_name, before=disassembled(before), after=disassembled(after))
        for before, after in heard
    )


def disassembled(code: CodeType | Callable[..., Any]) -> str:
    """Write bytecode with one instruction a line: source line, jump label, name, operand.

    Args:
        code: a code object, or the function that it belongs to.

    Returns:
        The same text on every run: no offsets, no counters of jumps.
    """
    instructions = list(dis.get_instructions(code))
    targets = sorted(i.argval for i in instructions if _jumps(i))
    labels = {offset: f"L{n}" for n, offset in enumerate(dict.fromkeys(targets), 1)}
    lines, last_line = [], None
    for instruction in instructions:
        line = instruction.positions.lineno if instruction.positions else None
        shown = f"{line}" if line is not None and line != last_line else ""
        last_line = line
        operand = (
            f"to {labels[instruction.argval]}" if _jumps(instruction) else _operand(instruction)
        )
        label = labels.get(instruction.offset, "")
        lines.append(f"{shown:>3} {label:>3}  {instruction.opname:<27} {operand}".rstrip())
    return clean("\n".join(lines))


def _operand(instruction: dis.Instruction) -> str:
    number = "" if instruction.arg is None else str(instruction.arg)
    return instruction.argrepr or number


def _jumps(instruction: dis.Instruction) -> bool:
    return instruction.opcode in dis.hasjrel or instruction.opcode in dis.hasjabs
