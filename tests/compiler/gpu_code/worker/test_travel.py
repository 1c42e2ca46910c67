"""Programs in another process. Oracle: the program itself, run here on the same numbers."""

import functools
import json
import linecache
import operator
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cloudpickle
import pytest
import torch
from torch import nn

# Private, checked on torch 2.11 and 2.13: tensors without numbers have no public name.
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import fuseshard.models.minigpt
from fuseshard.compiler.gpu_code.worker.travel import pack, unpack
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

ROOT = Path(__file__).parents[4]
HALF = 0.5
aten = torch.ops.aten


class Tied(nn.Module):
    """One weight under two names, buffers of both kinds, a constant and a frozen parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight
        self.first.bias.requires_grad_(False)
        self.register_buffer("cos", torch.ones(3), persistent=False)
        self.register_buffer("sin", torch.ones(3), persistent=False)
        self.constant = torch.tensor(2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x)) * self.constant


def halved(x: torch.Tensor) -> torch.Tensor:
    return x * HALF


def arrived(fn: Callable[..., Any], *args: Any) -> tuple[Any, Any, dict[int, int]]:
    """Pack a program, and unpack it with fake tensors of the CPU."""
    content = pack(fn, args).content
    with FakeTensorMode():
        return unpack(content, "cpu")


def with_numbers(fn: Callable[..., Any], *args: Any) -> Any:
    """What a travelled program computes on the tensors that stayed at home.

    Without FakeTensorMode, `unpack` makes real tensors; they are filled in the order of numbers.
    """
    packed = pack(fn, args)
    travelled, travelled_args, numbers = unpack(packed.content, "cpu")
    by_id = {id(t): t for t in _tensors(travelled, travelled_args)}
    with torch.no_grad():
        for key, number in numbers.items():
            if key in by_id:
                by_id[key].copy_(packed.tensors[number])
    return travelled(*travelled_args)


def _tensors(fn: Any, args: Any) -> list[torch.Tensor]:
    held = [*args]
    if isinstance(fn, nn.Module):
        held += [*fn.parameters(), *fn.buffers()]
        held += [v for m in fn.modules() for v in vars(m).values()]
    return [value for value in held if isinstance(value, torch.Tensor)]


def test_a_module_computes_there_what_it_computes_here() -> None:
    torch.manual_seed(0)
    module, x = Tied(), torch.randn(2, 3)
    assert torch.equal(with_numbers(module, x), module(x))
    module.constant = torch.tensor(3.0)
    other = with_numbers(module, x)
    module.constant = torch.tensor(2.0)
    assert not torch.equal(other, module(x))


def test_tensors_arrive_without_numbers_and_otherwise_as_they_were() -> None:
    x = torch.randn(4, 6, dtype=torch.float64).t().requires_grad_()
    fn, (x_there,), numbers = arrived(Tied(), x)
    assert isinstance(x_there, FakeTensor)
    assert (x_there.shape, x_there.stride()) == ((6, 4), (1, 6))
    assert (x_there.dtype, x_there.requires_grad) == (torch.float64, True)
    assert isinstance(fn.first.weight, nn.Parameter)
    assert not isinstance(fn.cos, nn.Parameter)
    assert (fn.first.weight.requires_grad, fn.first.bias.requires_grad) == (True, False)
    assert isinstance(fn.constant, FakeTensor)
    assert numbers[id(x_there)] == len(numbers) - 1


def test_numbers_lead_back_to_the_callers_own_tensors() -> None:
    module, x = Tied(), torch.randn(2, 3)
    packed = pack(module, (x, x))
    with FakeTensorMode():
        fn, args, numbers = unpack(packed.content, "cpu")
    assert packed.tensors[numbers[id(fn.first.weight)]] is module.first.weight
    assert packed.tensors[numbers[id(fn.second.bias)]] is module.second.bias
    assert packed.tensors[numbers[id(args[0])]] is x
    assert args[0] is args[1]


def test_ties_are_kept() -> None:
    fn, _, _ = arrived(Tied(), torch.ones(2, 3))
    assert fn.second.weight is fn.first.weight
    assert fn.second.bias is not fn.first.bias


def test_views_share_memory_there_too() -> None:
    base = torch.arange(12.0)
    _, (left, right, other), _ = arrived(
        halved, base[1:7].view(2, 3), base[6:].view(3, 2).t(), torch.ones(12)
    )
    assert left.untyped_storage()._cdata == right.untyped_storage()._cdata
    assert left.untyped_storage()._cdata != other.untyped_storage()._cdata
    assert (left.storage_offset(), right.storage_offset()) == (1, 6)
    assert right.stride() == (1, 2)


def test_gradients_travel_with_their_parameters() -> None:
    params = [nn.Parameter(torch.ones(2, 3)), nn.Parameter(torch.ones(5))]
    params[0].grad = torch.ones(2, 3)
    optimizer = torch.optim.AdamW(params, lr=0.1)
    step, _, _ = arrived(optimizer.step)
    first, second = step.__self__.param_groups[0]["params"]
    assert first.grad.shape == (2, 3)
    assert second.grad is None


def test_a_model_is_the_same_program_after_it_was_trained() -> None:
    model, x = nn.Linear(3, 2), torch.ones(4, 3)
    before = pack(model, (x,))
    model(x).sum().backward()
    assert pack(model, (x,)).digest == before.digest
    reader = functools.partial(lambda model, x: model.weight.grad, model)
    assert len(pack(reader, (x,)).tensors) == len(before.tensors) + 2


def test_everything_lands_on_the_device_that_is_asked_for() -> None:
    fn, args, _ = unpack(pack(Tied(), (torch.ones(2, 3),)).content, "meta")
    assert {t.device.type for t in _tensors(fn, args)} == {"meta"}


@pytest.mark.parametrize(
    "fn",
    [
        torch.relu,
        nn.functional.gelu,
        operator.neg,
        lambda x: aten.neg.default(aten.mul(x, 3)),
        functools.partial(torch.mul, 3),
        functools.cache(halved),
        torch.no_grad()(halved),
        nn.Sequential(nn.ReLU()),
        lambda x: fuseshard.models.minigpt.nn.functional.relu(x) * 2,
        lambda x: x + torch.backends.cuda.matmul.allow_tf32 if x.ndim in {1, 2} else halved(x),
    ],
)
def test_all_kinds_of_callables_travel(fn: Callable[..., Any]) -> None:
    x = torch.tensor([[1.0, -2.0, 4.0]])
    assert torch.equal(with_numbers(fn, x), fn(x))


def test_dynamo_traces_what_travelled() -> None:
    """It imports the module that a function's globals name, unless they name none."""
    config = MiniGPTConfig(vocabulary=11, width=8, num_layers=1, num_heads=2, context=8)
    torch.manual_seed(1)
    module, ids = MiniGPT(config).eval(), torch.arange(6).view(2, 3)
    seen = []

    def backend(graph: torch.fx.GraphModule, _: Any) -> Callable[..., Any]:
        seen.append(graph)
        return graph.forward

    with FakeTensorMode():
        fn, args, _ = unpack(pack(module, (ids,)).content, "cpu")
        with torch.no_grad():
            result = torch.compile(fn, backend=backend)(*args)
    torch._dynamo.reset()  # private, checked on torch 2.11 and 2.13; no other test gets its code
    assert len(seen) == 1
    assert result.shape == module(ids).shape


