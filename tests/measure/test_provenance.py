"""Pure CPU. Oracle: what Python, torch and git say of themselves, and files made for the test."""

import json
import re
import subprocess
import sys
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import torch

from fuseshard.measure import provenance
from fuseshard.measure.provenance import compiler_command, compiler_version, environment
from fuseshard.measure.records import GpuState


def test_versions_are_those_that_run() -> None:
    here = environment()
    assert here.torch == torch.__version__
    assert here.python == ".".join(map(str, sys.version_info[:3]))
    assert here.num_threads == torch.get_num_threads()
    age = datetime.now(UTC) - datetime.fromisoformat(here.date_utc)
    assert timedelta(0) <= age < timedelta(seconds=60)


ABSOLUTE_PATH = re.compile(r"(^|[\s\"'(=:])/[^/\s]+")


def test_no_path_and_no_host_name_is_told() -> None:
    told = json.dumps(asdict(environment()))
    assert not ABSOLUTE_PATH.search(told)
    assert ABSOLUTE_PATH.search(json.dumps({"compiler": "/usr/bin/g++ 12.2"}))


def test_a_compiler_is_named_without_its_folder(tmp_path: Path) -> None:
    fake = tmp_path / "my-g++"
    fake.write_text("#!/bin/sh\necho 'my-g++ (Somebody 1) 99.1.2'\n")
    fake.chmod(0o755)
    assert compiler_version(str(fake)) == "my-g++ 99.1.2"
    assert compiler_version(str(tmp_path / "absent")) is None


def test_the_compiler_is_the_one_that_inductor_would_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "some-compiler")
    assert compiler_command() == "some-compiler"
    monkeypatch.delenv("CXX")
    assert compiler_command() in ("g++", "clang++")


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_the_commit_comes_with_whether_files_differ(tmp_path: Path) -> None:
    module = tmp_path / "__init__.py"
    module.write_text("")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert provenance._commit(tmp_path) == (head[:12], False)
    module.write_text("changed = 1\n")
    provenance._commit.cache_clear()
    assert provenance._commit(tmp_path) == (head[:12], True)


def test_a_package_installed_in_another_checkout_claims_no_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "somebody else's")
    installed = tmp_path / "site-packages" / "fuseshard"
    installed.mkdir(parents=True)
    (installed / "__init__.py").write_text("")
    assert provenance._commit(installed) == (None, False)


def test_without_git_there_is_no_commit_and_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert provenance._commit(tmp_path) == (None, False)


def test_importing_provenance_and_doctor_leaves_torch_out() -> None:
    code = (
        "import sys, fuseshard.doctor, fuseshard.measure.schema; sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    control = "import sys, fuseshard.models.minigpt; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", control], check=False).returncode == 1


@pytest.mark.parametrize("answer", ["", "1980, 1980, 3201, [N/A], 34\n", "1980, 1980\n"])
def test_a_card_that_does_not_say_everything_has_no_state(answer: str) -> None:
    assert provenance.gpu_state_of(answer) is None


def test_the_first_cards_state_is_read() -> None:
    state = provenance.gpu_state_of("345, 1980, 3201, 700.00, 34\n1, 2, 3, 4, 5\n")
    assert state == GpuState(
        sm_mhz=345, max_sm_mhz=1980, memory_mhz=3201, power_limit_w=700, temperature_c=34
    )
