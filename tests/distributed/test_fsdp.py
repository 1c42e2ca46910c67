"""Sharding by hand. Oracles: torch's fully_shard, and one process with the whole batch.

2 to 4 gloo ranks, one launch a size. 12 samples divide by all sizes, the parameters by none.
Each equality has twins that must fail: no division, no reduction, one shard skewed.
"""

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.functional import mse_loss

from fuseshard.distributed.equivalence import largest_difference
from fuseshard.distributed.fsdp import shard_by_hand, whole
from fuseshard.distributed.launcher import DistributedError, run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.traffic import all_gather_bytes, reduce_scatter_bytes
from fuseshard.distributed.zero.training import prepare

pytestmark = pytest.mark.ranks

NUM_SAMPLES, NUM_STEPS, LEARNING_RATE = 12, 4, 1e-2
FORMATS = (torch.float32, torch.float64)
TWINS = ("no division", "no reduction", "skewed")


def model(dtype=torch.float64):
    torch.manual_seed(0)
    layers = nn.Linear(7, 13), nn.Tanh(), nn.Linear(13, 5)
    return nn.Sequential(*layers).to(dtype)


def batch(dtype):
    generator = torch.Generator().manual_seed(1)
    samples = torch.randn(NUM_SAMPLES, 12, generator=generator, dtype=torch.float64).to(dtype)
    return samples[:, :7], samples[:, 7:]


def alone(dtype):
    """One process with the whole batch."""
    module = model(dtype)
    optimizer = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE)
    inputs, targets = batch(dtype)
    for _ in range(NUM_STEPS):
        optimizer.zero_grad()
        mse_loss(module(inputs), targets).backward()
        optimizer.step()
    return {name: param.detach().clone() for name, param in module.named_parameters()}


def trained(rank, size, dtype, variant, twin=None):
    """All parameters after some steps, whole, as this rank reads them."""
    module = model(dtype)
    groups = [dist.new_group([member]) for member in range(size)]
    group = groups[rank] if twin == "no reduction" else None
    training = prepare(variant, module, [module[0]], group, learning_rate=LEARNING_RATE)
    if twin == "skewed" and rank == size - 1:
        with torch.no_grad():
            training.kept[0].view(-1)[0] += 1e-3
    inputs, targets = (part.chunk(size)[rank] for part in batch(dtype))
    for _ in range(NUM_STEPS):
        loss = mse_loss(module(inputs), targets)
        training.step(loss * size if twin == "no division" else loss)
    return training.read()


def all_trained(rank, size):
    found = {
        (dtype, variant, None): trained(rank, size, dtype, variant)
        for dtype in FORMATS
        for variant in ("zero3", "fully_shard")
    }
    for dtype in FORMATS:
        for twin in TWINS:
            found[dtype, "zero3", twin] = trained(rank, size, dtype, "zero3", twin)
    return found


@pytest.fixture(scope="module", params=[2, 3, 4], ids="N={}".format)
def outcome(request):
    return run(all_trained, request.param)


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
@pytest.mark.parametrize("variant", ["zero3", "fully_shard"])
def test_several_steps_end_where_one_process_does(outcome, variant, dtype) -> None:
    """A gradient is a sum over 12 samples; AdamW's step keeps relative errors about as they are."""
    for rank in outcome:
        difference = largest_difference(rank[dtype, variant, None], alone(dtype))
        assert difference.is_rounding(num_terms=NUM_SAMPLES), difference


@pytest.mark.parametrize("dtype", FORMATS, ids=str)
def test_by_hand_is_what_fully_shard_does(outcome, dtype) -> None:
    for rank in outcome:
        difference = largest_difference(
            rank[dtype, "zero3", None], rank[dtype, "fully_shard", None]
        )
        assert difference.is_rounding(num_terms=NUM_SAMPLES), difference
        if len(outcome) == 2:  # one addition a number: nothing to round differently
            assert difference.absolute == 0


@pytest.mark.parametrize("twin", TWINS)
def test_a_bug_is_no_rounding(outcome, twin) -> None:
    apart = {
        dtype: largest_difference(outcome[0][dtype, "zero3", twin], alone(dtype))
        for dtype in FORMATS
    }
    assert not apart[torch.float64].is_rounding(num_terms=NUM_SAMPLES), apart
    assert apart[torch.float64].in_epsilons > 1e6
    # AdamW divides each gradient by its own size, so that in float32 a factor hardly shows.
    if twin != "no division":
        assert not apart[torch.float32].is_rounding(num_terms=NUM_SAMPLES), apart


