"""The recipes of the cheat sheet, by section: each is run, and proved, while the page is built."""

from fuseshard.compiler.recipes.records import Recipe

SAME = "close(fast(x), f(x))"
"""the compiled function gives what the function gives"""

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
        Recipe("forget", "torch.compiler.reset()", f"fast = torch.compile(f)\n{SAME}"),
    ),
    "breaks": (
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
            "assert isinstance(optimizer.param_groups[0]['lr'], torch.Tensor)",
        ),
        Recipe(
            "budget",
            "patch = torch._functorch.config.patch(activation_memory_budget=0.5)",
            "with patch:\n    assert torch._functorch.config.activation_memory_budget == 0.5",
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
