"""The compiler by hand. Oracle: eager mode, bit for bit, on sizes that divide nothing.

Every test but the first few compiles a few lines of C++, a fraction of a second each.
"""

import math
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

import pytest
import torch

from fuseshard.compiler.tiny import cpp, graph, interpreter, jit
from fuseshard.compiler.tiny.graph import UnsupportedError, facts, scopes_of
from fuseshard.compiler.tiny.jit import Jit
from fuseshard.compiler.tiny.length import lines_of_code

offset = 0.5


def blend(x, y, gain):
    mixed = x * gain + y
    if gain > 1:
        mixed = mixed.relu()
    return mixed + offset


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)))


def test_the_compiler_fits_a_page() -> None:
    assert 100 < lines_of_code([jit, interpreter, graph, cpp]) <= 200


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (randn(5, 7).t(), randn(5)),
        (randn(11, 26)[:, ::2], randn(1, 13)),
        (randn(3, 1, 5), randn(4, 1)),
        (randn(1), randn(7, 3)),
        (randn(2, 3, 5).permute(2, 0, 1), randn(2, 1)),
        (torch.tensor(1.5), torch.tensor(-2.0)),
        (randn(0, 3), randn(3)),
    ],
    ids=["transposed", "strided", "broadcast", "from one", "permuted", "no dim", "empty"],
)
def test_results_and_strides_are_those_of_eager_mode(x: torch.Tensor, y: torch.Tensor) -> None:
    for gain in (2.0, 0.5, -3):
        result, expected = Jit(blend)(x, y, gain), blend(x, y, gain)
        assert torch.equal(result, expected)
        assert result.stride() == expected.stride()


def test_relu_keeps_nan_and_a_relu_that_does_not_is_caught() -> None:
    """NaN compares false with everything, so the order of the comparison decides."""
    x, y = torch.tensor([math.nan, -1.0, 2.0]), torch.zeros(3)
    ours, expected = Jit(blend), blend(x, y, 2.0)
    assert torch.equal(ours(x, y, 2.0).nan_to_num(9), expected.nan_to_num(9))
    careless = ours.versions[0].source.replace("t1 < 0 ? 0 : t1", "t1 > 0 ? t1 : 0")
    ours.versions = [replace(ours.versions[0], kernel=cpp.build(careless))]
    assert not torch.equal(ours(x, y, 2.0).nan_to_num(9), expected.nan_to_num(9))


def test_a_kernel_with_an_operation_dropped_is_caught() -> None:
    x, y = randn(5, 7).t(), randn(5)
    ours = Jit(blend)
    assert torch.equal(ours(x, y, 2.0), blend(x, y, 2.0))
    (version,) = ours.versions
    dropped = version.source.replace("t1 < 0 ? 0 : t1", "t1")
    assert dropped != version.source
    ours.versions = [replace(version, kernel=cpp.build(dropped))]
    assert not torch.equal(ours(x, y, 2.0), blend(x, y, 2.0))


def test_multiply_and_add_fused_into_one_rounding_is_caught() -> None:
    """Hence -ffp-contract=off: eager mode rounds the product before it adds."""
    x, y = randn(7, 5), randn(5)
    ours, expected = Jit(blend), blend(x, y, 0.1)
    assert torch.equal(ours(x, y, 0.1), expected)
    (version,) = ours.versions
    fused = version.source.replace("t0 + y", "__builtin_fmaf(x[5 * i0 + 1 * i1], float(0.1), y")
    fused = fused.replace("y[1 * i1];", "y[1 * i1]);")
    ours.versions = [replace(version, kernel=cpp.build(fused))]
    result = ours(x, y, 0.1)
    assert torch.allclose(result, expected)
    assert not torch.equal(result, expected)


def test_each_changed_guard_makes_a_version_and_an_old_one_is_found_again() -> None:
    x, y = randn(5, 7).t(), randn(5)
    ours = Jit(blend)
    calls = [(x, y, 2.0), (x, y, 3.0), (x, y, 2), (x.contiguous(), y, 2.0), (x[:6], y, 2.0)]
    for number, call in enumerate(calls, 1):
        assert torch.equal(ours(*call), blend(*call))
        assert len(ours.versions) == number
    for call in calls:
        assert torch.equal(ours(*call), blend(*call))
    assert len(ours.versions) == len(calls)


