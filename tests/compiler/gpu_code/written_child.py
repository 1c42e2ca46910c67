"""Programs written for GPUs that aren't there, in a process of its own: describing one changes it.

The process imports this module and leaves JSON; the tests read it through `results`.
"""

import functools
import json
import resource
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
import triton
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from triton import language as tl

from fuseshard.compiler.child import run_script
from fuseshard.compiler.described.describe import described_gpu, load_inductor
from fuseshard.compiler.described.guard import register_guard
from fuseshard.compiler.described.targets import Target, target
from fuseshard.models.minigpt import Attention, MiniGPT, MiniGPTConfig

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Program:
    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    options: dict[str, Any] = field(default_factory=dict)


class Recurrent(nn.Module):
    """A recurrent layer after a part that has a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(12, 12)
        self.last = nn.LSTM(12, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.first(x)
        torch._dynamo.graph_break()
        return self.last(y)[0]


class Loss(nn.Module):
    """MiniGPT with its loss, one layer of it."""

    def __init__(self) -> None:
        super().__init__()
        self.model = MiniGPT(MiniGPTConfig(num_layers=1, vocabulary=601))

    def forward(self, tokens: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.model(tokens).flatten(0, 1), labels.flatten())


def tokens() -> torch.Tensor:
    return torch.zeros(3, 41, dtype=torch.long)


def softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def chain(x: torch.Tensor) -> torch.Tensor:
    return (x.sin() + x.cos()).relu()


def broken(x: torch.Tensor) -> torch.Tensor:
    y = chain(x)
    torch._dynamo.graph_break()
    return chain(y) * x


def dropped(x: torch.Tensor) -> torch.Tensor:
    return functional.dropout(x, 0.1)


def attention(q: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(q, q, q, is_causal=True)


WEIGHTS = [1.5, -2.0, 0.25, 3.0, -4.0, 8.0, 16.0, -0.5, 2.0, 0.125, -1.0]
"""more than eight: fewer would be written into the kernel"""


def weighted(x: torch.Tensor) -> torch.Tensor:
    return x * torch.tensor(WEIGHTS, device=x.device)


def on_both(x: torch.Tensor) -> torch.Tensor:
    return (x + 1).cpu() * 2


@triton.jit
def _doubled(source, out, count, BLOCK: tl.constexpr):  # noqa: N803
    where = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = where < count
    tl.store(out + where, tl.load(source + where, mask=mask) * 2, mask=mask)


def by_hand(x: torch.Tensor) -> torch.Tensor:
    """Two launches of one hand-written kernel under two sizes of block."""
    once, twice = torch.empty_like(x), torch.empty_like(x)
    _doubled[(triton.cdiv(x.numel(), 128),)](x, once, x.numel(), BLOCK=128)
    _doubled[(triton.cdiv(x.numel(), 64),)](once, twice, x.numel(), BLOCK=64)
    return twice


def norm_and_rows() -> tuple[Any, tuple[Any, ...]]:
    return nn.LayerNorm(96), (torch.randn(37, 96, requires_grad=True),)


def linear_relu() -> tuple[Any, tuple[Any, ...]]:
    return nn.Sequential(nn.Linear(96, 160), nn.ReLU()), (torch.randn(130, 96),)


def adamw_step() -> tuple[Any, tuple[Any, ...]]:
    params = [nn.Parameter(torch.randn(size)) for size in (7, 12)]
    for param in params:
        param.grad = torch.randn_like(param)
    optimizer = torch.optim.AdamW(params, lr=1e-3, foreach=True, capturable=True)
    optimizer.step()  # makes the moments

    def step() -> None:
        optimizer.step()

    return step, ()


def half_attention() -> tuple[Any, tuple[Any, ...]]:
    return attention, (torch.randn(2, 4, 33, 64).bfloat16(),)


TUNED = {"mode": "max-autotune-no-cudagraphs"}
PROGRAMS = {
    "softmax": Program(lambda: (softmax, (torch.randn(37, 600),))),
    "softmax again": Program(lambda: (softmax, (torch.randn(37, 600),))),
    "wider softmax": Program(lambda: (softmax, (torch.randn(37, 601),))),
    "chain": Program(lambda: (chain, (torch.randn(37, 601),))),
    "layer norm": Program(norm_and_rows, {"backward": True}),
    "dynamic layer norm": Program(norm_and_rows, {"dynamic": True}),
    # Its backward graph gets views of memory whose size is a variable.
    "dynamic training": Program(
        lambda: (Attention(MiniGPTConfig()), (torch.randn(3, 41, 64),)),
        {"backward": True, "dynamic": True},
    ),
    "linear": Program(linear_relu),
    "training": Program(lambda: (Loss(), (tokens(), tokens())), {"backward": True}),
    "training in bfloat16": Program(
        lambda: (Loss(), (tokens(), tokens())), {"backward": True, "autocast": "bfloat16"}
    ),
    "graph break": Program(lambda: (broken, (torch.randn(37, 601),))),
    "dropout": Program(
        lambda: (dropped, (torch.randn(37, 601, requires_grad=True),)), {"backward": True}
    ),
    "AdamW": Program(adamw_step),
    "float32 attention": Program(lambda: (attention, (torch.randn(2, 4, 33, 64),))),
    "bfloat16 attention": Program(half_attention),
    "constant": Program(lambda: (weighted, (torch.randn(37, 11),))),
    "on both": Program(lambda: (on_both, (torch.randn(37, 3),))),
    "by hand": Program(lambda: (by_hand, (torch.randn(37, 12),))),
    "searched": Program(linear_relu, TUNED),
    "chosen": Program(linear_relu, {**TUNED, "choose": "triton_mm_1"}),
    "chosen again": Program(linear_relu, {**TUNED, "choose": "triton_mm_1"}),
}
ON_A100 = ("float32 attention", "bfloat16 attention")
ON_MI300X = ("softmax", "chain", "layer norm", "training", "bfloat16 attention")


def a_number(x: torch.Tensor) -> torch.Tensor:
    return x * x.sum().item()


def a_branch(x: torch.Tensor) -> torch.Tensor:
    return x if x.sum() > 0 else -x


def own_error(x: torch.Tensor) -> torch.Tensor:
    raise KeyError("nowhere")


def recurrent() -> tuple[Any, tuple[Any, ...]]:
    return nn.LSTM(12, 7), (torch.randn(3, 2, 12),)


def _on_rows(fn: Any) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    return lambda: (fn, (torch.randn(37, 12),))


REFUSED = {
    "number": Program(_on_rows(a_number)),
    "branch": Program(_on_rows(a_branch)),
    "no graph": Program(recurrent),
    "part without a graph": Program(lambda: (Recurrent(), (torch.randn(3, 2, 12),))),
    "nothing to compile": Program(_on_rows(nn.Identity())),
    "compiled": Program(lambda: (torch.compile(chain), (torch.randn(37, 12),))),
    "compiled module": Program(lambda: (torch.compile(nn.ReLU()), (torch.randn(37, 12),))),
    "no gradient": Program(_on_rows(chain), {"backward": True}),
    "mode": Program(_on_rows(chain), {"mode": "fastest"}),
    "autocast": Program(_on_rows(chain), {"autocast": "float8"}),
    "candidate": Program(linear_relu, {**TUNED, "choose": "triton_mm_9999"}),
    "candidate without a search": Program(linear_relu, {"choose": "triton_mm_0"}),
    "own error": Program(_on_rows(own_error)),
    "shapes": Program(_on_rows(lambda x: x @ x)),
}


@functools.cache
def results(vendor: str) -> dict[str, Any]:
    """Have the programs written in a fresh process, once for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        script = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "from tests.compiler.gpu_code import written_child\n"
            f"written_child.{vendor}({str(path)!r})\n"
        )
        done = run_script(script, timeout_s=300)  # 20 s where nothing else runs
        assert done.exit_code == 0, done.error
        found: dict[str, Any] = json.loads(path.read_text())
    return found


