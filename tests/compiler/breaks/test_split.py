"""Cutting at breaks by hand. Oracles: the uncut program, bit for bit, and Dynamo's own graphs."""

from dataclasses import replace

import pytest
import torch

from fuseshard.compiler.breaks import split


@torch.compiler.disable
def report(value: torch.Tensor) -> torch.Tensor:
    return value


def three_pieces(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    a, b = torch.sin(x), torch.cos(w)
    c = report(a)
    d = c * b
    report(d)
    return d + b * x


def two_results(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = report(x * w)
    return y + 1, x


def breaks_at_both_ends(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    y = report(x) * w
    return report(y)


def uncut(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x + w).exp() * x


PROGRAMS = (three_pieces, two_results, breaks_at_both_ends, uncut)


def arguments() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.linspace(-2, 3, 7), torch.linspace(0.5, 1, 7)


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_pieces_do_what_the_program_does(program) -> None:
    straight = split.trace(program, (report,))
    pieces = split.split(straight, (report,))
    got, expected = split.run(straight, pieces, *arguments()), program(*arguments())
    pairs = zip(got, expected, strict=True) if isinstance(got, tuple) else [(got, expected)]
    assert all(torch.equal(*pair) for pair in pairs)


@pytest.mark.parametrize("program", [three_pieces, breaks_at_both_ends, uncut])
def test_graphs_and_what_crosses_them_are_dynamos(program) -> None:
    pieces = split.split(split.trace(program, (report,)), (report,))
    graphs = [(len(p.inputs), len(p.outputs)) for p in pieces if not p.is_break]
    assert graphs == split.library_pieces(program, *arguments())


def test_values_cross_a_break_only_if_something_later_uses_them() -> None:
    pieces = split.split(split.trace(three_pieces, (report,)), (report,))
    assert [piece.is_break for piece in pieces] == [False, True, False, True, False]
    assert pieces[0].inputs == ("x", "w")
    assert pieces[0].outputs == ("sin", "cos")
    assert set(pieces[4].inputs) == {"cos", "x", "mul"}


def test_a_piece_that_forgets_an_output_is_found() -> None:
    straight = split.trace(three_pieces, (report,))
    first, *rest = split.split(straight, (report,))
    forgetful = replace(first, outputs=first.outputs[:1], run=lambda *a: first.run(*a)[:1])
    with pytest.raises(KeyError, match="cos"):
        split.run(straight, [forgetful, *rest], *arguments())


def test_pieces_in_another_order_are_found() -> None:
    straight = split.trace(three_pieces, (report,))
    pieces = split.split(straight, (report,))
    with pytest.raises(KeyError, match="sin"):
        split.run(straight, pieces[1:] + pieces[:1], *arguments())
