"""Colours, dashes and symbols of the whole book: one colour, one meaning, light and dark.

Figures are stored in the light colours; a dark page replaces each by its partner in
`LIGHT_TO_DARK`. Colour is never alone: each mark also has its own dash, symbol and pattern.

Contrast with the page (white, or #121212 and #14181e): lines of text 4.5 : 1, shapes 3 : 1.
Marks of one group stay apart in normal vision and with protanopia, deuteranopia and tritanopia
(simulated after Machado et al. 2009, doi:10.1109/TVCG.2009.113). The tests hold both.
"""

from dataclasses import dataclass

LIGHT_PAGES = ("#ffffff",)
DARK_PAGES = ("#121212", "#14181e")
BAND_OPACITY = 0.18
"""of the area that shows a spread"""


@dataclass(frozen=True)
class Mark:
    """How one meaning is drawn."""

    light: str
    """#rrggbb on a white page"""
    dark: str
    """#rrggbb on a dark page"""
    dash: str
    """of a line: "solid", "dash", "dot", "dashdot", "longdash" or lengths like "8px,3px" """
    symbol: str
    """of a point, as plotly names it"""
    pattern: str
    """of a bar, as plotly names it; "" is solid"""

    @property
    def band(self) -> str:
        """Return the light colour, translucent, for the area of a spread."""
        return translucent(self.light)


def translucent(colour: str, opacity: float = BAND_OPACITY) -> str:
    """Return a #rrggbb colour as "rgba(r, g, b, opacity)"."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"


# Ways to run and kinds of number: these colours also set text, so they have 4.5 : 1.
EAGER = Mark("#cb480a", "#ff8a4c", "solid", "circle", "")
COMPILED = Mark("#1f4fd8", "#5b8dff", "dash", "square", "/")
FORMULA = Mark("#5f6670", "#e4e8ee", "dot", "x-thin-open", "-")
MEASURED = Mark("#054b2b", "#6fe9a0", "solid", "diamond", "")
RECORDED = Mark("#8a2a8c", "#eba6ee", "dashdot", "triangle-up", "\\")
BESIDE = Mark("#400066", "#ff2693", "longdash", "cross", "x")
"""another machine's result, drawn over the first machine's"""

# What a rank is doing at a moment.
FORWARD = Mark("#0f76ad", "#3aa0dc", "solid", "triangle-right", "")
BACKWARD = Mark("#a06200", "#ffc24d", "dash", "triangle-left", "/")
WEIGHT = Mark("#4c0d00", "#ffffb2", "longdashdot", "pentagon", "\\")
"""the half of a backward pass that computes gradients of weights, where it is done apart"""
COMMUNICATION = Mark("#8c1236", "#ff8498", "dot", "star", "x")
UPDATE = Mark("#4b2a9b", "#d3c4ff", "dashdot", "hexagon", "+")
IDLE = Mark("#8d9298", "#696f77", "longdash", "line-ew-open", ".")

RANKS = (
    Mark("#561838", "#dd6494", "solid", "circle", ""),
    Mark("#a05e0a", "#eea76c", "dash", "square", "/"),
    Mark("#9e912d", "#fae34f", "dot", "diamond", "x"),
    Mark("#1f520d", "#59700e", "dashdot", "triangle-up", "-"),
    Mark("#118373", "#8af6ef", "longdash", "triangle-down", "\\"),
    Mark("#3194e4", "#87bdff", "longdashdot", "cross", "|"),
    Mark("#5d4fad", "#ab73f2", "12px,3px", "pentagon", "+"),
    Mark("#d05db2", "#ad3899", "3px,9px", "star-triangle-up", "."),
)
"""rank 0 to rank 7"""

MARKS = {
    "eager": EAGER,
    "compiled": COMPILED,
    "formula": FORMULA,
    "measured": MEASURED,
    "recorded": RECORDED,
    "beside": BESIDE,
    "forward": FORWARD,
    "backward": BACKWARD,
    "weight": WEIGHT,
    "communication": COMMUNICATION,
    "update": UPDATE,
    "idle": IDLE,
    **{f"rank{rank}": mark for rank, mark in enumerate(RANKS)},
}
"""meaning -> mark"""

GROUPS = (
    ("eager", "compiled", "formula", "measured", "recorded", "beside"),
    ("forward", "backward", "weight", "communication", "update", "idle"),
    tuple(f"rank{rank}" for rank in range(len(RANKS))),
)
"""meanings that meet in one figure, and so must be told apart by anyone"""

PAPER = ("#ffffff", "#14181e")
"""text inside a bar, cut out of its colour: light, dark"""
INK = ("#24292f", "#dfe3e8")
"""text and axes: light, dark"""
GRID = ("#dde1e6", "#353b43")
"""grid lines, which may stay faint"""
SHADE = tuple(translucent(ink, 0.07) for ink in INK)
"""a region that a figure points out: light, dark"""
CLEAR = "rgba(0, 0, 0, 0)"
"""the figure's own ground: the page shows through"""

LIGHT_TO_DARK = {
    PAPER[0]: PAPER[1],
    INK[0]: INK[1],
    GRID[0]: GRID[1],
    SHADE[0]: SHADE[1],
    **{mark.light: mark.dark for mark in MARKS.values()},
    **{mark.band: translucent(mark.dark) for mark in MARKS.values()},
}
"""every colour that a figure may hold, except CLEAR -> the one a dark page puts in its place"""
