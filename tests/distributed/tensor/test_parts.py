"""Vocabulary, sequence and what is saved. Oracles: torch's own functions in one process.

3 gloo ranks, one run. Sizes don't divide by 3 where the code takes uneven parts.
"""

import pytest
import torch
from torch import nn
from torch.nn import functional

from fuseshard.distributed.launcher import run
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.tensor.assemble import check_untied, take_parameter
from fuseshard.distributed.tensor.placements import even_ranges
from fuseshard.distributed.tensor.saved import SavedBytes
from fuseshard.distributed.tensor.sequence import (
    RegatheringLinear,
    gather_sequence,
    reduce_replicated_gradients,
    scatter_sequence,
)
from fuseshard.distributed.tensor.vocabulary import (
    VocabularyParallelEmbedding,
    check_tokens,
    vocabulary_parallel_cross_entropy,
)
from fuseshard.distributed.tensor_parallel import ColumnParallelLinear
from fuseshard.distributed.traffic import all_gather_bytes, all_reduce_bytes, reduce_scatter_bytes

SIZE, VOCABULARY, WIDTH = 3, 11, 4
RANGES = even_ranges(VOCABULARY, SIZE)


def draw(*shape, seed):
    """Small whole numbers: sums are exact in any order."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, shape, generator=generator).double()


def tokens():
    return torch.tensor([[0, 10, 4, 3, 4, 8], [7, 7, 1, 5, 9, 2]])  # every rank has some


def embedding():
    whole = nn.Embedding(VOCABULARY, WIDTH).double()
    whole.weight.data = draw(VOCABULARY, WIDTH, seed=1)
    return whole


def embed(layer):
    rows = layer(tokens())
    (rows * draw(2, 6, WIDTH, seed=2)).sum().backward()
    return rows.detach(), layer.weight.grad


def shifted(scale):
    """Logits whose largest entry overflows exp, unless the maximum is taken off."""
    return scale * draw(2, 6, VOCABULARY, seed=3)


def losses(rank):
    found = {}
    ((start, stop),) = RANGES[rank]
    for name, scale, first in (
        ("right", 1.0, start),
        ("large", 300.0, start),
        ("off by one", 1.0, start + 1),
    ):
        logits = shifted(scale)[..., start:stop].clone().requires_grad_()
        with CommMeter() as meter:
            loss = vocabulary_parallel_cross_entropy(logits, tokens(), first)
            (2 * loss).backward()
        found[name] = loss.item(), logits.grad, meter.sent_bytes_per_rank
    return found


def sequences(rank):
    """Both operators on [2, 6, 4], with other weights on each rank."""
    own = draw(2, 2, WIDTH, seed=10 + rank).requires_grad_()
    term = draw(2, 6, WIDTH, seed=20 + rank).requires_grad_()
    with CommMeter() as meter:
        gathered = gather_sequence(own)
        (by_own,) = torch.autograd.grad((gathered * draw(2, 6, 4, seed=30 + rank)).sum(), own)
        piece = scatter_sequence(term)
        (by_term,) = torch.autograd.grad((piece * draw(2, 2, 4, seed=40 + rank)).sum(), term)
    return gathered.detach(), by_own, piece.detach(), by_term, meter.sent_bytes_per_rank


def linear():
    whole = nn.Linear(WIDTH, 6).double()
    whole.weight.data, whole.bias.data = draw(6, WIDTH, seed=50), draw(6, seed=51)
    return whole


def gathered_twice(rank):
    """A column-parallel layer on tokens in parts, saving all of them or only its own."""
    found = {}
    for name, layer in (
        ("kept", ColumnParallelLinear(linear(), enter=gather_sequence)),
        ("again", RegatheringLinear(linear())),
    ):
        x = draw(2, 2, WIDTH, seed=60 + rank).requires_grad_()
        with SavedBytes([x, *layer.parameters()]) as saved:
            y = layer(x)
        (y * draw(2, 6, 2, seed=70 + rank)).sum().backward()
        found[name] = y.detach(), x.grad, layer.weight.grad, layer.bias.grad, saved.num_bytes
    return found


def work(rank, size):
    layer = VocabularyParallelEmbedding(embedding())
    params = [nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(1, 3))]
    for index, param in enumerate(params):
        param.grad = torch.full(param.shape, float(10**rank * (index + 1)))
    reduce_replicated_gradients(params)
    reduced = [param.grad for param in params]
    return embed(layer), losses(rank), sequences(rank), gathered_twice(rank), reduced


@pytest.fixture(scope="module")
def computed():
    return run(work, SIZE)


@pytest.mark.ranks
def test_an_embedding_in_parts_is_the_whole_one(computed):
    rows, gradient = embed(embedding())
    for found, *_ in computed:
        assert torch.equal(found[0], rows)
    assert torch.equal(torch.cat([found[1] for found, *_ in computed]), gradient)


@pytest.mark.ranks
@pytest.mark.parametrize(("name", "scale"), [("right", 1.0), ("large", 300.0)])
def test_the_loss_and_its_gradient_are_torchs(computed, name, scale):
    """Logits of up to 1200 overflow exp; the log of a sum is rounded, hence the tolerance."""
    logits = shifted(scale).requires_grad_()
    loss = functional.cross_entropy(logits.flatten(0, 1), tokens().flatten())
    (2 * loss).backward()
    found = [losses[name] for _, losses, *_ in computed]
    torch.testing.assert_close(
        torch.tensor([value for value, *_ in found]),
        torch.tensor([loss.item()] * SIZE),
        rtol=1e-6,
        atol=0,
    )
    parts = torch.cat([gradient for _, gradient, _ in found], -1)
    torch.testing.assert_close(parts, logits.grad, rtol=1e-12, atol=1e-15)
    assert {sent for *_, sent in found} == {3 * all_reduce_bytes(12 * 8, SIZE)}


@pytest.mark.ranks
def test_a_loss_that_looks_for_the_target_one_token_off_is_seen(computed):
    found = [losses for _, losses, *_ in computed]
    assert found[0]["off by one"][0] != pytest.approx(found[0]["right"][0], rel=1e-3)


def test_a_negative_target_is_refused_before_anything_is_sent():
    """torch's `ignore_index` has no twin here: no rank has token -100."""
    targets = torch.tensor([[3, -100]])
    with pytest.raises(ValueError, match="targets holds -100, must be token numbers from 0 on"):
        vocabulary_parallel_cross_entropy(torch.zeros(1, 2, 5), targets, 0)


