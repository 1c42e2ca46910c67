"""Which lines reach stderr. Oracle: the file descriptor itself."""

import os

from fuseshard.compiler.stderr import native_lines_dropped


def test_only_the_lines_of_the_named_sources_are_dropped(capfd):
    with native_lines_dropped("noisy.cpp"):
        os.write(2, b"USDT:1 noisy.cpp:52] start\nan error of somebody else\n")
    assert capfd.readouterr().err == "an error of somebody else\n"
