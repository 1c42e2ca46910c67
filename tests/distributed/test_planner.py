"""Plans: pure data. Oracles: brute force over all layouts, and what more memory must not change."""

import random
import re
import subprocess
import sys
from dataclasses import replace
from math import prod

import pytest

from fuseshard.compiler.child import run_script
from fuseshard.distributed.planner import plan, survey
from fuseshard.distributed.planning.candidates import meshes, obstacle
from fuseshard.distributed.planning.memory import memory
from fuseshard.distributed.planning.presets import cluster_preset, model_preset
from fuseshard.distributed.planning.records import Degrees
from fuseshard.distributed.planning.step_time import times
from tests.distributed.planning.shapes import LAB, SMALL, random_case

EVEN = replace(SMALL, feed_forward_width=162, sequence=21)
"""so that TP 3 divides it"""


def cases(count: int):
    """Draw models and clusters, the same ones each time."""
    number = random.Random(3)
    return [random_case(number) for _ in range(count)]


def by_force(model, cluster) -> list[Degrees]:
    """Every layout that fits, found by trying all degrees up to the number of GPUs."""
    found = []
    ways = range(1, cluster.num_gpus + 1)
    for mesh in ((d, f, t, p) for d in ways for f in ways for t in ways for p in ways):
        if prod(mesh) != cluster.num_gpus or obstacle(model, mesh):
            continue
        share = model.global_batch // (mesh[0] * mesh[1])
        for count in (m for m in range(1, share + 1) if share % m == 0):
            for recomputes in (False, True):
                degrees = Degrees(*mesh, count, recomputes)
                if memory(model, degrees).total_bytes <= 0.9 * cluster.memory_bytes:
                    found.append(degrees)
    return found


@pytest.mark.parametrize("memory_bytes", [1.5e6, 2e6, 4e6, 1e9])
def test_no_layout_that_fits_is_missing_and_none_is_there_twice(memory_bytes: float) -> None:
    cluster = replace(LAB, memory_bytes=memory_bytes)
    planned = [layout.degrees for layout in plan(EVEN, cluster)]
    assert sorted(planned) == sorted(by_force(EVEN, cluster))


def test_the_memories_of_that_test_make_a_difference() -> None:
    counts = [len(plan(EVEN, replace(LAB, memory_bytes=b))) for b in (1.5e6, 2e6, 4e6, 1e9)]
    assert counts == sorted(set(counts))


@pytest.mark.parametrize(("model", "cluster"), cases(6))
def test_degrees_multiply_to_the_gpus_and_times_rise(model, cluster) -> None:
    layouts = plan(model, cluster)
    assert all(prod(layout.degrees[:4]) == cluster.num_gpus for layout in layouts)
    steps = [layout.step_s for layout in layouts]
    assert steps == sorted(steps)
    for layout in layouts:
        assert layout.times == times(model, cluster, layout.degrees)
        assert layout.memory.total_bytes <= cluster.usable_bytes


@pytest.mark.parametrize(("model", "cluster"), cases(6))
def test_more_memory_never_takes_a_layout_away(model, cluster) -> None:
    before = {layout.degrees for layout in plan(model, cluster)}
    after = {
        layout.degrees
        for layout in plan(model, replace(cluster, memory_bytes=2 * cluster.memory_bytes))
    }
    assert before <= after


def test_faster_links_and_cores_never_slow_a_layout() -> None:
    slow = {layout.degrees: layout.step_s for layout in plan(EVEN, LAB)}
    assert slow
    for name in ("peak_flop_per_s", "inside_bytes_per_s", "between_bytes_per_s"):
        faster = replace(LAB, **{name: 3 * getattr(LAB, name)})
        for layout in plan(EVEN, faster):
            assert layout.step_s <= slow[layout.degrees] * (1 + 1e-12)


@pytest.mark.parametrize(("model", "cluster"), cases(6))
def test_the_blocked_layout_is_the_smallest_of_the_faster_ones(model, cluster) -> None:
    found = survey(model, cluster)
    for layout in found.feasible:
        faster = [r for r in found.too_large if r.step_s < 0.99 * layout.step_s]
        if not faster:
            assert layout.blocked is None
        else:
            assert layout.blocked is not None
            assert layout.blocked.needed_bytes == min(r.needed_bytes for r in faster)
            assert layout.blocked.needed_bytes > cluster.usable_bytes


def test_each_mesh_is_planned_or_has_an_obstacle() -> None:
    found = survey(SMALL, LAB)
    known = {r.degrees[:4] for r in (*found.feasible, *found.too_large)}
    assert len(known) + sum(found.obstacles.values()) == len(list(meshes(6)))
    assert found.obstacles["feed_forward_width"] > 0


def test_a_model_that_fits_nowhere_has_no_plan_but_a_nearest_miss() -> None:
    tight = replace(LAB, memory_bytes=1e5)
    found = survey(EVEN, tight)
    assert found.feasible == ()
    assert found.nearest is not None
    assert found.nearest.needed_bytes == min(r.needed_bytes for r in found.too_large)
    assert survey(EVEN, replace(LAB, memory_bytes=1e12)).nearest is None


def test_llama_70b_doesnt_fit_one_node_and_fits_four() -> None:
    llama = model_preset("llama3-70b")
    assert plan(llama, cluster_preset("h200x8")) == []
    assert plan(llama, cluster_preset("h200x8", num_nodes=4))


def test_a_layer_that_doesnt_fit_needs_tensor_parallelism() -> None:
    wide = replace(
        model_preset("gpt3-175b", global_batch=256),
        num_layers=16,
        width=65536,
        num_heads=512,
        num_kv_heads=512,
        feed_forward_width=4 * 65536,
    )
    layouts = plan(wide, cluster_preset("h200x8", num_nodes=32))
    assert layouts
    assert min(layout.degrees.tp for layout in layouts) > 1
    assert min(layout.degrees.pp for layout in layouts) == 1


LARGE = """
import time
from dataclasses import replace
from fuseshard.distributed.planner import survey
from fuseshard.distributed.planning.presets import cluster_preset, model_preset
# Powers of two have the most meshes for their size.
sizes = {"num_layers": 64, "width": 8192, "num_heads": 64, "num_kv_heads": 64}
model = replace(model_preset("gpt3-175b", global_batch=3 * 2**16), **sizes)
cluster = cluster_preset("h100x8", num_nodes=512)
start = time.process_time()
found = survey(model, cluster)
elapsed_s = time.process_time() - start
assert len(found.feasible) + len(found.too_large) > 10_000
print(elapsed_s)
"""


def test_ten_thousand_layouts_take_less_than_a_second() -> None:
    # In a process of its own: here, thousands of tests have left garbage to be gone through.
    done = run_script(LARGE)
    assert (done.exit_code, done.error) == (0, "")
    assert float(done.output) < 1


@pytest.mark.parametrize(
    ("model", "cluster", "message"),
    [
        ("llama3-70b", LAB, "plan: model is 'llama3-70b', must be a ModelShape"),
        (SMALL, "h200x8", "plan: cluster is 'h200x8', must be a Cluster"),
        (LAB, SMALL, "plan: model is Cluster"),
    ],
)
def test_what_is_no_model_or_no_cluster_is_refused(model, cluster, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        plan(model, cluster)


def test_the_planner_needs_no_torch() -> None:
    code = (
        "import sys; from fuseshard.distributed.planner import plan; "
        "from fuseshard.distributed.planning import presets; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
