"""Names of a program's tensors. Oracle: the module's own named_parameters, and names by hand."""

from typing import Any

import pytest
import torch
from torch import nn

from fuseshard.compiler.gpu_code.worker.arguments import matched, tensor_names
from fuseshard.compiler.gpu_code.worker.travel import pack

SCALE = torch.ones(3)


def names(fn: Any, *args: Any) -> tuple[str, ...]:
    return tensor_names(pack(fn, args), fn, args)


def test_a_modules_tensors_are_called_as_it_calls_them() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    own = [name for name, _ in [*module.named_parameters(), *module.named_buffers()]]
    found = names(module, torch.ones(4, 3))
    assert sorted(found) == sorted([*own, "inputs[0]"])
    assert found[-1] == "inputs[0]"


def test_names_stand_at_the_numbers_of_their_tensors() -> None:
    module, x = nn.Linear(3, 2), torch.ones(4, 3)
    packed = pack(module, (x,))
    by_name = dict(zip(tensor_names(packed, module, (x,)), packed.tensors, strict=True))
    assert by_name["weight"] is module.weight
    assert by_name["bias"] is module.bias
    assert by_name["inputs[0]"] is x


def test_what_a_function_refers_to_is_called_after_its_variable() -> None:
    model, factor = nn.Linear(3, 2), torch.ones(2)
    found = names(lambda x: model(x * SCALE) * factor, torch.ones(4, 3))
    assert set(found) == {"model.weight", "model.bias", "factor", "SCALE", "inputs[0]"}


def test_nested_arguments_have_a_path_and_hidden_tensors_a_number() -> None:
    hidden = [torch.ones(1)]
    x, y = torch.ones(2), torch.ones(3)
    found = names(lambda a, b: (hidden[0], a, b), x, {"left": [y]})
    assert set(found) == {"tensor 0", "inputs[0]", "inputs[1]['left'][0]"}


EXAMPLES = (torch.ones(4, 3), {"k": torch.ones(2, dtype=torch.int64)}, 5)


def test_inputs_with_other_numbers_match() -> None:
    given = (torch.zeros(4, 3), {"k": torch.zeros(2, dtype=torch.int64)}, 5)
    assert matched(given, EXAMPLES, any_size=False) is given


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ((torch.ones(4, 3), 5), r"inputs are inputs\[0\]: float32\[4, 3\], .* must be"),
        ((torch.ones(4, 3), {"q": torch.ones(2)}, 5), r"inputs\[1\]\['q'\]"),
        ((torch.ones(3, 4), EXAMPLES[1], 5), r"inputs\[0\] is float32\[3, 4\], must be float32"),
        ((torch.ones(4, 3).double(), EXAMPLES[1], 5), r"inputs\[0\] is float64"),
        ((EXAMPLES[0], {"k": 7}, 5), r"inputs\[1\]\['k'\] is 7, must be int64\[2\]"),
        ((*EXAMPLES[:2], 6), r"inputs\[2\] is 6, must be 5"),
    ],
)
def test_others_are_named(given: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        matched(given, EXAMPLES, any_size=False)


def test_sizes_may_differ_where_they_are_variables_and_types_may_not() -> None:
    given = (torch.ones(7, 9), EXAMPLES[1], 5)
    assert matched(given, EXAMPLES, any_size=True) is given
    for other in (torch.ones(7), torch.ones(7, 9).double()):
        with pytest.raises(ValueError, match=r"inputs\[0\] is float"):
            matched((other, *EXAMPLES[1:]), EXAMPLES, any_size=True)
