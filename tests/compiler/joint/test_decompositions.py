"""What single lines of Python become. Oracle: torch's tables, asked for known operators."""

import pytest

from fuseshard.compiler.joint.decompositions import examples, tables
from fuseshard.compiler.joint.records import Lowering


@pytest.fixture(scope="module")
def lowered() -> dict[str, Lowering]:
    return {item.python: item for item in examples()}


@pytest.mark.parametrize(
    ("python", "ops"),
    [
        ("linear(x, w)", ("permute", "mm")),
        ("linear(x, w, b)", ("permute", "addmm")),
        ("linear(x3d, w, b)", ("view", "permute", "addmm", "view")),
        ("softmax(x, -1)", ("amax", "sub", "exp", "sum", "div")),
    ],
)
def test_inductors_operators_of_a_line(
    lowered: dict[str, Lowering], python: str, ops: tuple[str, ...]
) -> None:
    assert lowered[python].ops["inductor"] == ops


@pytest.mark.parametrize("python", ["softmax(x, -1)", "gelu(x)", "layer_norm(x, w, b)"])
def test_core_aten_takes_only_the_backward_pass_apart(
    lowered: dict[str, Lowering], python: str
) -> None:
    line = lowered[python]
    assert line.ops["core"] == line.ops["none"]
    counts = line.num_joint_ops
    assert counts["none"] < counts["core"] < counts["inductor"]


def test_composite_operators_need_no_table(lowered: dict[str, Lowering]) -> None:
    for python in ("linear(x, w, b)", "rms_norm(x, w)"):
        assert len(set(lowered[python].num_joint_ops.values())) == 1


def test_no_table_is_empty_and_the_others_grow() -> None:
    sizes = [len(table) for table in tables().values()]
    assert sizes[0] == 0 < sizes[1] < sizes[2]
