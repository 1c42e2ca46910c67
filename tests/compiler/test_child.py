"""Scripts in a process of their own. Oracle: the script's own text; processes, no ranks."""

import pytest

from fuseshard.compiler.child import run_script


def test_output_and_exit_code_come_back() -> None:
    result = run_script("print('seven')")
    assert (result.exit_code, result.output, result.error) == (0, "seven", "")


def test_an_exception_is_the_last_line_without_paths() -> None:
    result = run_script("import json; json.loads('')")
    assert result.exit_code == 1
    assert result.error.startswith("json.decoder.JSONDecodeError: Expecting value")


def test_warnings_of_a_script_that_ends_well_are_no_error() -> None:
    assert run_script("import sys; print('hm', file=sys.stderr)").error == ""


def test_a_script_that_does_not_end_is_killed() -> None:
    with pytest.raises(TimeoutError, match="ran for 1 s without ending"):
        run_script("import time; time.sleep(60)", timeout_s=1)


def test_variables_are_set_before_the_scripts_first_line_and_nowhere_else() -> None:
    script = "import os; print(os.environ['FUSESHARD_TEST'])"
    assert run_script(script, variables={"FUSESHARD_TEST": "se'ven"}).output == "se'ven"
    assert "KeyError" in run_script(script).error


def test_a_missing_compiler_shows_only_at_the_first_call() -> None:
    script = (
        "import os\n"
        "os.environ['CXX'] = 'no-such-compiler'\n"
        "import torch\n"
        "compiled = torch.compile(torch.sin)\n"
        "print('compile returned')\n"
        "compiled(torch.ones(3))\n"
    )
    result = run_script(script)
    assert (result.exit_code, result.output) == (1, "compile returned")
