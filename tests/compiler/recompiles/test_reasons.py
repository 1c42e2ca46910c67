"""Reading reasons. Oracle: reasons as torch 2.13 wrote them, copied. Plain text, no torch."""

import pytest

from fuseshard.compiler.recompiles.reasons import failure, guard_text

COUNTER = (
    "0/3: self.steps == 3                                          # self.steps += 1  # a.py:9 in "
    "forward (HINT: torch.compile considers integer attributes of the nn.Module to be static.)\n"
    'User stack trace:\n  File "/tmp/a.py", line 9, in forward'
)


@pytest.mark.parametrize(
    ("reason", "entry", "kind", "subject", "expected", "actual"),
    [
        (
            "0/1: tensor 'x' size mismatch at index 0. expected 5, actual 7",
            1,
            "size",
            "x",
            "5",
            "7",
        ),
        (
            "12/0: tensor 'a[0]' stride mismatch at index 1. expected 1, actual 2",
            0,
            "stride",
            "a[0]",
            "1",
            "2",
        ),
        ("0/0: tensor 'x' rank mismatch. expected 2, actual 1", 0, "rank", "x", "2", "1"),
        (
            "0/7: tensor 'x' dtype mismatch. expected Float, actual Double",
            7,
            "dtype",
            "x",
            "Float",
            "Double",
        ),
        (
            "0/0: tensor 'x' requires_grad mismatch. expected requires_grad=0",
            0,
            "requires_grad",
            "x",
            "0",
            None,
        ),
        ("0/0: GLOBAL_STATE changed: grad_mode ", 0, "state", "grad_mode", None, None),
        ("0/0: len(xs) == 2", 0, "length", "len(xs)", "2", None),
        ("0/0: x is y", 0, "alias", "x is y", None, None),
        ('0/0: Duplicate tensors found: ["x", "y"]', 0, "alias", '"x", "y"', None, None),
        ("0/1: 2 <= x.size()[0]  # def f(x): ...", 1, "shape", "2 <= x.size()[0]", None, None),
        ("0/0: x.size()[1] == x.size()[0]", 0, "shape", "x.size()[1] == x.size()[0]", None, None),
        ("0/0: ___check_type_id(n, 1397), type=<class 'int'>", 0, "type", "n", None, None),
        ("0/0: mode == 'train'", 0, "value", "mode", "'train'", None),
        ("0/0: G['S'].step == 2", 0, "value", "G['S'].step", "2", None),
        (COUNTER, 3, "value", "self.steps", "3", None),
        ("0/1: not math.isnan(n)", 1, "other", "not math.isnan(n)", None, None),
    ],
)
def test_a_reason_is_taken_apart(reason, entry, kind, subject, expected, actual) -> None:
    found = failure(reason)
    assert (found.entry, found.kind, found.subject) == (entry, kind, subject)
    assert (found.expected, found.actual) == (expected, actual)


def test_sizes_and_strides_say_which_dimension() -> None:
    assert failure("0/0: tensor 'x' size mismatch at index 3. expected 5, actual 7").dim == 3
    assert failure("0/0: mode == 'train'").dim is None


def test_a_guard_is_kept_without_comment_hint_stack_and_ids() -> None:
    assert failure(COUNTER).guard == "self.steps == 3"
    text = "tensor 'X[0]' size mismatch at index 1. expected 640, actual 8. "
    text += "Guard failed on a parameter, consider using another setting"
    assert guard_text(text).endswith("actual 8")
    assert "139635764580864" not in guard_text("___check_type_id(n, 139635764580864), type=int")


def test_a_reason_without_a_compile_id_is_refused() -> None:
    with pytest.raises(ValueError, match="must begin with a compile id"):
        failure("tensor 'x' size mismatch")
