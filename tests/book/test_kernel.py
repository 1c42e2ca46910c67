"""What a kernel of the build is given, and what it prints; oracle: torch's own two warnings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fuseshard.book.run.kernel import KERNEL_ENV, BuildKernels

# In the words of torch, and one of each kind that stays.
PROGRAM = """
import logging, warnings
import torch
logging.getLogger("torch.utils.cpp_extension").warning("No CUDA runtime is found, using CUDA_HOME")
warnings.warn("Guards may run slower on Python 3.13.0. Consider upgrading.", RuntimeWarning)
logging.getLogger("torch._dynamo").warning("a log that stays")
warnings.warn("a warning that stays", RuntimeWarning)
"""


def test_two_warnings_that_no_page_can_mend_stay_silent_and_others_do_not() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TORCH_LOGS": "+dynamo", **KERNEL_ENV},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CUDA" not in done.stderr
    assert "Guards" not in done.stderr
    assert "a log that stays" in done.stderr
    assert "a warning that stays" in done.stderr


def test_a_kernel_finds_the_readers_file_from_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECORDINGS", raising=False)
    assert "RECORDINGS" not in BuildKernels().get_kernel_spec("python3").env
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RECORDINGS", "mine.json")
    given = BuildKernels().get_kernel_spec("python3").env["RECORDINGS"]
    assert given == str(tmp_path / "mine.json")