def reduced(rank, size, factor):
    """The gradient that the shards hold after one backward pass, laid end to end."""
    module = model()
    units = shard_by_hand(module, [module[0]])
    inputs, targets = (part.chunk(size)[rank] for part in batch(torch.float64))
    (factor * mse_loss(module(inputs), targets)).backward()
    return [unit.shard.grad for unit in units]


@pytest.mark.parametrize("size", [2, 3])
def test_a_shards_gradient_is_that_of_the_whole_batch(size) -> None:
    module = model()
    mse_loss(module(batch(torch.float64)[0]), batch(torch.float64)[1]).backward()
    for factor, is_right in ((1, True), (size, False)):
        shards = run(reduced, size, args=(factor,))
        for unit, layer in enumerate((module[0], module[2])):
            expected = torch.cat([param.grad.flatten() for param in layer.parameters()])
            found = torch.cat([shard[unit] for shard in shards])[: len(expected)]
            apart = largest_difference({"gradient": found}, {"gradient": expected})
            assert apart.is_rounding(num_terms=NUM_SAMPLES) == is_right


def counted(rank, size, reshard):
    """Bytes given to collectives in one step, unit by unit, and what is whole when."""
    module = model()
    units = shard_by_hand(module, [module[0]], reshard_after_forward=reshard)
    inputs, targets = (part.chunk(size)[rank] for part in batch(torch.float64))
    with CommMeter() as meter:
        loss = mse_loss(module(inputs), targets)
        between = [unit.flat.is_whole for unit in units]
        loss.backward()
    after = [unit.flat.is_whole for unit in units]
    calls = [(call.op, call.payload_bytes) for call in meter.calls]
    return calls, meter.sent_bytes_per_rank, between, after


PADDED = {2: (104, 70), 3: (105, 72), 4: (104, 72)}  # of 104 = 7*13 + 13 and 70 = 13*5 + 5


@pytest.mark.parametrize("size", PADDED)
@pytest.mark.parametrize(
    ("reshard", "between"), [(None, [False, True]), (True, [False, False]), (False, [True, True])]
)
def test_a_step_gathers_and_reduces_what_the_formula_says(size, reshard, between) -> None:
    inner, outer = (8 * numel for numel in PADDED[size])
    gathers = {None: [outer, inner, inner], True: [outer, inner, outer, inner]}
    expected = gathers.get(reshard, [outer, inner])
    for calls, sent, whole_between, whole_after in run(counted, size, args=(reshard,)):
        assert [payload for op, payload in calls if op == "all_gather"] == expected
        assert [payload for op, payload in calls if op == "reduce_scatter"] == [outer, inner]
        total = sum(all_gather_bytes(payload, size) for payload in expected)
        total += reduce_scatter_bytes(inner, size) + reduce_scatter_bytes(outer, size)
        assert sent == total
        assert whole_between == between
        assert whole_after == [False, False]


def read_whole(rank, size):
    module = model()
    before = {name: param.detach().clone() for name, param in module.named_parameters()}
    units = shard_by_hand(module, [module[0]])
    with whole(units):
        inside = {name: param.detach().clone() for name, param in module.named_parameters()}
    numels = [unit.shard.numel() for unit in units]
    return before, inside, numels, [unit.flat.is_whole for unit in units]


def test_a_checkpoint_reads_whole_parameters_and_frees_them() -> None:
    for before, inside, numels, after in run(read_whole, 3):
        assert largest_difference(before, inside).absolute == 0
        assert numels == [35, 24]
        assert after == [False, False]


def accumulated(rank, size):
    """The gradients of two passes without forgetting between them, and of one over both."""
    found = []
    for halves in (2, 1):
        module = model()
        units = shard_by_hand(module, [module[0]])
        inputs, targets = (part.chunk(size)[rank] for part in batch(torch.float64))
        for x, y in zip(inputs.chunk(halves), targets.chunk(halves), strict=True):
            (mse_loss(module(x), y) / halves).backward()
        found.append({str(i): unit.shard.grad for i, unit in enumerate(units)})
    return found


def test_gradients_of_several_passes_add_up() -> None:
    for twice, once in run(accumulated, 2):
        assert largest_difference(twice, once).is_rounding(num_terms=NUM_SAMPLES)


