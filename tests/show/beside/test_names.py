"""Names of two machines (pure data). Oracle: names as `torch.cuda.get_device_name` prints them."""

import pytest

from fuseshard.measure.records import Origin
from fuseshard.show.beside.names import (
    LONGEST,
    both_texts,
    legend_entry,
    machine_names,
    short_name,
)
from fuseshard.show.words import plain, word
from tests.show.conftest import make_environment


def origin(gpu: str | None, date: str = "2026-03-04T05:06:07Z", *, is_live: bool = False) -> Origin:
    return Origin(is_live=is_live, environment=make_environment(gpu=gpu, date_utc=date))


@pytest.mark.parametrize(
    ("gpu", "short"),
    [
        ("NVIDIA H200", "H200"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("Tesla T4", "T4"),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", "A100-SXM4-80GB MIG"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX PRO 6000"),
        ("AMD Radeon Graphics", "Radeon"),
        ("NVIDIA", "NVIDIA"),
        ("A-name-of-twenty-four-letters", "A-name-of-twenty-…"),
        (None, "Some CPU"),
    ],
)
def test_a_name_is_short_and_says_which_gpu_it_is(gpu: str | None, short: str) -> None:
    assert short_name(make_environment(gpu=gpu)) == short
    assert len(short) <= LONGEST


def test_two_machines_never_have_one_name() -> None:
    card, other = "NVIDIA H200", "NVIDIA GeForce RTX 4090"
    later, evening = "2026-05-06T05:06:07Z", "2026-03-04T20:06:07Z"
    cases = {
        ("H200", "RTX 4090"): (origin(card), origin(other)),
        ("H200, here", "H200, recorded"): (origin(card, is_live=True), origin(card)),
        ("H200, 2026-03-04", "H200, 2026-05-06"): (origin(card), origin(card, later)),
        ("H200, 2026-03-04T05:06:07Z", "H200, 2026-03-04T20:06:07Z"): (
            origin(card),
            origin(card, evening),
        ),
    }
    for names, origins in cases.items():
        assert tuple(map(str, machine_names(*origins))) == names


def test_a_wide_entry_takes_two_lines_and_a_narrow_one_doesnt() -> None:
    narrow = legend_entry(word("eager"), plain("RTX 4090"))
    wide = legend_entry(word("timer stops when the loop ends"), plain("RTX 4090"))
    assert str(narrow) == "eager, RTX 4090"
    assert str(wide) == "timer stops when the loop ends,<br>RTX 4090"


def test_equal_texts_stand_once_and_different_ones_say_whose_they_are() -> None:
    machines = plain("H200"), plain("T4")
    one, other = word("It takes {s} s.", s=1), word("It takes {s} s.", s=9)
    assert both_texts(one, word("It takes {s} s.", s=1), machines) == one
    assert str(both_texts(one, other, machines)) == "H200: It takes 1 s. T4: It takes 9 s."
