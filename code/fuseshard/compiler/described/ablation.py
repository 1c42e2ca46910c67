"""What each replacement is for, found out by leaving it out: in processes of their own."""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# Private, checked on torch 2.11 and 2.13: Inductor's view of a device, and tensors without numbers.
from torch._inductor.runtime.hints import DeviceProperties
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from triton import runtime

from fuseshard.compiler.child import run_script
from fuseshard.compiler.described.describe import REPLACEMENTS, described_gpu
from fuseshard.compiler.described.records import Ablation
from fuseshard.compiler.described.targets import Vendor, target
from fuseshard.compiler.planning.written import module_text

_AT_ONCE = 2
"""processes, as many as a small machine has cores"""
_TIMEOUT_S = 300.0
_LONGEST = 100
"""characters of an error that are quoted"""
_SCRIPT = """
import json, os
os.dup2(1, 2)  # a process that C++ ends says why on stderr
from fuseshard.compiler.described import describe, targets
{prepare}
from fuseshard.compiler.described import ablation
for name, leave_out in {jobs}:
    print(json.dumps([name, leave_out, ablation.outcome(name, leave_out=leave_out)]), flush=True)
"""
_PREPARE = {"nvidia": "", "amd": "describe.load_inductor(targets.target('mi300x'))"}
_LAST_WORDS = re.compile(r"what\(\):\s*(.*)")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A program that needs one of the replacements."""

    text: str
    """the program, in short"""
    run: Callable[[Collection[str]], str]
    """describes a GPU without these replacements, runs the program, and returns what came of it"""
    vendor: Vendor = "nvidia"
    ends_the_process: bool = False
    """whether C++ ends the process where the replacement is missing"""


def ablations(names: Sequence[str] = tuple(REPLACEMENTS)) -> tuple[Ablation, ...]:
    """Run for each replacement a program that needs it, with it and without it.

    Args:
        names: out of `REPLACEMENTS`.

    Returns:
        One record a name, in the order of `names`.

    Raises:
        ValueError: an unknown name.
    """
    unknown = sorted(set(names) - set(PROBES))
    if unknown:
        raise ValueError(f"ablations: names holds {unknown}, must be among {list(PROBES)}.")
    found: dict[tuple[str, bool], str] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for outcomes in pool.map(lambda shared: _run(*shared), _processes(names)):
            found |= outcomes
    return tuple(
        Ablation(
            name=name,
            purpose=REPLACEMENTS[name].purpose,
            program=PROBES[name].text,
            with_it=found[name, False],
            without_it=found[name, True],
        )
        for name in names
    )


def outcome(name: str, *, leave_out: bool) -> str:
    """Run a replacement's program in this process, and say in a few words what came of it.

    Args:
        name: of the replacement; without the device guard the process may end.
        leave_out: whether to leave it out.
    """
    try:
        return PROBES[name].run([name] if leave_out else [])
    except Exception as error:
        return _said(error)


def _processes(names: Sequence[str]) -> Iterator[tuple[Vendor, list[tuple[str, bool]]]]:
    """Share the runs out: a process describes one vendor, and may end where a guard is missing."""
    for vendor in ("nvidia", "amd"):
        here = [name for name in names if PROBES[name].vendor == vendor]
        jobs = [(name, leave_out) for name in here for leave_out in (False, True)]
        fatal = [(name, leave_out) for name, leave_out in jobs if _is_fatal(name, leave_out)]
        yield from ((vendor, [job]) for job in fatal)
        if len(jobs) > len(fatal):
            yield vendor, [job for job in jobs if job not in fatal]


def _is_fatal(name: str, leave_out: bool) -> bool:
    return leave_out and PROBES[name].ends_the_process


def _run(vendor: Vendor, jobs: Sequence[tuple[str, bool]]) -> dict[tuple[str, bool], str]:
    script = _SCRIPT.format(prepare=_PREPARE[vendor], jobs=jobs)
    result = run_script(script, timeout_s=_TIMEOUT_S)
    lines = [line for line in result.output.splitlines() if line.startswith('["')]
    found = {(name, leave_out): text for name, leave_out, text in map(json.loads, lines)}
    last_words = _LAST_WORDS.search(result.output)
    for job in jobs:
        if job not in found and last_words is None:
            raise RuntimeError(f"ablations: {job[0]} gave nothing, must give a result; {result}.")
        if job not in found and last_words is not None:
            found[job] = f"the process ends: {_shortened(last_words[1])}"
    return found


def _said(error: BaseException) -> str:
    """Quote the first line of the error that all the others were raised from."""
    while error.__cause__ is not None or error.__context__ is not None:
        error = error.__cause__ or error.__context__ or error
    first = next(iter(str(error).strip().splitlines()), "")
    return _shortened(f"{type(error).__name__}: {first}")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST].rsplit(" ", 1)[0] + " ..."


@contextmanager
def _described(key: str, without: Collection[str]) -> Iterator[None]:
    with described_gpu(target(key), without=without), FakeTensorMode():
        yield


def _on_h200(program: Callable[[], Any]) -> Callable[[Collection[str]], str]:
    def run(without: Collection[str]) -> str:
        with _described("h200", without):
            return str(program())

    return run


def _second_target(without: Collection[str]) -> str:
    with _described("h200", without):
        DeviceProperties.create(torch.device("cuda", 0))
    with _described("a100", without):
        device = DeviceProperties.create(torch.device("cuda", 0))
        return f"{device.multi_processor_count} multiprocessors"


def _amd_target(without: Collection[str]) -> str:
    with _described("mi300x", without):
        # Private, checked on triton 3.6 and 3.9: no public way leads to the driver in use.
        return str(runtime.driver.active.get_current_target())


def _gradient() -> str:
    weight = torch.empty(7, 7, device="cuda", requires_grad=True)
    (weight @ weight).sum().backward()
    assert weight.grad is not None
    return f"a gradient on {weight.grad.device}"


def _convolution_layout() -> str:
    image = torch.empty(2, 3, 9, 9, device="cuda").to(memory_format=torch.channels_last)
    result = nn.functional.conv2d(image, torch.empty(5, 3, 3, 3, device="cuda"))
    is_last = result.is_contiguous(memory_format=torch.channels_last)
    return "channels last" if is_last else "channels first"


def _attention_operators() -> str:
    query, key, value = torch.empty(3, 2, 4, 128, 64, device="cuda", dtype=torch.bfloat16)
    with _Operators() as called:
        nn.functional.scaled_dot_product_attention(query, key, value)
    return ", ".join(name for name in called.names if "attention" in name or "mm" in name)


class _Operators(TorchDispatchMode):
    """Notes which operators are called."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


