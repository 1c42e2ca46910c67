"""What the tests run in processes of their own: its text, a call of `report` at its end."""

import hashlib
import json
import os
import re
import threading
import warnings

import torch
import triton
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel

from fuseshard.compiler.described import attention, describe, guard, hooks
from fuseshard.compiler.described.describe import described_gpu
from fuseshard.compiler.described.targets import TARGETS, target

NVIDIA = [key for key in TARGETS if TARGETS[key].vendor == "nvidia"]


def watched():
    """Everything that a description replaces, as texts that can be compared."""
    names = ("empty.memory_format", "empty_strided", "scaled_dot_product_attention")
    return {
        "torch._C": {n: id(v) for n, v in vars(torch._C).items() if n.startswith("_cuda")},
        "torch.cuda": {n: id(v) for n, v in vars(torch.cuda).items() if not n.startswith("__")},
        "version": [torch.version.cuda, torch.version.hip],
        "available": torch.cuda.is_available(),
        "accelerator": str(torch.accelerator.current_accelerator()),
        "hooks": hex(hooks.ctypes.c_void_p.from_address(hooks._hooks()).value),
        "attention": str(attention._slots()[1]),
        "dispatcher": [
            torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA")
            for name in names
        ],
        "fake mode": id(vars(FakeTensorMode)["avoid_device_init"]),
        "modules": id(vars(nn.Module)["_apply"]),
        "backends": {name: id(b.driver) for name, b in triton.backends.backends.items()},
        "driver": [id(triton.runtime.driver._active), id(triton.runtime.driver._default)],
        "warnings": str(warnings.filters),
        "environment": dict(os.environ),
        "grad mode": torch.is_grad_enabled(),
        "default dtype": str(torch.get_default_dtype()),
    }


def differences(before, after):
    return sorted(name for name in before if before[name] != after[name])


def written(fn, *args):
    """What a test asks of the module that Inductor writes for a function."""
    # Imported late: for AMD, Inductor has to be loaded in another way first.
    from fuseshard.compiler.planning.written import module_text

    # The first line counts the graphs of the process.
    _, text = module_text(fn, *args).split("\n", 1)
    return {
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "device": sorted(set(re.findall(r"DeviceProperties\([^)]*\)", text))),
        "attention": re.findall(r"aten\._scaled_dot_product_(\w+)_attention\.default\(", text),
        "kernels": text.count("async_compile.triton("),
        "where": text.count("tl.where("),
    }


def causal(scores):
    future = torch.ones_like(scores, dtype=torch.bool).triu(1)
    return scores.masked_fill(future, float("-inf")).softmax(-1)


def attend(query, key, value, mask=None):
    return nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def vision():
    layers = [nn.Conv2d(3, 5, 3, padding=1), nn.BatchNorm2d(5), nn.ReLU()]
    return nn.Sequential(*layers).eval()


def softmax(x):
    return torch.softmax(x, -1)


def cpu_texts():
    """Modules for the CPU, of programs that Inductor matches patterns in."""
    queries = [torch.ones(2, 3, 7, 8) for _ in range(3)]
    programs = [
        written(softmax, torch.ones(7, 600)),
        written(causal, torch.ones(9, 9)),
        written(attend, *queries),
        written(vision(), torch.ones(2, 3, 8, 8)),
    ]
    return [program["digest"] for program in programs]


def cpu_step():
    """A loss and a gradient with numbers."""
    torch.manual_seed(0)
    layer = nn.Linear(5, 3)
    loss = nn.functional.cross_entropy(layer(torch.ones(2, 5)), torch.tensor([0, 2]))
    loss.backward()
    return [loss.item(), layer.weight.grad.tolist()]


def on_gpu(*shape, dtype=torch.float32, **how):
    return torch.empty(*shape, dtype=dtype, device="cuda", **how)


def answers():
    """What torch says of the GPU."""
    properties = torch.cuda.get_device_properties(0)
    return {
        "available": torch.cuda.is_available(),
        "count": torch.cuda.device_count(),
        "current": torch.cuda.current_device(),
        "name": torch.cuda.get_device_name(),
        "capability": list(torch.cuda.get_device_capability()),
        "multiprocessors": properties.multi_processor_count,
        "memory": torch.cuda.mem_get_info()[1],
        "bf16": torch.cuda.is_bf16_supported(),
        "accelerator": str(torch.accelerator.current_accelerator()),
        "triton": str(triton.runtime.driver.active.get_current_target()),
    }


def trained():
    """A layer trained on fake tensors: where its gradient is, and its shape."""
    layer = nn.Sequential(nn.Linear(5, 3), nn.GELU(), nn.Linear(3, 2)).to("cuda")
    nn.functional.cross_entropy(layer(on_gpu(4, 5)), on_gpu(4, dtype=torch.long)).backward()
    gradient = layer[0].weight.grad
    return [str(gradient.device), list(gradient.shape), type(gradient).__name__]


