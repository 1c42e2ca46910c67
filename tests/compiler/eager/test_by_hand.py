"""A dispatcher by hand against PyTorch's. Oracles: torch's results, nodes and dispatcher trace."""

import pytest
import torch
from torch.nn.functional import linear

from fuseshard.compiler.dispatch import trace
from fuseshard.compiler.eager.by_hand import Array, Dispatcher, torch_like


def as_array(tensor):
    memory = torch.as_strided(tensor, (tensor.numel(),), (1,)).tolist()
    return Array(memory, tuple(tensor.shape), tensor.stride(), tensor.requires_grad)


def tensors(rows, inputs, outputs):
    made = torch.Generator().manual_seed(rows)
    x = torch.randn(inputs, rows, generator=made).T  # strides are not in row order
    return x, torch.randn(outputs, inputs, generator=made), torch.randn(outputs, generator=made)


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(3, 5, 7), (1, 1, 1), (4, 2, 3)])
def test_linear_gives_torchs_values_through_torchs_calls(rows, inputs, outputs):
    x, weight, bias = tensors(rows, inputs, outputs)
    dispatcher = torch_like()
    result = dispatcher.call("aten::linear", *map(as_array, (x, weight, bias)))
    values = torch.tensor(result.memory).view(result.shape)
    # A sum of at most 6 products in another order: 6 roundings of 2^-24 on each side.
    torch.testing.assert_close(values, linear(x, weight, bias), rtol=1e-6, atol=1e-6)
    theirs = [
        (call.depth, call.op, list(call.layers))
        for call in trace(linear, x, weight, bias).calls
        if call.depth < 2
    ]
    assert dispatcher.calls == theirs


def test_a_node_is_recorded_where_a_gradient_is_wanted():
    x, weight, bias = tensors(3, 5, 7)
    weight.requires_grad_()
    result = torch_like().call("aten::linear", *map(as_array, (x, weight, bias)))
    assert result.node == linear(x, weight, bias).grad_fn.name() == "AddmmBackward0"
    quiet = torch_like().call("aten::linear", *map(as_array, (x, weight.detach(), bias)))
    assert quiet.node == ""


def test_without_its_autograd_entry_the_values_stay_and_the_node_is_gone():
    x, weight, bias = tensors(3, 5, 7)
    weight.requires_grad_()
    whole, torn = torch_like(), torch_like()
    del torn.table["aten::addmm", "AutogradCPU"]
    results = [d.call("aten::linear", *map(as_array, (x, weight, bias))) for d in (whole, torn)]
    assert results[0].memory == results[1].memory
    assert [result.node for result in results] == ["AddmmBackward0", ""]


def test_a_transpose_shares_its_memory():
    x = Array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], (2, 3), (3, 1))
    view = torch_like().call("aten::t", x)
    assert view.memory is x.memory
    assert [view[i, 1] for i in range(3)] == [4.0, 5.0, 6.0]


def test_an_operator_without_a_function_is_named():
    with pytest.raises(NotImplementedError, match="aten::relu has no function for any of"):
        Dispatcher().call("aten::relu", Array([1.0], (1,), (1,)))
