"""Room 5: constructs of Python that a tracer of bytecode might stumble over."""

import contextlib
import dataclasses
from collections.abc import Iterator

import torch

from fuseshard.compiler.breaks.exhibit import Exhibit


@dataclasses.dataclass
class Pair:
    """A tensor with a number."""

    values: torch.Tensor
    scale: int = 2


@contextlib.contextmanager
def nothing_around() -> Iterator[None]:
    """Stand for a context manager of one's own."""
    yield


class Doubling:
    """A class outside of the function that uses it."""

    def apply(self, x: torch.Tensor) -> torch.Tensor:
        """Return twice the argument."""
        return x * 2


def try_except(x: torch.Tensor) -> torch.Tensor:
    """Raise and catch an exception."""
    table = {"scale": 2}
    try:
        y = x * table["missing"]
    except KeyError:
        y = x + 1
    return y * 2


def generator(x: torch.Tensor) -> torch.Tensor:
    """Run a generator."""

    def shifted() -> Iterator[torch.Tensor]:
        for index in range(3):
            yield x + index

    return torch.stack(list(shifted())) * 2


def closure(x: torch.Tensor) -> torch.Tensor:
    """Change a variable of the enclosing function."""
    calls = 0

    def scaled(y: torch.Tensor) -> torch.Tensor:
        nonlocal calls
        calls += 1
        return y * calls

    return scaled(scaled(x + 1))


def data_class(x: torch.Tensor) -> torch.Tensor:
    """Make a dataclass and change it."""
    pair = dataclasses.replace(Pair(x + 1), scale=3)
    return pair.values * pair.scale


def no_grad(x: torch.Tensor) -> torch.Tensor:
    """Switch gradients off for a while."""
    with torch.no_grad():
        y = x + 1
    return y * 2


def own_context(x: torch.Tensor) -> torch.Tensor:
    """Enter a context manager of one's own."""
    with nothing_around():
        y = x + 1
    return y * 2


def comprehension(x: torch.Tensor) -> torch.Tensor:
    """Nest a comprehension, a lambda and unpacking."""
    square = lambda n: n * n  # noqa: E731
    scales = [square(index) for index in range(4) if index % 2]
    first, *rest = (x * scale for scale in scales)
    return first + sum(rest)


def local_class(x: torch.Tensor) -> torch.Tensor:
    """Define a class inside the function."""
    y = x + 1

    class Local:
        def apply(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    return Local().apply(y) - 1


def local_class_fixed(x: torch.Tensor) -> torch.Tensor:
    """Define it outside."""
    y = x + 1
    return Doubling().apply(y) - 1


EXHIBITS = (
    Exhibit(title="except KeyError:", code=try_except, cause="python"),
    Exhibit(title="yield x + index", code=generator, cause="python"),
    Exhibit(title="nonlocal calls", code=closure, cause="python"),
    Exhibit(title="dataclasses.replace(...)", code=data_class, cause="python"),
    Exhibit(title="with torch.no_grad():", code=no_grad, cause="python"),
    Exhibit(title="with nothing_around():", code=own_context, cause="python"),
    Exhibit(title="[... for index in ...]", code=comprehension, cause="python"),
    Exhibit(
        title="class Local:",
        code=local_class,
        fixed=local_class_fixed,
        remedy="# outside",
        cause="python",
    ),
)
