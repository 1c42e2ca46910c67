"""The recipes of the cheat sheet, by section: each is run, and proved, while the page is built."""

from fuseshard.compiler.recipes.records import Recipe

SAME = "close(fast(x), f(x))"
"""the compiled function gives what the function gives"""

KEPT = """import torch._dynamo.backends.common
from functorch.compile import make_boxed_func
from torch._functorch.partitioners import min_cut_rematerialization_partition as cut
def forward_half(graph, inputs):
    names.extend(node.name for node in graph.graph.find_nodes(op="output")[0].args[0])
    return make_boxed_func(graph.forward)
def backward_half(graph, inputs):
    return make_boxed_func(graph.forward)
halves = torch._dynamo.backends.common.aot_autograd(
    fw_compiler=forward_half, bw_compiler=backward_half, partition_fn=cut
)
names = []
def kept():
    names.clear()
    torch.compile(model, backend=halves)(x).sum().backward()
    return sum(not name.startswith("primals") for name in names)
"""
"""counts what the forward half of the model hands over, its result included, inputs left out"""

SECTIONS: dict[str, tuple[Recipe, ...]] = {
    "start": (
        Recipe("function", "fast = torch.compile(f)", f"assert graphs(lambda: {SAME}) == 1"),
        Recipe(
            "module",
            "model.compile()",
            "want = [*model.state_dict()]\nassert graphs(lambda: model(x)) == 1\n"
            "assert [*model.state_dict()] == want and not want[0].startswith('_orig')",
        ),
        Recipe(
            "one-graph",
            "fast = torch.compile(f, fullgraph=True)",
            f"assert graphs(lambda: {SAME}) == 1\n"
            "raises(lambda: torch.compile(branches, fullgraph=True)(x))",
        ),
        Recipe(
            "leave-out",
            "outside = torch.compiler.disable(f)",
            "report = torch._dynamo.explain(lambda x: outside(x + 1))(x)\n"
            "assert report.op_count == 1",
        ),
        Recipe(
            "am-i-compiled",
            "torch.compiler.is_compiling()",
            "assert torch.compiler.is_compiling() is False\n"
            "inside = lambda x: x + 1 if torch.compiler.is_compiling() else x\n"
            "close(torch.compile(inside)(x), x + 1)",
        ),
        Recipe(
            "switch-off",
            'stance = torch.compiler.set_stance("force_eager")',
            "with stance:\n    assert graphs(lambda: torch.compile(f)(x)) == 0",
        ),
        Recipe(
            "forget",
            "torch.compiler.reset()",
            "fast = torch.compile(f, backend='eager')\n"
            "assert [graphs(lambda: fast(x)) for _ in range(2)] == [1, 0]\n"
            "torch.compiler.reset()\nassert graphs(lambda: fast(x)) == 1",
        ),
    ),
    "breaks": (
        Recipe(
            "count-graphs",
            'count = torch._dynamo.utils.counters["stats"]["unique_graphs"]',
            "torch.compile(f, backend='eager')(x)\n"
            "assert torch._dynamo.utils.counters['stats']['unique_graphs'] == count + 1",
        ),
        Recipe(
            "count-breaks",
            "report = torch._dynamo.explain(branches)(x)",
            "assert report.graph_break_count == 1",
        ),
        Recipe(
            "elementwise-if",
            "f = lambda x: torch.where(x > 0, x, -x)",
            "fast = torch.compile(f, fullgraph=True)\n" + SAME,
        ),
        Recipe(
            "branch",
            "f = lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,))",
            "fast = torch.compile(f, fullgraph=True)\n" + SAME,
        ),
        Recipe(
            "item",
            "patch = torch._dynamo.config.patch(capture_scalar_outputs=True)",
            "f = lambda x: x * x[0, 0].item()\n"
            f"fast = torch.compile(f)\nwith patch:\n    assert graphs(lambda: {SAME}) == 1",
        ),
        Recipe(
            "print",
            "patch = torch._dynamo.config.patch(reorderable_logging_functions={print})",
            "import contextlib, io\nsaid = io.StringIO()\n"
            "def loud(x):\n    y = x.sin()\n    print('here')\n    return y.cos()\n"
            "fast = torch.compile(loud, backend='eager', fullgraph=True)\n"
            "raises(lambda: fast(x))\ntorch.compiler.reset()\n"
            "with patch, contextlib.redirect_stdout(said):\n"
            "    assert graphs(lambda: fast(x)) == 1\nassert said.getvalue() == 'here\\n'",
        ),
        Recipe(
            "error-here",
            "strict = torch._dynamo.error_on_graph_break(True)",
            "fast = torch.compile(branches)\nwith strict:\n    raises(lambda: fast(x))",
        ),
    ),
    "shapes": (
        Recipe(
            "mark",
            "torch._dynamo.mark_dynamic(x, 0)",
            f"fast = torch.compile(f)\nassert graphs(lambda: ({SAME}, fast(x[:3]))) == 1",
        ),
        Recipe(
            "unbacked",
            "torch._dynamo.decorators.mark_unbacked(x, 0)",
            "fast = torch.compile(f, backend='eager')\n"
            f"assert graphs(lambda: ({SAME}, fast(x[:1]), fast(x[:0]))) == 1",
        ),
        Recipe(
            "dynamic",
            "fast = torch.compile(f, dynamic=True)",
            f"assert graphs(lambda: ({SAME}, fast(x[:3]))) == 1",
        ),
        Recipe(
            "static",
            "fast = torch.compile(f, dynamic=False)",
            f"assert graphs(lambda: ({SAME}, fast(x[:3]))) == 2",
        ),
        Recipe(
            "no-recompile",
            'stance = torch.compiler.set_stance("fail_on_recompile")',
            "torch.compiler.set_stance('default')\n"
            "fast = torch.compile(f, dynamic=False)\nfast(x)\n"
            "with torch.compiler.set_stance('fail_on_recompile'):\n"
            "    fast(x)\n    raises(lambda: fast(x[:3]))",
        ),
        Recipe(
            "limit",
            "patch = torch._dynamo.config.patch(recompile_limit=2)",
            "fast = torch.compile(f, dynamic=False)\nwith patch:\n"
            "    assert graphs(lambda: [fast(x[:n]) for n in (2, 3, 4, 5)]) == 2\n"
            "close(fast(x), f(x))",
        ),
    ),
    "training": (
        Recipe(
            "loss",
            "step = torch.compile(lambda x: model(x).square().mean())",
            "assert graphs(lambda: step(x).backward()) == 1\n"
            "assert all(p.grad is not None for p in model.parameters())",
        ),
        Recipe(
            "optimizer",
            "update = torch.compile(optimizer.step)",
            "model(x).sum().backward()\nweight = model.blocks[0].linear.weight\n"
            "want = weight - 0.1 * weight.grad\nassert graphs(update) == 1\nclose(weight, want)",
        ),
        Recipe(
            "tensor-rate",
            "optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(0.1))",
            "torch.compiler.reset()\nmodel(x).sum().backward()\n"
            "update = torch.compile(optimizer.step, backend='eager')\nassert graphs(update) == 1\n"
            "for rate in (0.2, 0.3):\n    optimizer.param_groups[0]['lr'].fill_(rate)\n"
            "    assert graphs(update) == 0",
        ),
        Recipe(
            "fused",
            "optimizer = torch.optim.AdamW(model.parameters(), fused=True)",
            "model(x).sum().backward()\nweight = model.blocks[0].linear.weight\n"
            "before = weight.detach().clone()\noptimizer.step()\n"
            "assert optimizer.defaults['fused'] and not torch.equal(weight, before)",
        ),
        Recipe(
            "budget",
            "patch = torch._functorch.config.patch(activation_memory_budget=0.5)",
            KEPT + "assert kept() == 4\ntorch.compiler.reset()\nwith patch:\n"
            "    assert kept() == 1",
        ),
    ),
    "time": (
        Recipe(
            "modes",
            "switches = torch._inductor.list_mode_options()",
            "assert switches['max-autotune']['max_autotune'] is True",
        ),
        Recipe(
            "mode",
            'fast = torch.compile(f, mode="max-autotune-no-cudagraphs")',
            SAME,
        ),
        Recipe("options", 'fast = torch.compile(f, options={"max_autotune": True})', SAME),
        Recipe(
            "artifacts",
            "artifacts = torch.compiler.save_cache_artifacts()",
            "assert artifacts is not None and len(artifacts[0]) > 0",
        ),
        Recipe(
            "bring-artifacts",
            "torch.compiler.load_cache_artifacts(torch.compiler.save_cache_artifacts()[0])",
            "data, _ = torch.compiler.save_cache_artifacts()\n"
            "assert torch.compiler.load_cache_artifacts(data) is not None",
        ),
        Recipe(
            "region",
            "for block in model.blocks: block.compile()",
            "want = Model()\nwant.load_state_dict(model.state_dict())\n"
            "with torch.no_grad():\n    assert graphs(lambda: close(model(x), want(x))) == 1",
        ),
        Recipe(
            "export",
            "program = torch.export.export(model, (x,))",
            "close(program.module()(x), model(x))",
        ),
    ),
    "debugging": (
        Recipe(
            "first-half",
            'fast = torch.compile(f, backend="aot_eager")',
            f"assert graphs(lambda: {SAME}) == 1",
        ),
        Recipe(
            "only-dynamo",
            'fast = torch.compile(f, backend="eager")',
            f"assert graphs(lambda: {SAME}) == 1",
        ),
        Recipe(
            "written-code",
            "_, code = torch._inductor.utils.run_and_get_code(torch.compile(f), x)",
            "assert 'def call' in code[0]",
        ),
        Recipe(
            "roundings",
            "patch = torch._inductor.config.patch(emulate_precision_casts=True)",
            "f = lambda x: (x.sin() * x - 0.75).exp()\nlow = torch.randn(1000).bfloat16()\n"
            "with patch:\n    assert torch.equal(torch.compile(f)(low), f(low))\n"
            "torch.compiler.reset()\nassert not torch.equal(torch.compile(f)(low), f(low))",
        ),
        Recipe(
            "repeatable",
            "patch = torch._inductor.config.patch(fallback_random=True)",
            "f = lambda x: torch.dropout(x, 0.5, True)\nfast = torch.compile(f)\nwith patch:\n"
            "    torch.manual_seed(0)\n    want = f(x)\n    torch.manual_seed(0)\n"
            "    close(fast(x), want)",
        ),
    ),
}

SETTINGS = (
    "torch._dynamo.config.recompile_limit",
    "torch._dynamo.config.accumulated_recompile_limit",
    "torch._dynamo.config.capture_scalar_outputs",
    "torch._dynamo.config.suppress_errors",
    "torch._dynamo.config.specialize_float",
    "torch._inductor.config.fx_graph_cache",
    "torch._inductor.config.max_autotune",
    "torch._inductor.config.fallback_random",
    "torch._functorch.config.activation_memory_budget",
)
"""what the second table of the page reads from torch"""
