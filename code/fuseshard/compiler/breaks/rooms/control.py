"""Room 1: branches, loops and assertions, on values of tensors and on what needs none."""

import torch

from fuseshard.compiler.breaks.exhibit import Exhibit


def data_if(x: torch.Tensor) -> torch.Tensor:
    """Branch on a value that only the running program knows."""
    y = x + 1
    if y.sum() > 0:
        return y * 2
    return y - 1


def data_if_fixed(x: torch.Tensor) -> torch.Tensor:
    """Compute both branches and choose."""
    y = x + 1
    return torch.where(y.sum() > 0, y * 2, y - 1)


def tensor_and(x: torch.Tensor) -> torch.Tensor:
    """Join two conditions on tensors with `and`."""
    y = x + 1
    if y.sum() > 0 and y.max() < 9:
        y = y * 2
    return y - 1


def tensor_and_fixed(x: torch.Tensor) -> torch.Tensor:
    """Join them with `&`, which stays a tensor."""
    y = x + 1
    return torch.where((y.sum() > 0) & (y.max() < 9), y * 2, y) - 1


def data_while(x: torch.Tensor) -> torch.Tensor:
    """Loop until a tensor is large enough."""
    y = x + 1
    while y.abs().sum() < 50:
        y = y * 2
    return y - 1


def data_while_fixed(x: torch.Tensor) -> torch.Tensor:
    """Loop a fixed number of times; the late rounds change nothing."""
    y = x + 1
    for _ in range(6):
        y = torch.where(y.abs().sum() < 50, y * 2, y)
    return y - 1


def bool_of_all(x: torch.Tensor) -> torch.Tensor:
    """Turn a tensor into a Python bool first, then branch."""
    y = x + 1
    is_positive = bool((y >= 0).all())
    return y * 2 if is_positive else y - 1


def bool_of_all_fixed(x: torch.Tensor) -> torch.Tensor:
    """Leave the condition a tensor."""
    y = x + 1
    return torch.where((y >= 0).all(), y * 2, y - 1)


def raise_on_nan(x: torch.Tensor) -> torch.Tensor:
    """Stop on bad values with `if` and `raise`.

    Raises:
        AssertionError: there is one.
    """
    y = x + 1
    if y.isnan().any():
        raise AssertionError("not a number")
    return y * 2


def raise_on_nan_fixed(x: torch.Tensor) -> torch.Tensor:
    """Stop on bad values with `assert`."""
    y = x + 1
    assert (~y.isnan()).all(), "not a number"
    return y * 2


def assert_tensor(x: torch.Tensor) -> torch.Tensor:
    """Assert something about values."""
    y = x + 1
    assert y.sum() > 0, "the sum must be positive"
    return y * 2


def assert_message(x: torch.Tensor) -> torch.Tensor:
    """Assert it with a message that quotes the value."""
    y = x + 1
    assert y.sum() > 0, f"the sum is {y.sum()}"
    return y * 2


def shape_if(x: torch.Tensor) -> torch.Tensor:
    """Branch on a shape."""
    y = x + 1
    if y.shape[0] > 3 and y.dim() == 1:
        return y * 2
    return y - 1


def flag_if(x: torch.Tensor, mode: str = "double", scale: float | None = None) -> torch.Tensor:
    """Branch on flags, types and None, as complicated as you like."""
    y = x + 1
    if (mode in {"double", "twice"} and not y.is_cuda) or (scale is not None and scale > 2):
        return y * 2 if isinstance(y, torch.Tensor) else y
    return y - 1


def where_three(x: torch.Tensor) -> torch.Tensor:
    """Choose element by element, by a condition on values."""
    y = x + 1
    return torch.where(y > 1, y * 2, -y)


EXHIBITS = (
    Exhibit(
        title="if y.sum() > 0:",
        code=data_if,
        fixed=data_if_fixed,
        remedy="torch.where",
        cause="if",
    ),
    Exhibit(
        title="if ... > 0 and ... < 9:",
        code=tensor_and,
        fixed=tensor_and_fixed,
        remedy="torch.where, &",
        cause="conditional",
    ),
    Exhibit(
        title="while y.abs().sum() < 50:",
        code=data_while,
        fixed=data_while_fixed,
        remedy="for, torch.where",
        cause="if",
    ),
    Exhibit(
        title="bool((y >= 0).all())",
        code=bool_of_all,
        fixed=bool_of_all_fixed,
        remedy="torch.where",
        cause="if",
    ),
    Exhibit(
        title="if y.isnan().any(): raise",
        code=raise_on_nan,
        fixed=raise_on_nan_fixed,
        remedy="assert",
        cause="if",
    ),
    Exhibit(title='assert y.sum() > 0, "..."', code=assert_tensor, cause="assert"),
    Exhibit(
        title='assert ..., f"{y.sum()}"',
        code=assert_message,
        fixed=assert_tensor,
        remedy='"..."',
        cause="assert",
    ),
    Exhibit(title="if y.shape[0] > 3:", code=shape_if, cause="conditional"),
    Exhibit(title="if (mode in ...) or ...:", code=flag_if, cause="conditional"),
    Exhibit(title="torch.where(y > 1, ...)", code=where_three, cause="where"),
)