def ties():
    """Whether two modules that share a parameter still share it after a move."""
    pair = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
    pair[1].weight = pair[0].weight
    pair.to("cuda")
    return [pair[1].weight is pair[0].weight, pair[1].bias is pair[0].bias]


def gpu_texts(*, short):
    """Modules for the GPU; short: of two programs only."""
    half = [on_gpu(2, 4, 16, 64, dtype=torch.bfloat16) for _ in range(3)]
    found = {"softmax": written(softmax, on_gpu(512, 600)), "half": written(attend, *half)}
    if short:
        return found
    single = [on_gpu(2, 4, 16, 64) for _ in range(3)]
    mask = on_gpu(16, 16, dtype=torch.bool)
    return found | {
        "causal": written(causal, on_gpu(9, 9)),
        "single": written(attend, *single),
        "masked": written(attend, *half, mask),
        "vision": written(vision().to("cuda"), on_gpu(2, 3, 8, 8)),
    }


def described(key, *, short=True):
    with described_gpu(target(key)), FakeTensorMode():
        return {
            "answers": answers(),
            "trained": trained(),
            "ties": ties(),
            "texts": gpu_texts(short=short),
        }


def symbolic_attention():
    """The operators that attention is traced to where all sizes are symbols."""
    found = []

    def note(graph, _):
        found.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return make_boxed_func(graph.forward)

    # Imported late, as above.
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    with described_gpu(target("h200")), FakeTensorMode(), torch.no_grad():
        backend = aot_autograd(fw_compiler=note)
        tensors = [on_gpu(2, 4, 16, 64, dtype=torch.bfloat16) for _ in range(3)]
        torch.compile(attend, dynamic=True, backend=backend)(*tensors)
    return [name for name in found if "attention" in name]


def without_any_backend():
    """What a program hears that leaves attention no implementation."""
    with described_gpu(target("h200")), FakeTensorMode():
        tensors = [on_gpu(2, 4, 16, 64, dtype=torch.float64) for _ in range(3)]
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            attend(*tensors)


def said(action):
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "nothing"


def enter(key, **how):
    with described_gpu(target(key), **how):
        pass


def fail_inside():
    with described_gpu(target("h200")):
        raise KeyError("mine")


def nested():
    with described_gpu(target("h200")):
        enter("a100")


def threads():
    """Describe four GPUs at once, each in a thread of its own."""
    found = {}

    def describe_and_ask(key):
        with described_gpu(target(key)), FakeTensorMode():
            on_gpu(7, requires_grad=True).sum().backward()
            found[key] = torch.cuda.get_device_name()

    workers = [threading.Thread(target=describe_and_ask, args=(key,)) for key in NVIDIA]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


def nvidia():
    guard.register_guard()  # before cpu_step, whose backward pass counts devices
    written(softmax, torch.ones(2, 2))  # importing Inductor sets variables of its own
    before, texts, step = watched(), cpu_texts(), cpu_step()
    with described_gpu(target("h200")):
        answers()  # Triton looks for its driver when it is asked
        during = differences(before, watched())
    found = {
        "during": during,
        "targets": {key: described(key, short=key != "h200") for key in NVIDIA},
        "again": described("h200", short=False),
        "threads": threads(),
        "symbolic": symbolic_attention(),
        "no backend": said(without_any_backend),
        "nested": said(nested),
        "inside": said(fail_inside),
        "unknown": said(lambda: enter("h200", without=["nothing"])),
        "guard": said(lambda: enter("h200", without=["device guard"])),
        "amd": said(lambda: enter("mi300x")),
    }
    return found | {
        "left": differences(before, watched()),
        "tensor": said(lambda: torch.empty(1, device="cuda")),
        "cpu before": texts,
        "cpu after": cpu_texts(),
        "cpu unchanged": step == cpu_step(),
    }


def trained_first(*, guarded):
    """A process that trains, writes for a GPU, and then writes for the CPU."""
    if guarded:
        guard.register_guard()
    cpu_step()
    return {
        "said": said(lambda: described("h200")),
        "cpu after": cpu_texts() if guarded else [],
    }


def amd():
    describe.load_inductor(target("mi300x"))
    before = watched()
    import torch._inductor.config as settings

    found = {
        "vendor": describe.inductor_vendor(),
        "spills": settings.triton.spill_threshold,
        "targets": {"mi300x": described("mi300x", short=False)},
        "nvidia": said(lambda: enter("h200")),
    }
    return found | {"left": differences(before, watched())}


def report(what):
    print(json.dumps(what))
