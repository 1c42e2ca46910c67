"""Colours against WCAG 2's contrast formula and a simulation of colour blindness (pure data)."""

import itertools

import numpy as np
import pytest

from fuseshard import palette

# Machado et al. 2009, doi:10.1109/TVCG.2009.113, severity 1, for linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
# Ottosson 2020, OKLab: linear RGB to cone responses, cone responses to L, a, b.
TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
LEAST_DISTANCE = 0.07  # OKLab; 0.02 is what a trained eye just sees side by side


def linear(colour: str) -> np.ndarray:
    encoded = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) + 0.05 for c in (one, other))
    return high / low


def distance(one: str, other: str, vision: np.ndarray) -> float:
    def lab(colour: str) -> np.ndarray:
        seen = np.clip(vision @ linear(colour), 0, 1)
        return TO_LAB @ np.cbrt(TO_CONES @ seen)

    return float(np.linalg.norm(lab(one) - lab(other)))


def confusions(marks: dict[str, tuple[str, str]], vision: np.ndarray) -> list[tuple[str, str]]:
    return [
        (a, b)
        for a, b in itertools.combinations(marks, 2)
        for theme in (0, 1)
        if distance(marks[a][theme], marks[b][theme], vision) < LEAST_DISTANCE
    ]


def test_the_contrast_formula_gives_wcags_extremes():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#777777") == 1.0


@pytest.mark.parametrize("name", palette.MARKS)
def test_every_mark_is_seen_on_its_pages(name):
    mark = palette.MARKS[name]
    needed = 4.5 if name in palette.GROUPS[0] else 3.0
    assert min(contrast(mark.light, page) for page in palette.LIGHT_PAGES) >= needed
    assert min(contrast(mark.dark, page) for page in palette.DARK_PAGES) >= needed


def test_text_is_read_on_pages_and_in_bars():
    for page in palette.LIGHT_PAGES:
        assert contrast(palette.INK[0], page) >= 4.5
    for page in palette.DARK_PAGES:
        assert contrast(palette.INK[1], page) >= 4.5
    for name in ("forward", "backward", "weight", "communication", "update"):
        assert contrast(palette.PAPER[0], palette.MARKS[name].light) >= 4.5
        assert contrast(palette.PAPER[1], palette.MARKS[name].dark) >= 4.5


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("group", palette.GROUPS, ids=lambda group: group[0])
def test_marks_that_meet_stay_apart(group, vision):
    colours = {name: (palette.MARKS[name].light, palette.MARKS[name].dark) for name in group}
    assert confusions(colours, VISIONS[vision]) == []


def test_the_simulation_finds_a_pair_that_deuteranopes_confuse():
    # Red and green of like lightness: apart for most, one colour for some.
    pair = {"red": ("#c1503f", "#c1503f"), "green": ("#74762a", "#74762a")}
    assert confusions(pair, VISIONS["normal"]) == []
    assert confusions(pair, VISIONS["deuteranopia"]) != []


@pytest.mark.parametrize("group", palette.GROUPS, ids=lambda group: group[0])
def test_marks_that_meet_differ_without_colour(group):
    marks = [palette.MARKS[name] for name in group]
    assert len({mark.symbol for mark in marks}) == len(marks)
    assert len({(mark.dash, mark.symbol) for mark in marks}) == len(marks)
    if group != palette.GROUPS[0]:  # the first group is drawn as bars one kind at a time
        assert len({mark.pattern for mark in marks}) == len(marks)


def test_one_colour_has_one_meaning():
    assert set(palette.MARKS) == {name for group in palette.GROUPS for name in group}
    for theme in ("light", "dark"):
        colours = [getattr(mark, theme) for mark in palette.MARKS.values()]
        assert len(set(colours)) == len(colours)


def test_the_dark_page_knows_a_partner_for_each_colour():
    for mark in palette.MARKS.values():
        assert palette.LIGHT_TO_DARK[mark.light] == mark.dark
        assert mark.band in palette.LIGHT_TO_DARK
    assert palette.translucent("#0a141e", 0.5) == "rgba(10, 20, 30, 0.5)"
    # Where a colour is in both sets, one pass of replacement must not be followed by another.
    assert len(set(palette.LIGHT_TO_DARK.values())) == len(palette.LIGHT_TO_DARK)
