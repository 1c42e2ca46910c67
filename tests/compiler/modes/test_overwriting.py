"""Overwritten results. Oracle: a replay on the CPU, which overwrites for certain; no compiles."""

import torch

from fuseshard.compiler.modes import overwriting
from fuseshard.compiler.modes.overwriting import double_plus_one
from fuseshard.compiler.modes.replayer import Replayer


def replay() -> Replayer:
    return Replayer(double_plus_one, torch.zeros(3))


def test_a_replay_is_seen_to_overwrite() -> None:
    case = overwriting._trap("x", replay(), "cpu")
    assert (case.ending, case.before, case.after) == ("overwritten", (3, 5, 7), (21, 41, 61))
    assert case.second == case.after


def test_a_clone_and_eager_mode_are_seen_to_keep() -> None:
    for fn, keep in ((replay(), torch.Tensor.clone), (double_plus_one, lambda result: result)):
        case = overwriting._trap("x", fn, "cpu", keep=keep)
        assert (case.ending, case.before, case.after) == ("kept", (3, 5, 7), (3, 5, 7))


def test_a_refusal_is_kept_with_its_words() -> None:
    calls = []

    def refusing(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        if len(calls) == 2:
            raise RuntimeError("overwritten\n  by a subsequent run")
        return x * 2 + 1

    case = overwriting._trap("x", refusing, "cpu", warm_ups=0)
    assert (case.ending, case.after) == ("refused", ())
    assert case.message == "overwritten by a subsequent run"


def test_the_first_result_can_be_the_second_input() -> None:
    case = overwriting._trap("x", double_plus_one, "cpu", feeds_back=True)
    assert (case.before, case.second) == ((3, 5, 7), (7, 11, 15))


def test_a_mark_of_one_case_does_not_reach_the_next() -> None:
    torch.compiler.cudagraph_mark_step_begin()
    assert overwriting.MarkStepBox.mark_step_counter != 0
    overwriting._trap("x", double_plus_one, "cpu")
    assert overwriting.MarkStepBox.mark_step_counter == 0


def test_cloning_inside_computes_the_same() -> None:
    x = torch.tensor([1.5, -2.0])
    assert torch.equal(overwriting.cloned_inside(x), double_plus_one(x))
