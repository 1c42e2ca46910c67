"""Reading bytecode: Python values are computed as ever, operations on tensors are recorded."""

import dis
import functools
import operator
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

from fuseshard.compiler.tiny.cpp import TEMPLATES
from fuseshard.compiler.tiny.graph import Guard, Node, Scopes, UnsupportedError, facts

SILENT = {"RESUME", "NOP", "PRECALL", "PUSH_NULL", "COPY_FREE_VARS", "TO_BOOL"}
OPERATORS = {"*": operator.mul, "+": operator.add, "-": operator.sub, ">": operator.gt}
KERNEL_TAKES = "torch.float32 on cpu, requires_grad=False"
GUARDED = (torch.Tensor, bool, int, float, str, FunctionType, BuiltinFunctionType, ModuleType)


class Interpreter:
    """One run through a function's bytecode, in which tensors are stand-ins without data."""

    def __init__(self, scopes: Scopes) -> None:
        """Start with nothing read and nothing recorded."""
        self.scopes = scopes
        self.stack: list[Any] = []
        self.assigned: dict[str, Any] = {}
        self.read: dict[tuple[str, str], Any] = {}
        self.guards: list[Guard] = []
        self.nodes: list[Node] = []

    def run(self, fn: Callable[..., Any]) -> None:
        """Follow the bytecode up to its return; the last node is then the result.

        Raises:
            UnsupportedError: it returns something else.
        """
        instructions = {instruction.offset: instruction for instruction in dis.get_instructions(fn)}
        following = dict(zip(instructions, list(instructions)[1:], strict=False))
        offset = 0
        while instructions[offset].opname != "RETURN_VALUE":
            offset = self._step(instructions[offset]) or following[offset]
        if self.nodes[-1:] != [self.stack.pop()] or self.nodes[-1].op == "input":
            raise UnsupportedError("what is returned isn't the last tensor computed", "it")

    def _step(self, instruction: dis.Instruction) -> int | None:
        """Carry out one instruction; return the offset to go on at, None for the next one's."""
        opname = instruction.opname.replace("_FORWARD", "").replace("_BACKWARD", "")
        handler = getattr(self, f"_{opname.lower()}", None)
        if handler is None and opname not in SILENT:
            raise UnsupportedError(f"the bytecode has {opname}", "what this class has a method for")
        operand = instruction.argrepr if opname == "BINARY_OP" else instruction.argval
        target: int | None = handler(operand) if handler else None
        return target

    def _load_const(self, value: object) -> None:
        self.stack.append(value)

    def _load_fast(self, name: str) -> None:
        is_assigned = name in self.assigned
        self.stack.append(self.assigned[name] if is_assigned else self._outside("argument", name))

    def _store_fast(self, name: str) -> None:
        self.assigned[name] = self.stack.pop()

    def _load_fast_load_fast(self, names: tuple[str, str]) -> None:  # Python 3.13 joins two
        self._load_fast(names[0])
        self._load_fast(names[1])

    def _store_fast_load_fast(self, names: tuple[str, str]) -> None:
        self._store_fast(names[0])
        self._load_fast(names[1])

    def _load_global(self, name: str) -> None:
        self.stack.append(self._outside("global", name))

    def _load_deref(self, name: str) -> None:
        self.stack.append(self._outside("closure", name))

    def _load_attr(self, name: str) -> None:
        owner = self.stack.pop()
        record = functools.partial(self._record, name, owner)
        self.stack.append(record if isinstance(owner, Node) else getattr(owner, name))

    def _binary_op(self, symbol: str) -> None:
        right, left = self.stack.pop(), self.stack.pop()
        self.stack.append(self.apply(OPERATORS.get(symbol, symbol), left, right))

    def _call(self, count: int) -> None:
        operands = [self.stack.pop() for _ in range(count)]
        self.stack.append(self.apply(self.stack.pop(), *reversed(operands)))

    def _jump(self, target: int) -> int:
        return target

    def _pop_jump_if_false(self, target: int) -> int | None:
        condition = self.stack.pop()
        if isinstance(condition, Node):
            raise UnsupportedError("a branch depends on a tensor's data", "one on Python values")
        return None if condition else target

    def _pop_jump_if_true(self, target: int) -> int | None:
        return None if self._pop_jump_if_false(target) else target

    _load_method, _compare_op, _load_fast_check = _load_attr, _binary_op, _load_fast

    def _outside(self, scope: str, name: str) -> Any:
        """Load a value that the function didn't make, and guard what was read."""
        if (scope, name) not in self.read:
            value = self.scopes[scope].get(name)
            if not isinstance(value, GUARDED):
                raise UnsupportedError(f"{scope} {name} is {value!r}", "what guards compare")
            self.guards.append(Guard(scope, name, facts(value)))
            if isinstance(value, torch.Tensor):
                value = self._stand_in(name, value)
            self.read[scope, name] = value
        return self.read[scope, name]

    def _stand_in(self, name: str, tensor: torch.Tensor) -> Node:
        """Make an input of the graph, without data."""
        found = f"{tensor.dtype} on {tensor.device.type}, requires_grad={tensor.requires_grad}"
        if found != KERNEL_TAKES:
            raise UnsupportedError(f"{name} is {found}", KERNEL_TAKES)
        fake = torch.empty_strided(tensor.shape, tensor.stride(), device="meta")
        self.nodes.append(Node(name, "input", (), fake))
        return self.nodes[-1]

    def apply(self, function: Any, *operands: Any) -> Any:
        """Compute with Python values, record with tensors.

        Raises:
            UnsupportedError: the function isn't a tensor's method or an operator.
        """
        is_method = isinstance(function, functools.partial)
        if not is_method and any(isinstance(operand, Node) for operand in operands):
            return self._record(getattr(function, "__name__", function), *operands)
        if not is_method and function not in OPERATORS.values():
            raise UnsupportedError(f"{function} is called on Python values", "an operator there")
        return function(*operands)

    def _record(self, op: str, *operands: Any) -> Node:
        """Add an operation to the graph; the meta device says which shape comes out."""
        if op not in TEMPLATES:
            raise UnsupportedError(f"{op} is done to a tensor", f"one of {', '.join(TEMPLATES)}")
        fakes = [operand.fake if isinstance(operand, Node) else operand for operand in operands]
        name = f"t{sum(node.op != 'input' for node in self.nodes)}"
        self.nodes.append(Node(name, op, operands, getattr(torch, op)(*fakes)))
        return self.nodes[-1]
