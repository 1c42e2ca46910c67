"""What is heard of Inductor's scheduler. Oracles: TORCH_LOGS in a process of its own, a plain
compile of the same function, and torch's own counter of nodes.
"""

import inspect
import logging
import re

import pytest
import torch
import torch._inductor.metrics

from fuseshard.compiler import stages
from fuseshard.compiler.debugging.logs import log_entries
from fuseshard.compiler.scheduling import programs
from fuseshard.compiler.scheduling.decisions import decisions
from fuseshard.compiler.scheduling.records import OTHER_RANGES, Schedule

# All that is logged of fusion is logged before the text is written; no compiler has to run.
_WITHOUT_CPP = """
import os, sys, torch, torch._inductor.graph
def stop(code):
    sys.stdout.flush()
    os._exit(0)
torch.compiler.config.force_disable_caches = True
torch._inductor.graph.GraphLowering.save_output_code = staticmethod(stop)
"""
FUSION_LOG = "torch._inductor.scheduler.__fusion"


def scheduled(name: str, **options: object) -> Schedule:
    program = getattr(programs, name)
    return decisions(program, *programs.example(program), options=options)


@pytest.fixture(scope="module")
def cycle() -> Schedule:
    return scheduled("cycle")


def told(schedule: Schedule, verdict: str) -> set[tuple[str, str, str]]:
    return {
        ("_".join(d.first), "_".join(d.second), d.reason)
        for d in schedule.decisions
        if d.verdict == verdict
    }


def test_refusals_and_fusions_are_those_of_torchs_log(cycle: Schedule) -> None:
    source = re.sub(r": Tensor| -> \w+", "", inspect.getsource(programs.cycle))
    shapes = "torch.ones(384, 512), torch.ones(384, 512), torch.ones(512, 512)"
    program = f"{_WITHOUT_CPP}{source}\ntorch.compile(cycle)({shapes})\n"
    text = "\n".join(entry.text for entry in log_entries(program, "+fusion"))
    refused = set(re.findall(r"cannot fuse (\w+) with (\w+): (.+)", text))
    fused = {(a, b, "") for a, b in re.findall(r"fusing (\w+) with (\w+)", text)}
    assert refused
    assert told(cycle, "refused") == refused
    assert told(cycle, "fused") == fused


def test_listening_changes_nothing_of_what_is_written() -> None:
    torch.set_num_threads(1)
    inputs = programs.example(programs.softmax)
    plain = stages.capture(programs.softmax, *inputs).source[0]
    kernel = re.compile(r"extern \"C\".*?'''", re.DOTALL)
    assert kernel.findall(plain)
    assert kernel.findall(scheduled("softmax").source) == kernel.findall(plain)
    # With another limit another text would be written.
    assert kernel.findall(scheduled("softmax", max_fusion_size=1).source) != kernel.findall(plain)


def test_the_nodes_are_as_many_as_torch_counts() -> None:
    torch._inductor.metrics.reset()
    assert len(scheduled("columns").nodes) == torch._inductor.metrics.ir_nodes_pre_fusion == 4


def test_every_node_is_in_one_group(cycle: Schedule) -> None:
    members = [name for group in cycle.groups for name in group]
    assert sorted(members) == sorted(node.name for node in cycle.nodes)


def test_the_backends_silent_refusal_is_told_from_a_reason() -> None:
    (pair,) = scheduled("flattened").decisions
    assert (pair.verdict, pair.reason) == ("refused", OTHER_RANGES)
    (other,) = scheduled("cheap").decisions
    assert (other.verdict, other.reason) == ("refused", "no shared data")


def test_a_limit_of_one_node_refuses_every_pair_by_name() -> None:
    schedule = scheduled("siblings", max_fusion_size=1)
    assert {d.reason for d in schedule.decisions} == {"exceeds max fusion"}
    assert len(schedule.groups) == 2
    assert len(scheduled("siblings").groups) == 1


def test_loop_nests_are_counted_in_the_text() -> None:
    moments = scheduled("moments")
    assert (moments.num_loops, moments.num_nests, moments.num_functions) == (1, 3, 1)
    matmul = scheduled("matmul")
    assert (matmul.num_loops, matmul.num_extern, matmul.num_functions) == (2, 1, 2)


def test_torchs_log_is_left_as_it_was() -> None:
    logger = logging.getLogger(FUSION_LOG)
    before = (logger.level, logger.propagate, list(logger.handlers))
    scheduled("siblings")
    assert (logger.level, logger.propagate, list(logger.handlers)) == before


def test_two_graphs_are_refused() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    with pytest.raises(ValueError, match="gave 2 graphs, must give 1"):
        decisions(broken, torch.ones(4))