def _kernels(fn: Callable[..., Any], *shapes: tuple[int, ...]) -> str:
    """Have Inductor write a function's module, and count the Triton kernels in it."""
    text = module_text(fn, *[torch.empty(shape, device="cuda") for shape in shapes])
    count = text.count("async_compile.triton(")
    return f"{count} Triton kernel" + "s" * (count != 1)


def _causal(scores: torch.Tensor) -> torch.Tensor:
    """Softmax of [L, L] scores, of which those in the future count nothing."""
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, float("-inf")).softmax(-1)


def _running() -> str:
    # Private, checked on torch 2.11 and 2.13: the first lines of each module that Inductor writes.
    with torch.cuda._DeviceGuard(0):
        torch.cuda.set_device(0)
        return f"stream {torch._C._cuda_getCurrentRawStream(0)}"


def _inside_device() -> str:
    with torch.cuda.device(0):
        return f"device {torch.cuda.current_device()}"


def _free_memory() -> str:
    free_bytes, _ = torch.cuda.mem_get_info()
    return f"{free_bytes} bytes"


PROBES = {
    "memos": Probe(text="describe an H200, then an A100", run=_second_target),
    "device guard": Probe(
        text="(w @ w).sum().backward()", run=_on_h200(_gradient), ends_the_process=True
    ),
    "accelerator hooks": Probe(text="(w @ w).sum().backward()", run=_on_h200(_gradient)),
    "library hooks": Probe(
        text="conv2d(x, w), channels of x last", run=_on_h200(_convolution_layout)
    ),
    "factories": Probe(
        text="compile a softmax under a causal mask",
        run=_on_h200(lambda: _kernels(_causal, (9, 9))),
    ),
    "attention choice": Probe(
        text="scaled_dot_product_attention(q, k, v) in bfloat16", run=_on_h200(_attention_operators)
    ),
    "tensor creation": Probe(
        text='torch.tensor(2.5, device="cuda").device',
        run=_on_h200(lambda: torch.tensor(2.5, device="cuda").device),
    ),
    "version": Probe(text="ask Triton for its target, on an MI300X", run=_amd_target, vendor="amd"),
    "device queries": Probe(
        text="torch.cuda.get_device_name()", run=_on_h200(torch.cuda.get_device_name)
    ),
    "device exchange": Probe(text="with torch.cuda.device(0)", run=_on_h200(_inside_device)),
    "random state": Probe(
        text="compile torch.sin", run=_on_h200(lambda: _kernels(torch.sin, (7,)))
    ),
    "running calls": Probe(text="begin as a compiled program does", run=_on_h200(_running)),
    "memory size": Probe(text="torch.cuda.mem_get_info()", run=_on_h200(_free_memory)),
    "module moves": Probe(
        text='nn.Linear(3, 5).to("cuda").weight.device',
        run=_on_h200(lambda: nn.Linear(3, 5).to("cuda").weight.device),
    ),
    "Triton driver": Probe(
        text="compile torch.sin", run=_on_h200(lambda: _kernels(torch.sin, (7,)))
    ),
}
"""name of the replacement -> a program that needs it"""