def nvidia(path: str) -> None:
    """Write everything for the H200, and attention for the A100."""
    register_guard()
    h200, a100 = target("h200"), target("a100")
    unchanged = _state()
    with described_gpu(h200):
        found: dict[str, Any] = {"h200": {name: _graphs(name, h200) for name in PROGRAMS}}
        found["refused"] = {name: _refusal(program, h200) for name, program in REFUSED.items()}
        found["elsewhere"] = _refusal(PROGRAMS["chain"], a100)
        found["real tensors"] = _refusal_of_real_tensors(h200)
        found["cut"] = _cut(h200)
        began = time.process_time()
        _graphs("softmax", h200)
        found["small_cpu_s"] = time.process_time() - began
    with described_gpu(a100):
        found["a100"] = {name: _graphs(name, a100) for name in ON_A100}
    found["is_unchanged"] = _state() == unchanged
    found["peak_kib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Path(path).write_text(json.dumps(found))


def amd(path: str) -> None:
    """Write some for the MI300X."""
    register_guard()
    load_inductor(target("mi300x"))
    with described_gpu(target("mi300x")) as mi300x:
        found = {name: _graphs(name, mi300x) for name in ON_MI300X}
    Path(path).write_text(json.dumps({"mi300x": found}))


def _graphs(name: str, described: Target) -> list[dict[str, Any]]:
    return [asdict(graph) for graph in _written(PROGRAMS[name], described)]


def _written(program: Program, described: Target) -> Any:
    # It imports Inductor, which has to be loaded for the vendor first.
    from fuseshard.compiler.gpu_code.written import WriteOptions, write

    options = WriteOptions(**program.options)
    with FakeTensorMode():
        with torch.device("cuda"):
            fn, args = program.make()
        numbers = {id(tensor): number for number, tensor in enumerate(tensors(fn, args))}
        return write(fn, args, described, options=options, numbers=numbers)


def tensors(fn: Any, args: tuple[Any, ...]) -> list[torch.Tensor]:
    """Parameters first, then the arguments."""
    return [*(fn.parameters() if isinstance(fn, nn.Module) else ()), *args]


def _refusal(program: Program, described: Target) -> list[str]:
    """Type, message and cause of what is raised."""
    try:
        _written(program, described)
    except Exception as error:
        return [type(error).__name__, str(error), type(error.__cause__).__name__]
    return ["nothing", "", ""]


def _refusal_of_real_tensors(described: Target) -> list[str]:
    from fuseshard.compiler.gpu_code.written import WriteOptions, write

    try:
        write(chain, (torch.randn(3),), described, options=WriteOptions(), numbers={})
    except ValueError as error:
        return [type(error).__name__, str(error), ""]
    return ["nothing", "", ""]


def _cut(described: Target) -> list[dict[str, Any]]:
    """Steps of a wrapper out of which one launch was cut."""
    from fuseshard.compiler.gpu_code.launches import steps
    from fuseshard.compiler.gpu_code.sources import without_compilers

    graph = _written(PROGRAMS["layer norm"], described)[-1]
    lines = graph.wrapper.splitlines()
    first = next(i for i, line in enumerate(lines) if ".run(" in line)
    cut = "\n".join(lines[:first] + lines[first + 1 :])
    mode = FakeTensorMode()
    with mode:
        inputs = without_compilers(cut, {})["get_args"]()
    return [asdict(step) for step in steps(cut, graph.kernels, inputs, fake_mode=mode)]


def _state() -> list[Any]:
    import logging

    from torch._functorch import config as autograd_config
    from torch._inductor import config, select_algorithm
    from torch._inductor.graph import GraphLowering

    cache = select_algorithm.get_algorithm_selector_cache()
    return [
        GraphLowering.compile_to_module,
        select_algorithm.TritonTemplate.index_counter,
        len(cache.preprocessing_fns),
        config.compile_threads,
        config.fx_graph_cache,
        autograd_config.force_non_lazy_backward_lowering,
        logging.root.manager.disable,
        torch.is_grad_enabled(),
    ]