# Equal names must have equal digests in each process.
PROGRAMS = """
import torch
from torch import nn
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
config = MiniGPTConfig(vocabulary=11, width=8, num_layers=1, num_heads=2, context=8)
class Rotary(nn.Module):
    def __init__(self):
        super().__init__()
        for name in ("cos", "sin", "tan"):
            self.register_buffer(name, torch.randn(3), persistent=False)
        self.kind = "a"
    def forward(self, x):
        return x * self.cos if self.kind in {"a", "b", "ccc"} else x * self.sin
class Changed(Rotary):
    def forward(self, x):
        return x * self.cos if self.kind in {"a", "b", "ccc"} else x * self.tan
def plain(x):
    return torch.relu(x)
ids = torch.zeros(2, 3, dtype=torch.long)
programs = {
    "module": (MiniGPT(config), (ids,)),
    "class": (Rotary(), (torch.randn(3),)),
    "changed": (Changed(), (torch.randn(3),)),
    "function": (plain, (torch.randn(3),)),
}
"""


def digests(folder: Path, seed: int) -> dict[str, str]:
    """Digests of a script's programs in a process of its own, with an order of sets of its own."""
    script = folder / "one.py"
    script.write_text(
        f"{PROGRAMS}\nimport json\nfrom fuseshard.compiler.gpu_code.worker.travel import pack\n"
        "print(json.dumps({name: pack(*program).digest for name, program in programs.items()}))"
    )
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_a_digest_is_the_same_in_each_process_whatever_its_order_of_sets(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(digests, tmp_path, 1), pool.submit(digests, tmp_path / "elsewhere", 2)]
        first, again = (run.result() for run in runs)
    assert again == first
    assert len(set(first.values())) == len(first)


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (lambda x: x * 0.25, (torch.ones(3),)),
        (halved, (torch.ones(4),)),
        (halved, (torch.ones(3, dtype=torch.float64),)),
        (halved, (torch.ones(3, requires_grad=True),)),
        (halved, (torch.ones(6)[::2],)),
        (halved, (torch.ones(4)[1:],)),
    ],
)
def test_another_program_has_another_digest(fn: Callable[..., Any], args: Any) -> None:
    packed = pack(halved, (torch.ones(3),))
    assert pack(halved, (torch.zeros(3),)).digest == packed.digest
    assert pack(fn, args).digest != packed.digest


