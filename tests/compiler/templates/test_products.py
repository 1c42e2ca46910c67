"""What stays a library call. Oracle: texts with known calls, and torch's own modules, uncompiled.

No C++ compile but those of the last test.
"""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from fuseshard.compiler.templates.epilogues import epilogues, passes, place_of, template_kernel
from fuseshard.compiler.templates.externs import library_calls, library_uses
from fuseshard.compiler.templates.search import WAYS, build


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def module(body: str) -> str:
    return f"def call(args):\n    {body}\n    return (buf0, )\n"


@pytest.mark.parametrize(
    ("body", "calls"),
    [
        ("extern_kernels.addmm(a, b, c, out=buf0)", ("addmm",)),
        ("buf0 = torch.ops.aten.sort.stable(a)", ("sort.stable",)),
        ("aten.randint.low_out(0, 1, [1], out=buf0)", ("randint.low_out",)),
        ("cpp_fused_relu_0(buf0)", ()),
        ("pass  # Original ATen: [aten.mm(x)]", ()),
    ],
)
def test_calls_are_found_whatever_their_spelling(body: str, calls: tuple[str, ...]) -> None:
    assert library_calls(module(body)) == calls


def test_products_and_sorting_are_calls_and_norms_are_kernels() -> None:
    uses = {use.code: use for use in library_uses()}
    assert uses["F.linear(x, weight, bias)"].calls == ("addmm",)
    assert uses["x.sort()"].calls == ("sort.stable",)
    assert uses["F.layer_norm(x, (32,))"].calls == ()
    assert uses["F.layer_norm(x, (32,))"].kernels == 1
    assert len(uses) >= 8


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ("buf0 = torch.ops.mkldnn._linear_pointwise.default(x, w, b, 'relu', [-1], '')", "library"),
        ("buf0 = torch.ops.mkldnn._linear_pointwise.default(x, w, b, 'none', [-1], '')", "kernel"),
        ("extern_kernels.addmm(a, b, c, out=buf0)", "kernel"),
    ],
)
def test_the_relu_is_found(body: str, place: str) -> None:
    assert place_of(module(body)) == place


def test_a_template_holds_the_relu() -> None:
    text = "k = async_compile.cpp_pybinding(['float*'], r'''\nvoid micro_gemm() {}\n''')\n"
    assert place_of(text + module("k(buf0)")) == "template"


def test_by_default_the_relu_is_a_kernel_and_a_template_takes_it_in() -> None:
    places = {one.way: one.place for one in epilogues()}
    for way in ("default", "search alone", "bf16", "convolution"):
        assert places[way] == "kernel"
    kernel = template_kernel()
    assert kernel is None or (places["template"] == "template" and "clamp_min" in kernel.code)


@pytest.mark.parametrize(("training", "calls"), [(True, 2), (False, 1)])
def test_layer_norm_is_one_kernel_of_several_passes(training: bool, calls: int) -> None:
    found = passes(training=training)
    assert (found.library_calls, found.kernels) == (calls, 1)
    assert 1 < found.table_passes < found.row_loops


def test_without_vectors_the_passes_share_one_loop_over_rows() -> None:
    found = passes(training=False, vectors=False)
    assert (found.row_loops, found.table_passes) == (1, 3)


def test_every_way_computes_the_same() -> None:
    torch.manual_seed(0)
    layer = nn.Sequential(nn.Linear(12, 16), nn.ReLU()).requires_grad_(False)
    rows = torch.randn(7, 12, generator=torch.Generator().manual_seed(0))
    expected = layer(rows)
    for way in WAYS:
        built = build(layer, rows, way)
        assert built.first_call_s > 0
        with torch.no_grad():
            torch.testing.assert_close(built.call(), expected)
        assert way == "searched" or not built.candidates
