"""Bytecode before and after Dynamo. Oracles: functions whose breaks and jumps are known."""

import pytest
import torch

from fuseshard.compiler.dynamo.bytecode import disassembled, frames


def straight(x):
    return x * 2 + 1


def asks(x):
    z = x * 2
    if z.sum() > 0:
        z = z.relu()
    return z + 1


def test_a_function_without_break_is_one_frame_that_calls_one_graph() -> None:
    (frame,) = frames(straight, torch.ones(3))
    assert frame.name == "straight"
    assert "BINARY_OP" in frame.before
    assert "__compiled_fn" not in frame.before
    assert frame.after.count("__compiled_fn") == 1


@pytest.mark.parametrize(("sign", "line"), [(1, "relu"), (-1, "+")])
def test_a_break_adds_the_resume_function_of_the_branch_that_was_taken(
    sign: int, line: str
) -> None:
    function, resume = frames(asks, sign * torch.ones(3))
    assert function.after.count("__resume_at") == 2
    assert resume.name.startswith("torch_dynamo_resume_in_asks")
    assert line in resume.before
    assert "__compiled_fn" in resume.after


def test_a_number_that_changed_in_an_earlier_compile_is_a_constant_again() -> None:
    """Dynamo remembers by file, line and name; a listing must not depend on what ran before."""

    def scaled(x, k):
        return x * k

    first = frames(scaled, torch.ones(3), 2.0)[0].after
    compiled = torch.compile(scaled, backend="eager")
    for k in (2.0, 3.0, 4.0):
        compiled(torch.ones(3), k)
    again = frames(scaled, torch.ones(3), 2.0)[0].after
    assert [line.split()[:1] for line in first.splitlines()] == [
        line.split()[:1] for line in again.splitlines()
    ]


def test_the_original_is_not_compiled() -> None:
    assert frames(straight, torch.ones(3))
    assert not torch._dynamo.eval_frame._debug_get_cache_entry_list(straight.__code__)


def test_a_listing_names_lines_jumps_and_operands_and_no_offsets() -> None:
    text = disassembled(asks)
    (jump,) = [line for line in text.splitlines() if "POP_JUMP" in line]
    target = jump.split()[-1]
    assert jump.split()[-2:] == ["to", target]
    (landing,) = [line for line in text.splitlines() if f" {target} " in line and line != jump]
    assert "LOAD_FAST" in landing
    assert disassembled(asks.__code__) == text


def test_nothing_rewritten_is_an_error() -> None:
    with pytest.raises(ValueError, match="rewrote no bytecode of number"):
        frames(number, 2)


def number(k):
    return k