def test_tokens_outside_the_vocabulary_are_refused():
    """torch's embedding and loss raise an IndexError; here each rank would add zeros."""
    check_tokens("tokens", tokens(), VOCABULARY)
    check_tokens("tokens", torch.empty(0, 3, dtype=torch.int64), VOCABULARY)
    for wrong in (VOCABULARY, -1):
        reason = rf"tokens holds {wrong}, must be token numbers from 0 to 10"
        with pytest.raises(ValueError, match=reason):
            check_tokens("tokens", torch.tensor([[3, wrong]]), VOCABULARY)


@pytest.mark.parametrize("option", [{"padding_idx": 2}, {"max_norm": 1.0}])
def test_an_embedding_with_rules_of_its_own_is_refused(option):
    with pytest.raises(ValueError, match="without padding_idx and max_norm"):
        VocabularyParallelEmbedding(nn.Embedding(VOCABULARY, WIDTH, **option))


def test_gradients_of_no_replicas_need_no_sum():
    """Without a process group a collective would raise."""
    frozen = nn.Parameter(torch.zeros(2), requires_grad=False)
    reduce_replicated_gradients([frozen])
    assert frozen.grad is None


def test_tied_parameters_are_named():
    layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    check_untied(layers)
    layers[1].weight = layers[0].weight
    with pytest.raises(ValueError, match=r"0\.weight and 1\.weight are one parameter"):
        check_untied(layers)


def test_a_part_of_a_frozen_parameter_is_frozen():
    for is_trained in (True, False):
        whole = nn.Parameter(draw(5, 3, seed=80), requires_grad=is_trained)
        part = take_parameter(whole, 0, ((1, 3),))
        assert torch.equal(part, whole[1:3])
        assert part.requires_grad == is_trained


@pytest.mark.ranks
def test_sequence_operators_and_their_gradients(computed):
    own = torch.cat([draw(2, 2, WIDTH, seed=10 + rank) for rank in range(SIZE)], 1)
    total = sum(draw(2, 6, WIDTH, seed=20 + rank) for rank in range(SIZE))
    weights = sum(draw(2, 6, WIDTH, seed=30 + rank) for rank in range(SIZE))
    pieces = torch.cat([draw(2, 2, WIDTH, seed=40 + rank) for rank in range(SIZE)], 1)
    num_bytes = 2 * 6 * WIDTH * 8
    sent = 2 * (all_gather_bytes(num_bytes, SIZE) + reduce_scatter_bytes(num_bytes, SIZE))
    assert sent == 2 * all_reduce_bytes(num_bytes, SIZE)
    for rank, (_, _, (gathered, by_own, piece, by_term, counted), *_) in enumerate(computed):
        mine = slice(2 * rank, 2 * rank + 2)
        assert torch.equal(gathered, own)
        assert torch.equal(by_own, weights[:, mine])
        assert not torch.equal(by_own, draw(2, 6, WIDTH, seed=30 + rank)[:, mine])  # one's own
        assert torch.equal(piece, total[:, mine])
        assert torch.equal(by_term, pieces)
        assert counted == sent


@pytest.mark.ranks
def test_gathering_twice_changes_memory_and_nothing_else(computed):
    for *_, found, _ in computed:
        *kept, kept_bytes = found["kept"]
        *again, again_bytes = found["again"]
        assert all(torch.equal(one, other) for one, other in zip(kept, again, strict=True))
        assert (kept_bytes, again_bytes) == (2 * 6 * WIDTH * 8, 0)  # x itself is free


@pytest.mark.ranks
def test_gradients_of_replicas_are_added(computed):
    for *_, (first, second) in computed:
        assert torch.equal(first, torch.full((2,), 111.0))
        assert torch.equal(second, torch.full((1, 3), 222.0))


def test_saved_memory_counts_once_and_not_what_is_free():
    x = torch.ones(3, 5, requires_grad=True)
    weight = torch.ones(5, requires_grad=True)
    with SavedBytes([weight]) as saved:
        (x * weight).exp().sum()
    assert saved.num_bytes == 2 * 3 * 5 * 4  # x, and exp's result
    with SavedBytes([weight, x]) as fewer:
        (x * weight).exp().sum()
    assert fewer.num_bytes == 3 * 5 * 4
    with SavedBytes() as once:
        (x.T * x.T).sum()  # saves two views of one memory
    assert once.num_bytes == 3 * 5 * 4