def test_a_dropped_guard_gives_a_wrong_result(monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = randn(5, 7).t(), randn(5)
    ours = Jit(blend)
    ours(x, y, 2.0)
    kept = tuple(guard for guard in ours.versions[0].guards if guard.name != "offset")
    assert len(kept) == len(ours.versions[0].guards) - 1
    careless = Jit(blend)
    careless.versions = [replace(ours.versions[0], guards=kept)]
    monkeypatch.setitem(blend.__globals__, "offset", 1.0)
    assert torch.equal(ours(x, y, 2.0), blend(x, y, 2.0))
    assert not torch.equal(careless(x, y, 2.0), blend(x, y, 2.0))


def test_a_closure_is_read_and_guarded() -> None:
    factor = 2.0

    def scaled(x):
        return x * factor

    x, ours = randn(7), Jit(scaled)
    assert torch.equal(ours(x), 2 * x)
    factor = 3.0
    assert torch.equal(ours(x), 3 * x)
    assert [guard.scope for guard in ours.versions[0].guards] == ["argument", "closure"]


def test_only_what_is_read_is_guarded() -> None:
    def either(x, a, b, is_first):
        if is_first:
            return x * a
        return x * b

    ours = Jit(either)
    ours(randn(3), 2.0, [1.0], True)  # a list has no guard, but it isn't read
    names = [guard.name for guard in ours.versions[0].guards]
    assert names == ["is_first", "x", "a"]


@pytest.mark.parametrize(
    ("one", "other"),
    [(0.0, -0.0), (1, True), (1, 1.0), (torch.ones(3), torch.ones(4)), ("a", "b")],
)
def test_facts_tell_apart_what_leads_to_other_results(one: object, other: object) -> None:
    assert facts(one) != facts(other)


def test_facts_hold_for_an_equal_value_and_for_nan() -> None:
    assert facts(math.nan) == facts(float("nan"))
    assert facts(torch.ones(3)) == facts(torch.zeros(3))


def unroll(x, n):
    while n > 0:
        x = x + n
        n = n - 1
    return x


def test_a_loop_over_python_numbers_is_written_out() -> None:
    x, ours = randn(7), Jit(unroll)
    assert torch.equal(ours(x, 3), unroll(x, 3))
    assert [node.op for node in ours.versions[0].nodes].count("add") == 3


def test_a_function_of_the_torch_module_is_recorded_like_a_method() -> None:
    def rectified(x):
        return torch.relu(x)

    x = randn(7)
    assert torch.equal(Jit(rectified)(x), x.relu())


@pytest.mark.parametrize(
    ("fn", "arguments", "complaint"),
    [
        (lambda x: x.exp(), (randn(3),), "exp is done to a tensor, must be one of add, mul, relu"),
        (lambda x: x / 2, (randn(3),), "/ is done to a tensor"),
        (lambda x: x + 1, (randn(3).double(),), "x is torch.float64 on cpu"),
        (
            lambda x: x + 1,
            (randn(3).requires_grad_(),),
            "requires_grad=True, must be torch.float32",
        ),
        (lambda x: x * 2 if x else x, (randn(1),), "a branch depends on a tensor's data"),
        (lambda x, k: x * k[0], (randn(3), [2.0]), r"argument k is \[2.0\]"),
        (lambda x: x, (randn(3),), "what is returned isn't the last tensor computed"),
        (lambda x: x * abs(2.0), (randn(3),), "global abs is None"),
        (lambda x: [x * 2 for _ in (1, 2)], (randn(3),), "the bytecode has"),
        (lambda x, f: x * f(2.0), (randn(3), math.sqrt), "is called on Python values"),
    ],
)
def test_what_it_cannot_do_is_named(fn, arguments: tuple, complaint: str) -> None:
    with pytest.raises(UnsupportedError, match=complaint):
        Jit(fn)(*arguments)


def test_shapes_that_do_not_fit_fail_as_in_eager_mode() -> None:
    with pytest.raises(RuntimeError, match="broadcast"):
        Jit(blend)(randn(2, 3), randn(4), 2.0)


def test_without_a_compiler_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"no-such-compiler .* install a C\+\+ compiler"):
        Jit(blend)(randn(3), randn(3), 2.0)


def test_code_that_the_compiler_refuses_is_reported() -> None:
    with pytest.raises(RuntimeError, match="must compile C"):
        cpp.build("this is no C++")


def test_no_file_is_left() -> None:
    before = set(Path(gettempdir()).glob("fuseshard-*"))
    Jit(blend)(randn(3), randn(3), 2.0)
    assert set(Path(gettempdir()).glob("fuseshard-*")) <= before


def test_the_joined_instructions_of_python_3_13_do_what_the_single_ones_do() -> None:
    reader = interpreter.Interpreter(scopes_of(lambda x, gain: None, (1.0, 2.0)))
    reader._load_fast_load_fast(("x", "gain"))
    assert reader.stack == [1.0, 2.0]
    reader._store_fast_load_fast(("kept", "x"))
    assert reader.stack == [1.0, 1.0]
    assert reader.assigned == {"kept": 2.0}
