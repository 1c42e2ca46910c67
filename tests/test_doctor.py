"""Processes of their own. Oracle: machines that we spoil on purpose, one thing at a time."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from fuseshard import doctor
from fuseshard.measure import provenance, recordings, trials


def quick_doctor(**variables: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "fuseshard", "doctor", "--for-build"]
    done = subprocess.run(
        command,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_machine_that_can_build_gets_exit_status_0() -> None:
    status, printed = quick_doctor()
    assert status == 0
    assert "missing" not in printed


def test_a_readers_file_that_is_missing_stops_before_the_build(tmp_path: Path) -> None:
    status, printed = quick_doctor(RECORDINGS=str(tmp_path / "mine.json"))
    assert status == 1
    assert f"RECORDINGS: {tmp_path / 'mine.json'} can't be read: No such file" in printed
    assert "mend:  name a file that `python -m fuseshard record --out FILE` wrote" in printed
    assert printed.endswith("The book can't be built here. Missing: recordings.\n")


def test_the_doctor_says_whose_recordings_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECORDINGS", raising=False)
    found = doctor.check_recordings()
    assert (found.state, found.found.partition(";")[0]) == ("ok", "the book's own")
    book = recordings.RECORDINGS_FOLDER / "nvidia-h200.json"
    monkeypatch.setenv("RECORDINGS", str(book))
    found = doctor.check_recordings()
    assert found.state == "ok"
    assert "RECORDINGS adds" in found.found and "NVIDIA H200" in found.found


def test_a_missing_compiler_stops_and_says_what_to_do() -> None:
    status, printed = quick_doctor(CXX="no-such-compiler")
    assert status == 1
    assert "missing  C++ compiler: 'no-such-compiler' isn't a program that runs here" in printed
    assert "every page of Part A fails" in printed
    assert "apt install g++" in printed
    assert printed.endswith("The book can't be built here. Missing: C++ compiler.\n")


def test_an_empty_path_stops_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CXX", raising=False)
    status, printed = quick_doctor(PATH=str(tmp_path))
    assert status == 1
    assert "isn't a program that runs here" in printed


def test_options_in_cxx_are_refused_as_inductor_refuses_them() -> None:
    status, printed = quick_doctor(CXX="g++ -O2")
    assert status == 1
    assert "one program, without options" in printed


@pytest.mark.parametrize(
    ("complaint", "mend"),
    [
        ("trial.cpp:2: fatal error: Python.h: No such file or directory", "Python's headers"),
        ("/bin/ld: error: cannot find -lgomp", "OpenMP library"),
        ("error: unrecognized option -std=c++20", "apt install g++"),
        ("error closing trial.s: No space left on device", "make room in the temporary folder"),
    ],
)
def test_what_the_compiler_complains_of_decides_the_advice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, complaint: str, mend: str
) -> None:
    fake = script(
        tmp_path / "g++",
        f'[ "$1" = --version ] && echo "g++ 1.2.3" && exit 0; echo "{complaint}" >&2; exit 1',
    )
    monkeypatch.setenv("CXX", str(fake))
    finding = doctor.check_compiler()
    assert finding.state == "missing"
    assert finding.found == f"g++ 1.2.3 failed on a small program: {complaint}"
    assert mend in finding.mend


def test_a_program_that_computes_wrongly_is_no_success(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    wrong = script(tmp_path / "g++", f'for last; do :; done; cp {broken} "$last"')
    script(broken, "exit 1")
    assert trials.openmp_complaint(str(wrong)) == "its program: exit status 1"
    script(broken, "exit 0")
    assert trials.openmp_complaint(str(wrong)) is None


def test_a_compiler_that_writes_nothing_or_no_program_is_told(tmp_path: Path) -> None:
    fake = script(tmp_path / "g++", "exit 0")
    assert trials.openmp_complaint(str(fake)) == "it wrote no program"
    script(fake, 'for last; do :; done; echo junk > "$last"')
    assert (
        trials.openmp_complaint(str(fake)) == "its program: it can't be started: Permission denied"
    )


def test_a_compiler_may_speak_in_another_encoding(tmp_path: Path) -> None:
    fake = script(tmp_path / "g++", r"printf 'g++ (\351) 1.2.3\n'; printf 'error: \351\n'; exit $1")
    assert provenance.compiler_version(str(fake)) is None  # exits with "--version", no number
    script(fake, r"printf 'g++ (\351) 1.2.3\n'")
    provenance.compiler_version.cache_clear()
    assert provenance.compiler_version(str(fake)) == "g++ 1.2.3"


def test_a_folder_that_cannot_be_looked_at_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    found = {finding.name: finding for finding in doctor.examine(quick=True)}
    for name in ("compiler", "disk"):
        assert found[name].state == "missing"
        assert "can't be checked: [Errno 2] No such file or directory" in found[name].found
        assert "TMPDIR" in found[name].mend


@pytest.mark.parametrize(("gb", "state"), [(16.0, "ok"), (2.0, "warning"), (0.2, "missing")])
def test_little_memory_is_told_in_degrees(
    monkeypatch: pytest.MonkeyPatch, gb: float, state: str
) -> None:
    monkeypatch.setattr(provenance, "free_memory_bytes", lambda: int(gb * 1e9))
    finding = doctor.check_memory()
    assert finding.state == state
    assert finding.found == f"{gb:.1f} GB free"


def test_an_old_python_is_missing_and_this_one_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_python().state != "missing"
    monkeypatch.setattr(sys, "version_info", (3, 9, 1, "final", 0))
    assert doctor.check_python().state == "missing"


def test_the_one_python_whose_guards_are_slow_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 13, 0, "final", 0))
    assert doctor.check_python().state == "warning"
    monkeypatch.setattr(sys, "version_info", (3, 13, 1, "final", 0))
    assert doctor.check_python().state == "ok"


def test_packages_that_are_not_installed_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.check_packages().state == "ok"
    monkeypatch.setattr(doctor, "PACKAGES", ("torch", "no-such-package-anywhere"))
    finding = doctor.check_packages()
    assert (finding.state, finding.found) == ("missing", "not installed: no-such-package-anywhere")
    assert "pip install -r requirements.txt" in finding.mend


def test_another_torch_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TORCH_RELEASE", "1.7")
    finding = doctor.check_packages()
    assert finding.state == "warning"
    assert "the book is written for 1.7" in finding.found


def test_gloo_really_reduces() -> None:
    assert doctor.check_gloo().state == "ok"


def test_a_trial_that_fails_leads_with_the_exception(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import sys; print('ValueError: the cause', file=sys.stderr); sys.exit('a hint')"
    monkeypatch.setattr(trials, "GLOO_PROGRAM", code)
    finding = doctor.check_gloo()
    assert (finding.state, finding.found) == ("missing", "ValueError: the cause")


def test_a_trial_that_dies_silently_gives_its_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "GLOO_PROGRAM", "import os; os._exit(7)")
    assert doctor.check_gloo().found == "exit status 7"


def test_a_program_that_never_ends_is_told_and_killed_with_its_children(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "TIMEOUT_S", 1.0)
    code = (
        "import subprocess, sys, time; child = subprocess.Popen(['sleep', '60']); "
        "print(child.pid, file=open(sys.argv[1], 'w'), flush=True); time.sleep(60)"
    )
    assert trials.run_python(code, str(tmp_path / "pid")) == (1, "no answer within 1 s")
    child = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z"
    monkeypatch.undo()
    assert trials.run_python("print('done')") == (0, "done\n")


@pytest.mark.parametrize("missing", [False, True])
def test_the_exit_status_follows_the_findings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], missing: bool
) -> None:
    finding = doctor.Finding(name="x", state="missing" if missing else "warning", found="y")
    monkeypatch.setattr(doctor, "examine", lambda **_: [finding])
    assert doctor.main() == int(missing)
    assert ("can't be built" in capsys.readouterr().out) == missing
