"""One program on several GPUs. Oracle: what is known of the vendors' texts, and a diff by eye."""

import pytest

from fuseshard.compiler.gpu_study.devices import changed_lines, device_reports
from fuseshard.compiler.gpu_study.programs import by_key, gallery
from fuseshard.compiler.gpu_study.records import DeviceReport
from fuseshard.compiler.gpu_study.texts import UNEXPLORED, build_all, explored_programs


@pytest.fixture(scope="module")
def reports() -> dict[str, DeviceReport]:
    found = device_reports(by_key(gallery(), "gelu-layer-norm"))
    return {report.target: report for report in found}


def test_nvidias_gpus_get_the_same_lines_and_amds_another_mask(
    reports: dict[str, DeviceReport],
) -> None:
    assert reports["a100"].changed == reports["h200"].changed == ()
    changed = reports["mi300x"].changed
    assert any("tl.rsqrt" in line for line in changed if line.startswith("+ "))
    assert any("libdevice.rsqrt" in line for line in changed if line.startswith("- "))
    assert {line[:2] for line in changed} == {"- ", "+ "}


def test_machine_code_differs_where_the_lines_do_not(reports: dict[str, DeviceReport]) -> None:
    (h200,), (a100,) = reports["h200"].kernels, reports["a100"].kernels
    assert h200.text == a100.text
    assert h200.resources.instructions != a100.resources.instructions


def test_the_library_that_computes_attention_depends_on_the_gpu() -> None:
    found = device_reports(by_key(gallery(), "attention"), ("h200", "a100"))
    ops = [report.library_calls for report in found]
    assert ["cudnn" in op for (op,) in ops] == [True, False]
    assert all(report.kernels == () for report in found)


def test_a_difference_lists_the_lines_of_each_side() -> None:
    assert changed_lines(["a", "b", "c"], ["a", "B", "c", "d"]) == ("- b", "+ B", "+ d")
    assert changed_lines(["a"], ["a"]) == ()


def test_texts_come_for_each_program_and_gpu_in_order() -> None:
    programs = by_key(gallery(), "gelu", "softmax")
    found = build_all(programs, ("mi300x", "h200"))
    places = [(texts.program, texts.target) for row in found for texts in row]
    assert places == [(p, t) for p in ("gelu", "softmax") for t in ("mi300x", "h200")]
    for texts in (texts for row in found for texts in row):
        (kernel,) = texts.kernels
        assert kernel.source in kernel.graph.kernels
        assert kernel.machine.target == texts.target


def test_the_explorer_has_at_least_twelve_programs_and_each_has_kernels() -> None:
    keys = [program.key for program in explored_programs()]
    assert len(set(keys)) == len(keys) >= 12
    assert not set(keys) & set(UNEXPLORED)
    assert len(gallery()) == len(keys) + len(UNEXPLORED)
