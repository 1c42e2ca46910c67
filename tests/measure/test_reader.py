"""A reader's file before a build. Oracle: files that we spoil on purpose, one thing at a time.

Two tests start a process with torch, which alone knows the types of results.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fuseshard.measure import provenance, reader, recordings
from fuseshard.measure.schema import RecordError

GPU = "NVIDIA GeForce RTX 4090"


@pytest.fixture
def book() -> Any:
    """What the book has of an H200, as data."""
    return json.loads((recordings.RECORDINGS_FOLDER / "nvidia-h200.json").read_text("utf-8"))


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a reader's file and name it in RECORDINGS."""

    def write(text: str) -> Path:
        path = tmp_path / "mine.json"
        path.write_text(text, "utf-8")
        monkeypatch.setenv("RECORDINGS", str(path))
        return path

    return write


def test_nobody_needs_a_file_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECORDINGS", raising=False)
    assert reader.examine() is None
    monkeypatch.setenv("RECORDINGS", "")  # what `make book RECORDINGS=` leaves
    assert reader.examine() is None
    assert provenance.reader_recordings() is None


def test_a_path_counts_from_where_the_build_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECORDINGS", "results/mine.json")
    assert provenance.reader_recordings() == tmp_path / "results" / "mine.json"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RECORDINGS", "~/mine.json")
    assert provenance.reader_recordings() == tmp_path / "mine.json"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"RECORDINGS: mine\.json: not JSON that can be read"),
        ("\x00", r"RECORDINGS: mine\.json: not JSON that can be read"),
        ("[]", r"RECORDINGS: mine\.json: got \[\] \(list\), required an object"),
        ('{"version": 7}', r"RECORDINGS: mine\.json: got version 7, required 1"),
        ('{"version": 1}', r"RECORDINGS: mine\.json\.machine: got nothing"),
        (
            '{"version": 1, "machine": "m", "entries": {"x": {"result": {}}}}',
            r"RECORDINGS: mine\.json\.entries\['x'\]\.environment: got nothing",
        ),
        (
            '{"version": 1, "machine": "m", "entries": {}}',
            r"RECORDINGS: mine\.json\.entries: got no result",
        ),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_names_file_and_field(
    mine: Callable[[str], Path], text: str, message: str
) -> None:
    mine(text)
    with pytest.raises(RecordError, match=message) as caught:
        reader.examine()
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(reader.MEND)


@pytest.mark.parametrize(("name", "why"), [("absent.json", "No such file"), (".", "directory")])
def test_a_file_that_cannot_be_read_is_refused_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, why: str
) -> None:
    monkeypatch.setenv("RECORDINGS", str(tmp_path / name))
    with pytest.raises(RecordError, match=f"RECORDINGS: {tmp_path}.* can't be read: .*{why}"):
        reader.examine()


def test_a_good_file_says_whose_it_is_and_what_is_drawn_of_it(
    mine: Callable[[str], Path], book: Any
) -> None:
    kept = ("modes.launches-gpu", "recompiles.lengths-gpu")
    entries = {name: book["entries"][name] for name in kept}
    for entry, date in zip(entries.values(), ("2027-01-02", "2027-03-04"), strict=True):
        entry["environment"] |= {"gpu": GPU, "date_utc": f"{date}T00:00:00Z"}
    failure = {"environment": entries[kept[0]]["environment"], "reason": "MemoryError"}
    entries["some.newer-gpu"] = entries[kept[0]]
    content = {"version": 1, "machine": "m", "entries": entries}
    mine(json.dumps(content | {"failures": {"modes.training-gpu": failure}}))
    found = reader.examine()
    assert found is not None
    assert found.drawn == kept
    assert found.text() == (
        f"RECORDINGS adds 2 results of {GPU}, recorded until 2027-03-04 (mine.json); "
        "failed there: modes.training-gpu"
    )


@pytest.mark.parametrize("spoilt", ["the type of a field", "the experiment"])
def test_a_file_of_another_edition_is_refused(
    mine: Callable[[str], Path], book: Any, spoilt: str
) -> None:
    entry = book["entries"]["modes.launches-gpu"]
    name = "modes.launches-gpu"
    if spoilt == "the experiment":
        name = "modes.elsewhere-gpu"
        message = r"mine\.json\.entries: got no result of this book that needs a GPU"
    else:
        entry["result"]["programs"][0]["steps"] = "many"
        message = (
            r"RECORDINGS: mine\.json: entries\['modes.launches-gpu'\]\.result\.programs\[0\]"
            r"\.steps: got 'many' \(str\), required a whole number"
        )
    mine(json.dumps({"version": 1, "machine": "m", "entries": {name: entry}}))
    with pytest.raises(RecordError, match=message) as caught:
        reader.examine()
    assert str(caught.value).endswith(reader.MEND)
