"""The tree as a whole: the README's list of modules, tracked files, skips, and what CI runs."""

import json
import re
from pathlib import Path

import pytest
from bookcheck.pieces import TOP
from codecheck import hygiene, syntax, tree

from tests.conftest import allowed_skips, refused_skips

README = """
```
code/fuseshard/
  palette.py      colours
  measure/        how a number comes to be
    clock.py      times
    records.py    data
  show/           figures: words.py, records.py,
                  tables.py
```
"""
MODULES = [
    "palette.py",
    "measure/clock.py",
    "measure/records.py",
    "show/words.py",
    "show/records.py",
    "show/tables.py",
]


def test_the_readme_lists_each_module_once() -> None:
    modules = [str(m.path.relative_to(syntax.PACKAGE)) for m in syntax.package_modules()]
    found = tree.problems((TOP / "README.md").read_text("utf-8"), modules)
    assert not found, "\n".join(found)


def test_a_tree_in_either_form_is_read() -> None:
    assert tree.problems(README, [*MODULES, "show/__init__.py"]) == []


@pytest.mark.parametrize(
    ("readme", "modules", "complaint"),
    [
        (README, [*MODULES, "claims.py"], "claims.py isn't in the tree"),
        (README, MODULES[:-1], "show/tables.py is in the tree, but not there"),
        (README.replace("tables.py", "words.py"), MODULES[:-1], "show/words.py is listed 2 times"),
        ("no tree", MODULES, "no fenced tree"),
    ],
)
def test_a_wrong_tree_is_named(readme: str, modules: list[str], complaint: str) -> None:
    found = tree.problems(readme, modules)
    assert len(found) == 1
    assert complaint in found[0]


def test_no_tracked_file_names_a_machine_or_a_registry() -> None:
    files = hygiene.tracked_files()
    assert TOP / "Makefile" in files
    texts = {path.relative_to(TOP): hygiene.read_text(path) for path in files}
    found = [p for path, text in texts.items() for p in hygiene.problems(path, text)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "cd /ro" + "ot/x",
        "open('/t" + "mp/x')",
        "/ho" + "me/me/x",
        "https://py" + "pi.org/simple",
        "# TO" + "DO: later",
    ],
)
def test_a_line_that_holds_on_one_machine_only_is_named(line: str) -> None:
    assert hygiene.problems(Path("code/a.py"), f"x = 1\n{line}\n")[0].startswith("code/a.py:2: ")
    assert hygiene.problems(Path("code/a.py"), "https://pytorch.org/docs/tmp/x\n") == []


def test_constraints_leave_torch_and_this_checkout_out() -> None:
    rows = (TOP / "constraints.txt").read_text("utf-8").splitlines()
    pins = [row for row in rows if not row.startswith("#")]
    assert any(pin.startswith("sphinx==") for pin in pins)
    assert all(re.fullmatch(r"[\w.-]+==[\w.!+-]+", pin) for pin in pins)
    names = {pin.split("==")[0] for pin in pins}
    assert not [n for n in names if re.match(r"torch|triton|nvidia|cuda|fuseshard", n)]


def test_every_requirement_is_pinned() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        rows = (TOP / name).read_text("utf-8").splitlines()
        named = [row for row in rows if row and row[0] not in "#-"]
        loose = [row for row in named if "==" not in row and not row.startswith("triton>=")]
        assert (name, loose) == (name, [])


def test_what_jupyter_book_reads_is_linked_from_the_top() -> None:
    for name in ("_config.yml", "_toc.yml"):
        link = TOP / "book" / name
        assert (name, link.is_symlink() and link.readlink()) == (name, Path("..") / name)
        assert (TOP / name).is_file()


def test_ci_runs_the_command_of_the_readme() -> None:
    script = (TOP / ".ci" / "run").read_text("utf-8").strip().splitlines()
    assert script[-1] == "exec make --no-print-directory test"
    assert "make test" in (TOP / "README.md").read_text("utf-8")


def test_a_skip_that_nobody_allowed_is_found() -> None:
    allowed = allowed_skips("# head\ntests/a.py::test_b  needs a GPU\n")
    assert refused_skips(["tests/a.py::test_b", "tests/a.py::test_c"], allowed) == [
        "tests/a.py::test_c"
    ]


def test_recordings_are_json_objects() -> None:
    for path in sorted((syntax.PACKAGE / "recordings").glob("*.json")):
        assert isinstance(json.loads(path.read_text("utf-8")), dict), path
