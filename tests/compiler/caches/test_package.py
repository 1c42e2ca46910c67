"""A package compiled ahead of time. Oracle: the same stack in eager mode; one more process."""

import pytest

from fuseshard.compiler.caches.errors import allowed_error, errors_of
from fuseshard.compiler.caches.package import package_report
from fuseshard.compiler.caches.plain import model_and_input
from fuseshard.compiler.caches.records import PackageReport


@pytest.fixture(scope="module")
def report() -> PackageReport:
    return package_report(num_layers=1)


def test_another_process_loads_it_and_computes_the_same(report: PackageReport) -> None:
    model, x = model_and_input(1, "cpu")
    outputs = {"eager": model(x).flatten().tolist(), "package": report.outputs}
    errors = errors_of(outputs, num_layers=1)
    assert errors["package"] <= allowed_error(errors["eager"])
    assert report.package_bytes > 0


def test_only_the_package_as_it_is_takes_another_shape(report: PackageReport) -> None:
    assert "10" in report.exported
    assert "15" in report.checked
    assert report.returned_rows == report.other_rows
    assert report.right_rows == report.num_rows