def evaluated_between(rank, size):
    """What the model computes before and after a step, with an evaluation before the step."""
    module = model()
    training = prepare("zero3", module, [module[0]], learning_rate=LEARNING_RATE)
    inputs, targets = batch(torch.float64)
    mse_loss(module(inputs), targets).backward()
    with torch.no_grad():
        before = module(inputs)  # the root stays whole: no backward pass frees it
        training.optimizer.step()
        after = module(inputs)
    training.optimizer.step()
    return before, after, training.read()


def test_an_evaluation_before_the_step_leaves_nothing_stale() -> None:
    """Oracle: one process that does the same; its own output before the step is the twin."""
    module = model()
    optimizer = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE)
    inputs, targets = batch(torch.float64)
    mse_loss(module(inputs), targets).backward()
    expected_before = module(inputs).detach()
    optimizer.step()
    expected = {"y": module(inputs).detach()}
    optimizer.step()
    parameters = {name: param.detach() for name, param in module.named_parameters()}
    for before, after, read in run(evaluated_between, 3):
        assert largest_difference({"y": before}, {"y": expected_before}).is_rounding(NUM_SAMPLES)
        assert largest_difference({"y": after}, expected).is_rounding(NUM_SAMPLES)
        assert largest_difference({"y": before}, expected).in_epsilons > 1e6
        assert largest_difference(read, parameters).is_rounding(NUM_SAMPLES)


class Offset(nn.Module):
    """A parameter without elements, which adds nothing."""

    def __init__(self):
        super().__init__()
        self.rows = nn.Parameter(torch.zeros(0, 5, dtype=torch.float64))

    def forward(self, x):
        return x + self.rows.sum(0)


def with_nothing(rank, size):
    module = nn.Sequential(model(), Offset())
    training = prepare("zero3", module, list(module), learning_rate=LEARNING_RATE)
    inputs, targets = (part.chunk(size)[rank] for part in batch(torch.float64))
    for _ in range(NUM_STEPS):
        training.step(mse_loss(module(inputs), targets))
    found = {name.removeprefix("0."): param for name, param in training.read().items()}
    return found.pop("1.rows").shape, found


def test_a_unit_without_elements_changes_nothing() -> None:
    for shape, found in run(with_nothing, 3):
        assert shape == (0, 5)
        assert largest_difference(found, alone(torch.float64)).is_rounding(NUM_SAMPLES)


def refused(rank, size, inner):
    """What is refused, and whether the other unit's parameters still hold their values."""
    module = model()
    module[2].weight.requires_grad_(False)
    try:
        shard_by_hand(module, [module[index] for index in inner])
    except ValueError as error:
        return str(error), torch.equal(module[0].weight, model()[0].weight)


@pytest.mark.parametrize(
    ("inner", "reason"),
    [((0, 2), "don't require a gradient"), ((0, 1), "got no parameters"), ((0, 0), "one unit")],
)
def test_a_refusal_changes_nothing(inner, reason) -> None:
    for message, is_untouched in run(refused, 2, args=(inner,)):
        assert reason in message
        assert is_untouched


def unused_in_the_last_step(rank, size):
    """No forward pass follows that would notice."""
    module = model()
    module[0].spare = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    training = prepare("zero3", module, [module[0]])
    training.step(module(batch(torch.float64)[0]).sum())


def unused_parameter(rank, size):
    module = model()
    module[0].spare = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    shard_by_hand(module, [module[0]])
    for _ in range(2):
        module(batch(torch.float64)[0]).sum().backward()


def overlapping(rank, size):
    module = model()
    shard_by_hand(module, [module[0], module[0]])


def shared(rank, size):
    module = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    module[1].weight = module[0].weight
    shard_by_hand(module, [module[0]])


def frozen(rank, size):
    module = model()
    module[0].weight.requires_grad_(False)
    shard_by_hand(module, [module[0]])


def several_dtypes(rank, size):
    module = model()
    module[0].bias.data = module[0].bias.data.float()
    shard_by_hand(module, [module[0]])


def outsider(rank, size):
    group = dist.new_group([0])
    shard_by_hand(model(), [], group)


@pytest.mark.parametrize(
    ("worker", "reason"),
    [
        (outsider, "this rank is not in the group"),
        (unused_parameter, "gradients for 2 of 3 parameters"),
        (unused_in_the_last_step, "gradients for 2 of 3 parameters"),
        (overlapping, "one unit each"),
        (shared, r"0\.weight and 1\.weight are one parameter"),
        (frozen, "don't require a gradient"),
        (several_dtypes, "one dtype"),
    ],
)
def test_what_cannot_work_is_refused(worker, reason) -> None:
    with pytest.raises(DistributedError, match=reason):
        run(worker, 2)