def test_code_carries_no_path_of_this_machine() -> None:
    content = pack(halved, (torch.ones(3),)).content
    assert str(ROOT).encode() not in content
    assert b"tests/compiler/gpu_code/worker/test_travel.py" in content


def test_the_lines_of_a_cell_can_be_shown_there() -> None:
    lines = ["def tripled(x):\n", "    return x * 3\n"]
    cells = {}
    for number in (1, 2):
        file = f"/tmp/ipykernel_77/{number}.py"
        linecache.cache[file] = (9, None, [*lines, f"# {number}\n"], file)
        exec(compile("".join(lines), file, "exec"), cells.setdefault(number, {"__name__": "cells"}))
    one, two = cells[1]["tripled"], cells[2]["tripled"]
    fn, _, _ = arrived(functools.partial(lambda f, g, x: f(g(x)), one, two), torch.ones(2))
    files = [f.__code__.co_filename for f in fn.args]
    assert files == ["cell", "cell-2"]
    assert linecache.getline("cell", 3) == "# 1\n"
    assert linecache.getline("cell-2", 3) == "# 2\n"


def test_a_module_that_leads_to_itself_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("loops")
    exec("import torch, loops\ndef f(x):\n    return loops.g(x)\n", _in(monkeypatch, module))
    exec("def g(x):\n    return torch.neg(x)\n", vars(module))
    x = torch.tensor([1.0, -2.0])
    assert torch.equal(with_numbers(module.f, x), -x)


def _in(monkeypatch: pytest.MonkeyPatch, module: types.ModuleType) -> dict[str, Any]:
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return vars(module)


def test_cloudpickle_is_left_as_it_was() -> None:
    before = cloudpickle.list_registry_pickle_by_value()
    pack(halved, (torch.ones(3),))
    with pytest.raises(ValueError, match="can't be sent"):
        pack(halved, (threading.Lock(),))
    assert cloudpickle.list_registry_pickle_by_value() == before


@pytest.mark.parametrize(
    ("fn", "args", "complaint"),
    [
        (halved, (threading.Lock(),), r"example_inputs\[0\] is a lock that can't be sent"),
        (
            halved,
            (1, torch.eye(2).to_sparse()),
            r"example_inputs\[1\] is a Tensor .*torch\.sparse_coo, must be a plain",
        ),
        (torch.compile(halved), (torch.ones(3),), "already compiled"),
        (torch.compile(nn.ReLU()), (torch.ones(3),), "already compiled"),
    ],
)
def test_what_cannot_travel_is_named(fn: Any, args: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        pack(fn, args)


def test_a_function_that_holds_a_lock_is_named() -> None:
    lock = threading.Lock()

    def locked(x: torch.Tensor) -> torch.Tensor:
        with lock:
            return x

    with pytest.raises(ValueError, match="fn is a function that can't be sent"):
        pack(locked, (torch.ones(3),))
