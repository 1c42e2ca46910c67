"""Room 2: numbers read out of tensors, and results whose shape depends on values."""

import torch

from fuseshard.compiler.breaks.exhibit import Exhibit


def item(x: torch.Tensor) -> torch.Tensor:
    """Read one number out of a tensor."""
    y = x + 1
    return y * y.sum().item() - 1


def item_fixed(x: torch.Tensor) -> torch.Tensor:
    """Leave it a tensor."""
    y = x + 1
    return y * y.sum() - 1


def int_as_size(x: torch.Tensor) -> torch.Tensor:
    """Make a tensor whose size is a value."""
    y = x + 1
    size = int(y.sum())
    return torch.ones(size) * 2


def tolist_of_floats(x: torch.Tensor) -> torch.Tensor:
    """Turn a float tensor into a list."""
    y = x * 2
    return y + max(y.tolist())


def tolist_of_floats_fixed(x: torch.Tensor) -> torch.Tensor:
    """Ask the tensor instead of the list."""
    y = x * 2
    return y + y.max()


def iterate(x: torch.Tensor) -> torch.Tensor:
    """Loop over the elements of a tensor."""
    total = x.new_zeros(())
    for value in x:
        total = total + value * 2
    return total


def nonzero(x: torch.Tensor) -> torch.Tensor:
    """Ask where a tensor isn't zero: the answer's length is a value."""
    y = x - 2
    return torch.nonzero(y) * 2


def boolean_mask(x: torch.Tensor) -> torch.Tensor:
    """Keep the elements that meet a condition."""
    y = x + 1
    return y[y > 1].sum() * 2


def boolean_mask_fixed(x: torch.Tensor) -> torch.Tensor:
    """Keep the shape and put zeros in the other places."""
    y = x + 1
    return torch.where(y > 1, y, 0).sum() * 2


def mask_assignment(x: torch.Tensor) -> torch.Tensor:
    """Write where a condition holds."""
    y = x + 1
    y[y > 1] = 0
    return y * 2


def where_one(x: torch.Tensor) -> torch.Tensor:
    """Ask `torch.where` for places instead of values."""
    y = x + 1
    (places,) = torch.where(y > 1)
    return places * 2


def unique(x: torch.Tensor) -> torch.Tensor:
    """List each value once."""
    y = x + 1
    return torch.unique(y) * 2


_SCALARS = {"capture_scalar_outputs": True}
_SHAPES = {"capture_dynamic_output_shape_ops": True}

EXHIBITS = (
    Exhibit(title="y.sum().item()", code=item, fixed=item_fixed, remedy="y.sum()"),
    Exhibit(
        title="torch.ones(int(...))",
        code=int_as_size,
        settings=_SCALARS,
        remedy="config.capture_scalar_outputs",
    ),
    Exhibit(
        title="y.tolist()",
        code=tolist_of_floats,
        fixed=tolist_of_floats_fixed,
        remedy="y.max()",
    ),
    Exhibit(title="for value in x:", code=iterate, cause="python"),
    Exhibit(
        title="torch.nonzero(y)",
        code=nonzero,
        settings=_SHAPES,
        remedy="config.capture_dynamic_output_shape_ops",
        cause="nonzero",
    ),
    Exhibit(
        title="y[y > 1]",
        code=boolean_mask,
        fixed=boolean_mask_fixed,
        remedy="torch.where(y > 1, y, 0)",
    ),
    Exhibit(title="y[y > 1] = 0", code=mask_assignment),
    Exhibit(
        title="torch.where(y > 1)",
        code=where_one,
        settings=_SHAPES,
        remedy="config.capture_dynamic_output_shape_ops",
        cause="where",
    ),
    Exhibit(
        title="torch.unique(y)",
        code=unique,
        settings=_SHAPES,
        remedy="config.capture_dynamic_output_shape_ops",
    ),
)
