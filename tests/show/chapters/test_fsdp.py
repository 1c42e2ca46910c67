"""Layer 1: what the chapter on sharding draws, from records made by hand.

Oracle: the numbers that went in.
"""

from dataclasses import dataclass

import pytest

from fuseshard.distributed.zero.records import ModelStates, Moment, Residency, StepMemory
from fuseshard.show.chapters.fsdp.differences import mixed_tensors_message, parameter_table
from fuseshard.show.chapters.fsdp.memory import memory_figure, memory_table
from fuseshard.show.chapters.fsdp.residency import residency_figure
from fuseshard.show.chapters.fsdp.traffic import Sent, traffic_table
from fuseshard.show.chapters.fsdp.ways import way_name
from fuseshard.show.records import Number

MESSAGE = (
    "RuntimeError: aten.addmm.default got mixed torch.Tensor and DTensor, need to convert all "
    "torch.Tensor to DTensor before calling distributed operators!"
)


@dataclass(frozen=True)
class Apart:
    """A difference of which only the number of epsilons matters."""

    in_epsilons: float
    absolute: float = 5.6e-17

    def is_rounding(self, num_terms: int) -> bool:
        return self.in_epsilons <= num_terms


def memory(variant: str = "zero3", world_size: int = 4, rank: int = 0) -> StepMemory:
    return StepMemory(
        variant=variant,
        world_size=world_size,
        rank=rank,
        states=ModelStates(parameters=1000, gradients=1000, optimizer_states=2020),
        activations=3000,
        gathered=500,
        peak=7000,
        sent=1.0,
    )


def residency(*whole: str, turn: int) -> Residency:
    moments = tuple(
        Moment(
            phase="forward" if index < turn else "backward",
            layer=str(index),
            whole=tuple({"r": "root", "0": "block 0"}[letter] for letter in letters),
            gathers=index,
            gathered_bytes=1024 * len(letters),
        )
        for index, letters in enumerate(whole)
    )
    return Residency(units=("root", "block 0"), moments=moments)


def numbers(row) -> list[float]:
    return [cell.number for cell in row if isinstance(cell, Number)]


def test_memory_is_stacked_with_the_formula_on_the_first_three() -> None:
    figure = memory_figure([memory("ddp"), memory()], num_parameters=1000)
    *bars, formula = figure.figure["data"]
    assert [bar["y"][1] * 1024 / 1000 for bar in bars] == pytest.approx([1, 1, 2.02, 0.5, 3])
    assert [value * 1024 for value in formula["y"]] == [16000, 4000]
    assert figure.figure["layout"]["barmode"] == "stack"
    assert "With 4 ranks" in str(figure.caption)


def test_memory_is_printed_with_its_excess_over_the_formula() -> None:
    (row,) = memory_table([memory(rank=2)], num_parameters=1000).rows
    assert numbers(row) == [4, 2, 1000, 1000, 2020, 4000, 20, 500, 3000, 7000]


@pytest.mark.parametrize("memories", [[], [memory(), memory(world_size=2)]])
def test_memories_of_several_sizes_do_not_stand_side_by_side(memories) -> None:
    with pytest.raises(ValueError, match="must be one number"):
        memory_figure(memories, 1000)


def test_traffic_is_printed_to_the_byte_and_in_units_of_a_gather() -> None:
    rows = [Sent("ddp", 4, True, 1500.0, 1500.0), Sent("zero3", 4, None, 2250.0, 2250.0)]
    table = traffic_table(rows, parameter_bytes=1000)
    assert [numbers(row) for row in table.rows] == [[4, 1500, 1500, 2.0], [4, 2250, 2250, 3.0]]
    assert type(numbers(table.rows[0])[1]) is int
    assert [str(row[2]) for row in table.rows] == ["", "None"]


def test_traffic_that_is_no_whole_number_keeps_its_fraction() -> None:
    (row,) = traffic_table([Sent("zero3", 3, True, 10 / 3, 4.0)], parameter_bytes=10).rows
    assert numbers(row)[1] == pytest.approx(10 / 3)


def test_a_bar_is_cut_where_the_backward_pass_begins() -> None:
    figure = residency_figure({"True": residency("r", "r0", "r", "r0", turn=2)})
    forward, backward = figure.figure["data"]
    assert list(zip(forward["y"], forward["base"], forward["x"], strict=True)) == [
        (1, 0, 2),
        (2, 1, 1),
    ]
    assert list(zip(backward["y"], backward["base"], backward["x"], strict=True)) == [
        (1, 2, 2),
        (2, 3, 1),
    ]
    assert [numbers(row) for row in figure.table.rows] == [[0, 4], [1, 2], [3, 4]]


def test_the_most_bytes_stand_beside_each_setting() -> None:
    figure = residency_figure({"False": residency("r0", "r0", turn=1)})
    (note,) = figure.figure["layout"]["annotations"]
    assert note["text"] == "reshard_after_forward=False: at most 2.00 KiB"


def test_no_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="needs at least 1"):
        residency_figure({})


@pytest.mark.parametrize(
    ("epsilons", "verdict"), [((12.0, 1.0), "rounding"), ((7.2, 1e9), "bug"), ((13.0, 1.0), "bug")]
)
def test_a_difference_is_rounding_only_if_it_is_in_every_format(epsilons, verdict) -> None:
    found = {"zero1": {f"torch.float{i}": Apart(value) for i, value in enumerate(epsilons)}}
    table = parameter_table(found, num_terms=12, num_steps=4)
    assert str(table.rows[0][-1]) == verdict
    assert "4 steps of AdamW" in str(table.caption)


def test_the_notes_hang_on_torchs_message() -> None:
    source = mixed_tensors_message(MESSAGE)
    assert [note.first for note in source.notes] == [1, 2, 3]
    with pytest.raises(ValueError, match="mixed"):
        mixed_tensors_message("RuntimeError: aten.addmm.default failed; convert it")


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(ValueError, match="got 'zero4'"):
        way_name("zero4")
    assert str(way_name("zero1")) == "ZeRO-1 by hand"
