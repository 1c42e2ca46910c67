"""Maximum flow and cheapest cut by hand. Oracle: networkx.minimum_cut. Pure data."""

import random
from itertools import pairwise
from math import inf

import networkx
import pytest

from fuseshard.compiler.joint.maxflow import Capacities, max_flow

TEXTBOOK: Capacities = {
    ("s", "a"): 16,
    ("s", "b"): 13,
    ("a", "c"): 12,
    ("b", "a"): 4,
    ("c", "b"): 9,
    ("b", "d"): 14,
    ("d", "c"): 7,
    ("c", "t"): 20,
    ("d", "t"): 4,
}
"""from Cormen, Leiserson, Rivest and Stein, Introduction to Algorithms: the flow is 23"""

DETOUR: Capacities = {
    ("s", "a"): 1,
    ("s", "b"): 1,
    ("a", "d"): 1,
    ("b", "c"): 1,
    ("a", "c"): 1,
    ("c", "t"): 1,
    ("d", "e"): 1,
    ("e", "t"): 1,
}
"""the shortest way, s a c t, takes the place of s b c t and has to be taken back: the flow is 2"""


def by_networkx(capacities: Capacities) -> float:
    graph = networkx.DiGraph()
    for (start, end), capacity in capacities.items():
        graph.add_edge(start, end, capacity=capacity)
    return float(networkx.minimum_cut(graph, "s", "t")[0])


def random_network(seed: int) -> Capacities:
    """Make a network in which the edges into the sink are finite, so that there is a cut."""
    generator = random.Random(seed)
    nodes = ["s", *"abcdefg", "t"]
    edges = {("s", "a"): inf, ("a", "t"): 3.0}
    for start in nodes[:-1]:
        for end in nodes[1:]:
            if start != end and generator.random() < 0.4:
                finite = generator.choice([1.0, 2.0, 7.0, 12.0])
                edges[start, end] = finite if end == "t" or generator.random() < 0.7 else inf
    return edges


@pytest.mark.parametrize(("capacities", "amount"), [(TEXTBOOK, 23), (DETOUR, 2)])
def test_the_flow_of_a_known_network(capacities: Capacities, amount: int) -> None:
    assert max_flow(capacities, "s", "t").amount == amount == by_networkx(capacities)


@pytest.mark.parametrize("seed", range(12))
def test_flow_and_cut_are_those_of_networkx(seed: int) -> None:
    capacities = random_network(seed)
    flow = max_flow(capacities, "s", "t")
    assert flow.amount == by_networkx(capacities)
    assert sum(capacities[edge] for edge in flow.cut) == flow.amount


def test_without_taking_back_the_flow_is_smaller() -> None:
    """Must-fail twin: a search that only goes along the arrows stops at 1."""
    room = dict(DETOUR)
    amount = 0.0
    for way in ("sact", "sbct", "sadet"):
        edges = list(pairwise(way))
        narrowest = min(room[edge] for edge in edges)
        amount += narrowest
        room.update({edge: room[edge] - narrowest for edge in edges})
    assert amount == 1 < max_flow(DETOUR, "s", "t").amount


def test_of_equal_cuts_the_one_nearest_the_sink_is_taken() -> None:
    chain: Capacities = {("s", "a"): 2, ("a", "b"): 2, ("b", "t"): 2}
    assert max_flow(chain, "s", "t").cut == (("b", "t"),)


def test_a_way_without_a_finite_edge_is_named() -> None:
    with pytest.raises(ValueError, match="the way s -> a -> t has no finite edge"):
        max_flow({("s", "a"): inf, ("a", "t"): inf}, "s", "t")
