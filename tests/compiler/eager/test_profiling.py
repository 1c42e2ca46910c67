"""Profiles and counts of calls. Oracle: the dispatcher trace of the same function."""

from collections import Counter

import pytest
import torch

from fuseshard.compiler.dispatch import trace
from fuseshard.compiler.eager.profiling import profiled, step_parts
from fuseshard.compiler.eager.records import OpSpan, Profile


@pytest.fixture(scope="module")
def model():
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3))


def test_a_profile_sees_the_operators_of_the_trace(model, capfd):
    x = torch.randn(2, 5)
    with torch.no_grad():
        found = profiled(lambda: model(x), warmups=1, repeats=2)
        calls = trace(model, x).calls
    assert capfd.readouterr().err == ""  # no line of the profiler's own reaches a page
    from_python = [span.op for span in found.spans if span.depth == 0]
    assert from_python == [call.op.split(".")[0] for call in calls if call.depth == 0]
    wanted = Counter(call.op.split(".")[0] for call in calls)
    seen = Counter(span.op for span in found.spans)
    assert all(seen[op] >= wanted[op] for op in ("aten::linear", "aten::addmm", "aten::tanh"))


def test_operators_lie_inside_those_that_call_them(model):
    x = torch.randn(2, 5)
    found = profiled(lambda: model(x), warmups=1, repeats=1)
    outer = found.spans[0]
    for span in found.spans:
        if span.depth == 0:
            outer = span
        assert outer.start_s <= span.start_s <= span.end_s <= outer.end_s


def test_times_add_up_to_the_whole():
    spans = (
        OpSpan(op="a", depth=0, start_s=0.0, end_s=4.0, self_s=1.0),
        OpSpan(op="b", depth=1, start_s=0.5, end_s=3.5, self_s=3.0),
        OpSpan(op="b", depth=0, start_s=6.0, end_s=8.0, self_s=2.0),
    )
    found = Profile(spans=spans)
    assert (found.whole_s, found.outside_s) == (8.0, 2.0)
    assert found.self_by_op() == {"b": 5.0, "a": 1.0}
    assert sum(found.self_by_op().values()) + found.outside_s == found.whole_s


def test_the_parts_of_a_step_are_those_of_the_traces(model):
    x = torch.randn(2, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def loss():
        return model(x).sum()

    forward, backward, update = step_parts(loss, lambda: loss().backward(), optimizer.step)
    assert forward.calls == len(trace(loss).calls)
    assert forward.calls + backward.calls == len(trace(lambda: loss().backward()).calls)
    assert update.from_python == len(list(model.parameters()))  # one add_ a tensor
    assert backward.kernels > 0
