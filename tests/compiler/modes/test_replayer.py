"""The graph in miniature. Oracle: eager mode, bit for bit."""

import pytest
import torch

from fuseshard.compiler.modes.replayer import Replayer
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig

SIZES = [(1, 1), (3, 7), (2, 12)]


def tokens(batch: int, length: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(600, (batch, length), generator=generator)


@pytest.mark.parametrize(("batch", "length"), SIZES)
def test_a_replay_gives_eager_modes_logits_for_new_tokens(batch: int, length: int) -> None:
    model = MiniGPT(MiniGPTConfig(num_layers=2)).requires_grad_(False)
    replay = Replayer(model, tokens(batch, length, seed=1))
    for seed in (2, 3):
        new = tokens(batch, length, seed)
        assert torch.equal(replay(new), model(new))


def test_a_replay_that_copies_no_input_repeats_the_recorded_one() -> None:
    """Must-fail twin of the test above: without the copy the new numbers never arrive."""
    first, second = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([4.0, 5.0, 6.0])
    replay = Replayer(lambda x: x * 2 + 1, first)
    replay.inputs = (torch.empty(3),)  # the copy goes elsewhere, the kernels read the old place
    assert not torch.equal(replay(second), second * 2 + 1)
    assert torch.equal(replay(second), first * 2 + 1)


def test_a_second_replay_overwrites_the_first_result_but_no_clone() -> None:
    replay = Replayer(lambda x: x * 2 + 1, torch.zeros(2))
    held = replay(torch.tensor([1.0, 2.0]))
    kept = held.clone()
    later = replay(torch.tensor([10.0, 20.0]))
    assert later is held
    assert held.tolist() == [21.0, 41.0]
    assert kept.tolist() == [3.0, 5.0]


def test_what_is_replayed_is_not_pythons_to_change() -> None:
    scale = {"by": 2.0}
    replay = Replayer(lambda x: x * scale["by"], torch.ones(1))
    scale["by"] = 5.0
    assert replay(torch.ones(1)).item() == 2.0


def test_views_cost_no_launch_and_in_place_operations_are_replayed() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = x.t().contiguous()
        y.add_(1.0)
        return y.view(-1)

    x = torch.arange(6.0).view(2, 3)
    replay = Replayer(fn, torch.zeros(2, 3))
    assert len(replay.launches) == 2
    for factor in (1.0, 3.0):
        assert torch.equal(replay(factor * x), fn(factor * x))


def test_a_number_for_python_is_refused() -> None:
    with pytest.raises(ValueError, match="gives Python a number, a recording must not need one"):
        Replayer(lambda x: x if x.sum() > 0 else -x, torch.ones(2))


def test_inputs_of_another_number_are_refused() -> None:
    replay = Replayer(torch.add, torch.ones(2), torch.ones(2))
    with pytest.raises(ValueError, match="zip"):
        replay(torch.ones(2))
