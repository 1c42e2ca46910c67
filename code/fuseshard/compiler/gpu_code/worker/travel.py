"""A program on its way to another process: its code travels, the numbers in its tensors don't.

Two steps. `pack` writes the program down with a number in the place of each tensor, and beside
it a list that says what each tensor looks like. `unpack` reads it in the other process and puts
tensors of a GPU, made under FakeTensorMode, in the places of the numbers.
"""

import hashlib
import io
import linecache
import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from fuseshard.compiler.gpu_code.worker.by_value import CodePickler, code_by_value, load_program


@dataclass(frozen=True, kw_only=True)
class TensorSpec:
    """What a compiler may know of a tensor: all but its numbers."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    """elements"""
    dtype: torch.dtype
    requires_grad: bool
    is_parameter: bool
    storage: int
    """number of the first tensor that lies in the same memory"""
    storage_offset: int
    """elements between the start of that memory and this tensor"""
    storage_bytes: int
    grad: int | None
    """number of the tensor in its `.grad`"""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """A program as bytes, and the tensors that stayed at home."""

    content: bytes
    """what `unpack` takes"""
    digest: str
    """SHA-256 of the program, of its code and of what its tensors look like; the same in each
    process, and whatever numbers the tensors hold"""
    tensors: tuple[torch.Tensor, ...]
    """the caller's own, in the order of their numbers"""
    specs: tuple[TensorSpec, ...]
    """in the same order"""


class _ProgramPickler(CodePickler):
    """Writes numbers in the places of tensors."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.tensors: list[torch.Tensor] = []
        self._numbers: dict[int, int] = {}
        self._has_optimizer = False

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, torch.Tensor):
            return "tensor", self.number(obj)
        return super().persistent_id(obj)

    def reducer_override(self, obj: Any) -> Any:
        self._has_optimizer |= isinstance(obj, torch.optim.Optimizer)
        return super().reducer_override(obj)

    def number(self, tensor: torch.Tensor) -> int:
        """Look a tensor's number up, which it gets when it is first met: ties are kept."""
        if id(tensor) not in self._numbers:
            _refuse_odd(tensor)
            self._numbers[id(tensor)] = len(self.tensors)
            self.tensors.append(tensor)
        return self._numbers[id(tensor)]

    def specs(self) -> tuple[TensorSpec, ...]:
        """Describe the tensors; gradients that nothing else refers to get numbers at the end."""
        storages: dict[int, int] = {}
        specs: list[TensorSpec] = []
        while len(specs) < len(self.tensors):
            specs.append(self._spec(len(specs), storages))
        return tuple(specs)

    def _spec(self, number: int, storages: dict[int, int]) -> TensorSpec:
        """Describe a tensor; `storages` has the first tensor of each memory, by its address."""
        tensor = self.tensors[number]
        storage = tensor.untyped_storage()
        return TensorSpec(
            shape=tuple(tensor.shape),
            stride=tuple(tensor.stride()),
            dtype=tensor.dtype,
            requires_grad=tensor.requires_grad,
            is_parameter=isinstance(tensor, torch.nn.Parameter),
            # Private, checked on torch 2.11 and 2.13: the address of the storage's own record.
            # Its data_ptr() won't do: it is 0 for all that have no numbers.
            storage=storages.setdefault(storage._cdata, number),
            storage_offset=int(tensor.storage_offset()),
            storage_bytes=storage.nbytes(),
            grad=self._grad_number(tensor),
        )

    def _grad_number(self, tensor: torch.Tensor) -> int | None:
        """Number of a leaf's gradient; other tensors warn when asked for theirs.

        None where no optimizer is in the program and no code reads `.grad`: a model is the same
        program before and after it was trained.
        """
        is_read = self._has_optimizer or "grad" in self.words
        grad = tensor.grad if is_read and tensor.is_leaf else None
        return None if grad is None else self.number(grad)


class _ProgramUnpickler(pickle.Unpickler):
    """Puts tensors in the places of the numbers."""

    def __init__(self, file: io.BytesIO, tensors: Sequence[torch.Tensor]) -> None:
        super().__init__(file)
        self._tensors = tensors

    def persistent_load(self, pid: Any) -> Any:
        kind, value = pid
        return self._tensors[value] if kind == "tensor" else kind(value)


def pack(fn: Callable[..., Any], args: tuple[Any, ...]) -> Packed:
    """Write a program down without its tensors' numbers.

    Functions and classes that no package installed here brings (of a notebook, of `__main__`, of
    modules beside it) travel as code, all others by name. What is set on a tensor stays behind,
    hooks included. Its `.grad` travels where code reads it or an optimizer does.

    Args:
        fn: function, method or module; not modified.
        args: its arguments: tensors, plain data, and lists, tuples and dictionaries of them.

    Returns:
        The program; its tensors aren't copied.

    Raises:
        ValueError: something can't travel; names `fn` or the argument.
    """
    _refuse_compiled(fn)
    with code_by_value():
        try:
            return _packed((fn, args))
        except Exception as error:
            name, value = _culprit(fn, args)
            raise ValueError(
                f"build: {name} is a {type(value).__name__} that can't be sent to the process "
                f"that writes GPU code ({error}); pass functions, modules, tensors and plain "
                "data, and make open files, locks and what torch.compile returns elsewhere."
            ) from error


