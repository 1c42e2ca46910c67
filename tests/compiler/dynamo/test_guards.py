"""Guards, one by one. Oracle: a function whose every outside value is known, and a printed tree."""

import pytest
import torch
from torch import nn

from fuseshard.compiler.dynamo.guards import guards_of, parsed, version_guards
from fuseshard.compiler.dynamo.records import GuardLine

offset = 0.5


class Power(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.exponent = 2
        self.weight = nn.Parameter(torch.ones(5))

    def forward(self, x):
        return x**self.exponent * self.weight


def make_mixture(bias):
    layer = Power()

    def mixture(x, gain, parts, unused):
        total = layer(x) * gain + bias + offset
        for part in parts:
            total = total + part
        return torch.relu(total)

    return mixture


@pytest.fixture(scope="module")
def found() -> tuple[GuardLine, ...]:
    return guards_of(make_mixture(0.25), torch.ones(3, 5), 2.0, [1.0, 2.0], "unused")


def names(found: tuple[GuardLine, ...], origin: str) -> set[str]:
    return {guard.name for guard in found if guard.origin == origin}


def test_each_value_has_its_origin(found: tuple[GuardLine, ...]) -> None:
    assert names(found, "argument") == {"x", "gain", "parts", "parts[0]", "parts[1]"}
    assert names(found, "closure") == {"bias", "layer"}
    assert names(found, "global") == {"torch", "offset"}
    assert {"layer.exponent", "layer.weight", "torch.relu"} <= names(found, "attribute")
    assert {"GLOBAL_STATE", "DEFAULT_DEVICE"} <= {g.kind for g in found if g.origin == "torch"}


def test_what_is_not_read_is_not_guarded(found: tuple[GuardLine, ...]) -> None:
    assert "unused" not in {guard.name for guard in found}


def test_a_check_is_the_condition_without_the_line_it_comes_from(
    found: tuple[GuardLine, ...],
) -> None:
    (gain,) = [guard for guard in found if guard.name == "gain"]
    assert gain.check == "L['gain'] == 2.0"
    assert not any("#" in guard.check for guard in found)


def test_a_symbolic_condition_belongs_to_its_argument() -> None:
    text = (
        "TREE_GUARD_MANAGER:\n"
        "+- RootGuardManager\n"
        "| +- GuardManager: source=L['k'], accessed_by=Frame(key='k'), type=<class 'float'>\n"
        "| | +- TYPE_MATCH: ___check_type_id(L['k'], …), type=<class 'float'>  # x * k  # a.py:2\n"
        "+- LAMBDA_GUARD: L['k'] > 1.0  # if k > 1:  # a.py:3 in f\n"
    )
    kind, condition = parsed(text)
    assert (kind.name, kind.origin) == ("k", "argument")
    assert (condition.check, condition.origin) == ("L['k'] > 1.0", "argument")
    assert [guard.origin for guard in parsed(text, free_names=("k",))] == ["closure", "closure"]


def test_every_version_has_its_guards() -> None:
    def scaled(x, k):
        return x * k

    compiled = torch.compile(scaled, backend="eager")
    assert version_guards(scaled) == ()
    for k in ("a", "bc"):
        compiled(torch.ones(3), len(k))
    assert len(version_guards(scaled)) == 2


def test_a_function_that_compiles_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="compiled nothing"):
        guards_of(number, 2)


def number(k):
    return k
