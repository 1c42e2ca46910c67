"""Layer 1. Oracle: torch's own tables, action by action (private, checked on torch 2.13).

That torch also *runs* in this order, tests/distributed/pipelines/test_library.py shows.
"""

import itertools

import pytest
from torch.distributed.pipelining import schedules as torch_schedules

from fuseshard.distributed.scheduling.catalog import make_orders
from fuseshard.distributed.scheduling.text import format_orders

SIZES = list(itertools.product((1, 2, 3, 4, 8), (1, 2, 3, 5, 8, 16)))


def torch_orders(name: str, p: int, m: int, chunks: int = 1) -> list[str]:
    """A table of torch's, made without processes: the attributes that its code reads."""
    maker = object.__new__(getattr(torch_schedules, name))
    rounds = max(1, m // p)
    maker.__dict__.update(
        pp_group_size=p,
        _num_stages=p,
        num_stages=p * chunks,
        _n_microbatches=m,
        _stages=[None] * chunks,
        n_local_stages=chunks,
        number_of_rounds=rounds,
        microbatches_per_round=m // rounds,
    )
    if hasattr(maker, "_calculate_single_rank_operations"):
        table = {rank: maker._calculate_single_rank_operations(rank) for rank in range(p)}
    else:
        table = maker._get_pipeline_order()
    return [flat(table[rank]) for rank in range(p)]


def flat(actions) -> str:
    """Compute actions as text, those that overlap one after the other."""
    singles = [b for a in actions if a is not None for b in (a.sub_actions or (a,))]
    return " ".join(str(a) for a in singles if a.computation_type.value in "FBIW")


def our_orders(name: str, p: int, m: int, chunks: int = 1) -> list[str]:
    return format_orders(make_orders(name, p, m, chunks)[0]).splitlines()


@pytest.mark.parametrize(("p", "m"), SIZES)
def test_gpipe_is_torchs(p, m):
    assert our_orders("gpipe", p, m) == torch_orders("ScheduleGPipe", p, m)


@pytest.mark.parametrize(("p", "m"), [(p, m) for p, m in SIZES if m >= p])
def test_1f1b_is_torchs_except_on_the_last_rank_where_torchs_table_is_wrong(p, m):
    """Torch 2.13's table starts the last rank at micro-batch 1 and asks for one too many.

    When this fails, torch has mended it: compare all ranks then. Its runs have the right order.
    """
    ours, theirs = our_orders("1f1b", p, m), torch_orders("Schedule1F1B", p, m)
    assert ours[:-1] == theirs[:-1]
    stage = p - 1
    assert ours[-1] == " ".join(f"{stage}F{i} {stage}B{i}" for i in range(m))
    assert theirs[-1] == " ".join(f"{stage}F{i + 1} {stage}B{i}" for i in range(m))


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("looped_bfs", "ScheduleLoopedBFS"),
        ("interleaved_1f1b", "ScheduleInterleaved1F1B"),
        ("interleaved_zb", "ScheduleInterleavedZeroBubble"),
    ],
)
@pytest.mark.parametrize("chunks", [1, 2, 3])
def test_looped_schedules_are_torchs(name, theirs, chunks):
    sizes = [(p, m) for p, m in SIZES if m % max(1, m // p) == 0]
    assert len(sizes) > 20
    for p, m in sizes:
        assert our_orders(name, p, m, chunks) == torch_orders(theirs, p, m, chunks), (p, m)


@pytest.mark.parametrize(("p", "m"), SIZES)
def test_zb_h1_is_torchs_zero_bubble_with_one_stage_a_rank(p, m):
    if m % max(1, m // p) == 0:
        assert our_orders("zb_h1", p, m) == torch_orders("ScheduleInterleavedZeroBubble", p, m)
    # With any number of micro-batches, each action stands there once.
    for line in our_orders("zb_h1", p, m):
        assert len(set(line.split())) == len(line.split()) == 3 * m


@pytest.mark.parametrize(("p", "m"), SIZES)
def test_zbv_is_torchs(p, m):
    assert our_orders("zbv", p, m) == torch_orders("ScheduleZBVZeroBubble", p, m, 2)


@pytest.mark.parametrize(("p", "m"), [(p, m) for p, m in SIZES if m >= 2 * p])
def test_dualpipev_is_torchs(p, m):
    assert our_orders("dualpipev", p, m) == torch_orders("ScheduleDualPipeV", p, m, 2)


def test_the_comparison_sees_one_exchanged_pair():
    (first, *_), theirs = our_orders("zbv", 4, 8), torch_orders("ScheduleZBVZeroBubble", 4, 8, 2)
    one, two, *others = first.split()
    assert " ".join([two, one, *others]) != theirs[0] == first
