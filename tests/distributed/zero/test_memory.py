"""Bytes of tensors. Oracle: sizes worked out by hand. No ranks."""

import torch
from torch import nn

from fuseshard.distributed.zero.memory import (
    LiveTensors,
    SavedForBackward,
    optimizer_state_bytes,
    storage_bytes,
)


def test_a_storage_counts_once_however_many_tensors_show_it() -> None:
    whole = torch.zeros(10)
    assert storage_bytes([whole, whole[2:4], None]) == 40
    assert storage_bytes([whole, whole.clone()]) == 80


def test_a_storage_that_was_freed_counts_nothing() -> None:
    tensor = torch.zeros(10)
    tensor.untyped_storage().resize_(0)
    assert storage_bytes([tensor]) == 0


def test_adam_keeps_two_moments_and_a_counter_a_parameter() -> None:
    module = nn.Linear(3, 5)
    optimizer = torch.optim.AdamW(module.parameters())
    assert optimizer_state_bytes(optimizer) == 0
    module(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    assert optimizer_state_bytes(optimizer) == 8 * 20 + 4 * 2


def test_what_backward_needs_is_counted_without_the_parameters() -> None:
    """A linear layer keeps its input, 6 numbers, tanh its output, 10; the second keeps that too."""
    module = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
    with SavedForBackward(module) as saved:
        module(torch.ones(2, 3))
    assert saved.num_bytes == 4 * (6 + 10)
    with SavedForBackward(nn.Linear(1, 1)) as everything:  # whose parameters these aren't
        module(torch.ones(2, 3))
    assert everything.num_bytes == 4 * (6 + 10 + 5)  # the second layer's weight too


def test_live_tensors_come_and_go() -> None:
    with LiveTensors() as live:
        first = torch.zeros(100)
        second = first + 1
        view = second[:10]
        assert live.num_bytes == 800
        del first
        assert live.num_bytes == 400
        del second
        assert live.num_bytes == 400
        view.untyped_storage().resize_(0)
        assert live.num_bytes == 0
    assert live.peak_bytes == 800


def test_tensors_made_before_count_once_they_are_watched() -> None:
    before = torch.zeros(100)
    with LiveTensors() as live:
        assert live.num_bytes == 0
        live.watch([before])
        assert live.num_bytes == live.peak_bytes == 400


def test_meta_tensors_hold_nothing() -> None:
    with LiveTensors() as live:
        kept = torch.zeros(100, device="meta")
    assert kept.numel() == 100
    assert live.peak_bytes == 0
