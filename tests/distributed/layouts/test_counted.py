"""Layer 1. Oracles: MiniGPT's own parameters, and sums worked out by hand.

That the formulas are what is really sent, `test_compared.py` holds against the meter.
"""

import pytest

from fuseshard.distributed.layouts.counted import count_axes, formula_bytes, held_parameters
from fuseshard.distributed.layouts.records import Layout
from fuseshard.distributed.layouts.workload import Workload
from fuseshard.distributed.traffic import CollectiveCall
from fuseshard.models.minigpt import MiniGPTConfig

CONFIG = MiniGPTConfig(vocabulary=21, width=12, num_layers=3, num_heads=3, context=7)
TWO = Layout(pp=2, tp=2)


def call(op, ranks, payload):
    return CollectiveCall(
        op=op,
        payload_bytes=payload,
        num_elements=payload // 4,
        dtype="float32",
        group_size=len(ranks),
        group_ranks=ranks,
    )


def test_all_parameters_are_blocks_and_ends():
    block, ends = held_parameters(CONFIG, 1)
    assert 3 * block + ends == CONFIG.num_parameters
    assert held_parameters(CONFIG, 3)[0] > block / 3  # norms and some biases stay whole


def test_replicas_send_the_gradients_of_all_parameters_twice():
    workload = Workload(config=CONFIG, num_sequences=9)
    found = formula_bytes(workload, Layout(dp=3))
    assert found == {"dp": pytest.approx(2 * 2 / 3 * 4 * CONFIG.num_parameters)}


def test_stages_send_an_activation_across_each_border_and_back():
    workload = Workload(config=CONFIG, num_sequences=6, num_tokens=7, num_micro_batches=3)
    activation = 6 * 7 * 12 * 8
    found = formula_bytes(workload, Layout(pp=3), element_bytes=8)
    assert found == {"pp": pytest.approx(2 * 2 * activation / 3)}


def test_calls_are_sorted_by_the_ranks_they_go_to():
    ranks = [(0, 1), (0, 1), (2, 3), (2, 3)]
    calls = [[call("all_reduce", group, 40)] for group in ranks]
    calls[0].append(call("send", (0, 2), 100))
    calls[2].append(call("recv", (0, 2), 100))
    pp, tp = count_axes(TWO, calls, {"pp": 1.0, "tp": 2.0})
    assert (pp.axis, pp.counted, pp.num_calls, pp.formula) == ("pp", 25.0, 1, 1.0)
    assert (tp.axis, tp.counted, tp.num_calls, tp.formula) == ("tp", 40.0, 1, 2.0)


def test_a_call_to_ranks_of_no_axis_is_refused():
    calls = [[call("all_reduce", (0, 3), 40)], [], [], []]
    with pytest.raises(ValueError, match=r"rank 0 called all_reduce with the ranks \(0, 3\)"):
        count_axes(TWO, calls, {"pp": 1.0, "tp": 2.0})
