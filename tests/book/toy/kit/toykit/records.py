"""One record of each kind, as JSON written by hand: what the renderer is promised, no more."""

from typing import Any

from IPython.display import display

MIME = "application/vnd.fuseshard.{}+json"


def word(msgid: str, **values: Any) -> dict[str, Any]:
    """Return the JSON of a translatable text."""
    return {"msgid": msgid, "values": values}


ORIGIN = {"live": True, "summary": word("Measured on {cpu}.", cpu="a toy"), "details": {}}

TABLE = {
    "version": 1,
    "name": "times",
    "caption": word("Times of {n} `programs`", n=2),
    "columns": [
        {"title": word("program"), "unit": None, "numeric": False, "code": True},
        {"title": word("time"), "unit": "ms", "numeric": True, "code": False},
    ],
    "rows": [
        [{"code": "aten::addmm<T>"}, {"number": 1.234, "text": "1.23"}],
        [{"plain": "softmax"}, {"number": 10.0, "text": "10.00"}],
    ],
    "row_header": True,
    "notes": [word("Less is better.")],
    "origin": ORIGIN,
}

FIGURE = {
    "version": 1,
    "name": "speed",
    "figure": {
        "data": [
            {
                "type": "scatter",
                "x": [1, 2, 3],
                "y": [1.0, 4.0, 9.0],
                "name": "eager",
                "line": {"color": "#cb480a"},
            },
            {
                "type": "bar",
                "x": ["small", "large"],
                "y": [2, 3],
                "xaxis": "x2",
                "yaxis": "y2",
                "name": "aten::mm",
                "marker": {"color": "#1f4fd8"},
            },
        ],
        "layout": {
            "height": 300,
            "xaxis": {"domain": [0, 0.45], "title": {"text": "size"}},
            "xaxis2": {"domain": [0.55, 1]},
            "yaxis2": {"anchor": "x2"},
            "font": {"color": "#24292f"},
        },
    },
    "words": {
        "eager": word("eager"),
        "size": word("size"),
        "small": word("small"),
        "large": word("large"),
    },
    "verbatim": ["aten::mm"],
    "caption": word("Time grows with size </script>"),
    "alt": word("A curve that rises, and two bars."),
    "table": TABLE,
    "origin": ORIGIN,
}

SOURCE = {
    "version": 1,
    "name": "kernel",
    "caption": word("The kernel that was written"),
    "language": "cpp",
    "code": 'void kernel(const float* in) {\n    // "two" <lines>\n    auto x = in[0];\n}\n',
    "notes": [{"first": 2, "last": 3, "text": word("Reads one element.")}],
    "folded": True,
    "origin": None,
}

CHECK = {"version": 1, "name": "count", "state": "wrong", "message": word("Not yet: look at x.")}

CHOICE = {
    "version": 1,
    "name": "sizes",
    "label": word("size"),
    "control": "slider",
    "start": 1,
    "options": [
        {"label": word("small"), "mime": MIME.format("table"), "record": TABLE | {"name": "few"}},
        {
            "label": word("large"),
            "mime": MIME.format("figure"),
            "record": FIGURE | {"name": "many"},
        },
    ],
}


def show(kind: str, data: dict[str, Any]) -> None:
    """Display a record the way the package does: its own mime type, HTML and text."""
    bundle = {MIME.format(kind): data, "text/html": "<p>English</p>", "text/plain": "English"}
    display(bundle, raw=True)


def figure() -> None:
    """Show a figure."""
    show("figure", FIGURE)


def table() -> None:
    """Show a table."""
    show("table", TABLE)


def source() -> None:
    """Show an annotated source."""
    show("source", SOURCE)


def choice() -> None:
    """Show a choice of records."""
    show("choice", CHOICE)


def check() -> None:
    """Show an exercise's check."""
    show("check", CHECK)


def quote() -> None:
    """Store a word and a number for the prose."""
    verdict = {MIME.format("word"): {"version": 1, "word": word("faster")}, "text/plain": "faster"}
    for name, data in {"verdict": verdict, "ratio": {"text/plain": "2.345"}}.items():
        prefix = "application/papermill.record/"
        metadata = {"scrapbook": {"name": name, "mime_prefix": prefix}}
        stored = {prefix + mime: value for mime, value in data.items()}
        display(stored, raw=True, metadata=metadata)
