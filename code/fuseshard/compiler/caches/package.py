"""A stack exported, compiled ahead of time into one file, and loaded by another process."""

import tempfile
import timeit
import warnings
from pathlib import Path

import torch

# Private, checked on torch 2.11 and 2.13: documented under this name, and there is no other.
import torch._inductor
import torch._inductor.config

from fuseshard.compiler.caches.plain import NUM_ROWS, OTHER_ROWS, model_and_input
from fuseshard.compiler.caches.records import PackageReport, Start
from fuseshard.compiler.caches.starts import report_of
from fuseshard.measure.provenance import environment
from fuseshard.measure.records import Origin
from fuseshard.measure.schema import read
from fuseshard.models.stack import rows

_LOAD = """
from dataclasses import asdict
from fuseshard.compiler.caches import packaged, plain
start, outputs = packaged.first_result(begin_s, imported_s, {path!r}, {num_layers!r})
unchecked = packaged.rows_of_another_shape({path!r}, {num_layers!r})
os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
checked = packaged.complaint({path!r})
plain.report({{
    "start": asdict(start), "outputs": outputs, "unchecked": unchecked, "checked": checked
}})
"""


def package_report(num_layers: int) -> PackageReport:
    """Export a stack, compile it ahead of time, and load it in a process of its own.

    Args:
        num_layers: of the stack.

    Returns:
        Times, results, and what each of the three says of an input with more rows.
    """
    model, x = model_and_input(num_layers, "cpu")
    start_s = timeit.default_timer()
    exported = torch.export.export(model, (x,))
    export_s = timeit.default_timer() - start_s
    with tempfile.TemporaryDirectory(prefix="fuseshard-") as folder:
        path = str(Path(folder) / "stack.pt2")
        start_s = timeit.default_timer()
        _compile(exported, path)
        compile_s = timeit.default_timer() - start_s
        report = report_of(_LOAD.format(path=path, num_layers=num_layers))
        package_bytes = Path(path).stat().st_size
    return PackageReport(
        export_s=export_s,
        compile_s=compile_s,
        package_bytes=package_bytes,
        start=read(Start, report["start"], "package"),
        outputs=tuple(report["outputs"]),
        num_rows=NUM_ROWS,
        other_rows=OTHER_ROWS,
        returned_rows=report["unchecked"]["rows"],
        right_rows=report["unchecked"]["right"],
        checked=report["checked"],
        exported=_complaint(exported),
        origin=Origin(is_live=True, environment=environment()),
    )


def _compile(exported: torch.export.ExportedProgram, path: str) -> None:
    with warnings.catch_warnings(), torch._inductor.config.patch(compile_threads=1):
        # torch 2.13 warns here of what it does itself, when it copies the program.
        warnings.filterwarnings("ignore", message=r"`isinstance\(treespec, LeafSpec\)`")
        torch._inductor.aoti_compile_and_package(exported, package_path=path)


def _complaint(exported: torch.export.ExportedProgram) -> str:
    """Return what the exported program raises for more rows; "" when it raises nothing."""
    try:
        exported.module()(rows(OTHER_ROWS))
    except (AssertionError, RuntimeError) as error:
        return str(error).strip().splitlines()[0]
    return ""
