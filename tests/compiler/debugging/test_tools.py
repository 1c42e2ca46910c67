"""torch's minifier and bisector. Oracle: the operator that was broken."""

import pytest

from fuseshard.compiler.debugging.blame import FAULT
from fuseshard.compiler.debugging.tools import bisect_relu, minify_relu


def test_the_minifier_leaves_only_the_relu():
    found = minify_relu()
    assert found.nodes[0] > found.nodes[-1] == 3
    assert found.queries >= len(found.nodes)
    assert "torch.relu" in found.repro
    assert "linear" not in found.repro


@pytest.mark.timeout(300)
def test_the_bisector_names_the_relu():
    found = bisect_relu(FAULT)
    assert (found.backend, found.subsystem, found.culprit) == ("inductor", "lowerings", "relu")
    assert 3 < 2 * found.sources < found.runs