def unpack(
    content: bytes, device: str = "cuda", *, values: Sequence[torch.Tensor] | None = None
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[int, int]]:
    """Read a program, with new tensors in the places of its own. Call it under FakeTensorMode.

    Every tensor is made on the device, so that a constant of no dims, which a CPU program may
    keep on the CPU, is on the GPU too. A tensor that the program makes itself is where the
    program makes it: a fixed device="cpu" in its code stays.

    Args:
        content: from `pack`, in a process that can import what travelled by name.
        device: where the tensors are.
        values: tensors to be used as they are, in the order of their numbers, instead of new ones.

    Returns:
        The function, its arguments, and the number of each tensor by its `id`; that holds as
        long as function and arguments live.
    """
    message = pickle.loads(content)
    for name, lines in message["sources"].items():
        # Without a time of change, the entry is kept although no file has that name.
        linecache.cache[name] = (sum(map(len, lines)), None, lines, name)
    tensors = _made(message["specs"], device) if values is None else values
    fn, args = load_program(_ProgramUnpickler(io.BytesIO(message["program"]), tensors))
    return fn, args, {id(tensor): number for number, tensor in enumerate(tensors)}


def _packed(program: tuple[Callable[..., Any], tuple[Any, ...]]) -> Packed:
    file = io.BytesIO()
    pickler = _ProgramPickler(file)
    pickler.dump_program(program)
    specs = pickler.specs()
    described = repr(specs).encode()
    message = {"program": file.getvalue(), "specs": specs, "sources": pickler.sources()}
    return Packed(
        content=pickle.dumps(message),
        # Not of the sources: a line that changed elsewhere in the file is no other program.
        digest=hashlib.sha256(file.getvalue() + described).hexdigest(),
        tensors=tuple(pickler.tensors),
        specs=specs,
    )


def _made(specs: Sequence[TensorSpec], device: str) -> list[torch.Tensor]:
    """Make the tensors; those that shared memory share it again."""
    num_sharing = Counter(spec.storage for spec in specs)
    storages: dict[int, torch.UntypedStorage] = {}
    tensors = []
    for spec in specs:
        if num_sharing[spec.storage] == 1 and spec.storage_offset == 0:
            tensor = torch.empty_strided(spec.shape, spec.stride, dtype=spec.dtype, device=device)
        else:
            if spec.storage not in storages:
                whole = torch.empty(spec.storage_bytes, dtype=torch.uint8, device=device)
                storages[spec.storage] = whole.untyped_storage()
            # Not a slice of `whole`: to autograd that is a view, which the original need not be.
            tensor = torch.empty(0, dtype=spec.dtype, device=device).set_(
                storages[spec.storage], spec.storage_offset, spec.shape, spec.stride
            )
        if spec.is_parameter:
            tensor = torch.nn.Parameter(tensor, requires_grad=spec.requires_grad)
        tensors.append(tensor.requires_grad_(spec.requires_grad))
    for tensor, spec in zip(tensors, specs, strict=True):
        if spec.grad is not None:
            tensor.grad = tensors[spec.grad]
    return tensors


def _refuse_odd(tensor: torch.Tensor) -> None:
    """Say no to tensors that are more than numbers in strided memory."""
    is_plain = type(tensor) in (torch.Tensor, torch.nn.Parameter)
    if not is_plain or tensor.layout is not torch.strided or tensor.is_quantized:
        raise ValueError(
            f"got a {type(tensor).__name__} with layout {tensor.layout}, must be a plain "
            "torch.Tensor or Parameter with strides, not quantized"
        )


def _refuse_compiled(fn: Callable[..., Any]) -> None:
    """Say no to what torch.compile returned: the other process compiles."""
    is_wrapped = hasattr(fn, "_torchdynamo_orig_callable") or hasattr(fn, "_orig_mod")
    # torch.compiler.disable wraps too.
    if is_wrapped and not getattr(fn, "_torchdynamo_disable", False):
        raise ValueError(
            f"build: got {getattr(fn, '__name__', type(fn).__name__)}, already compiled; must be "
            "the function itself; pass what you gave to torch.compile."
        )


def _culprit(fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, Any]:
    """Find the argument that can't be written down, or else the function."""
    for index, arg in enumerate(args):
        try:
            _ProgramPickler(io.BytesIO()).dump_program(arg)
        except Exception:
            return f"example_inputs[{index}]", arg
    return "fn", fn
