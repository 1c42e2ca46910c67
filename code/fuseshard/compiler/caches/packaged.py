"""What a process runs that loads a package of AOTInductor: it compiles nothing."""

import time
import timeit

import torch

# Private, checked on torch 2.11 and 2.13: documented under this name, and there is no other.
import torch._inductor

from fuseshard.compiler.caches.plain import OTHER_ROWS, model_and_input, steady_s
from fuseshard.compiler.caches.records import Start
from fuseshard.models.stack import rows


def first_result(
    begin_s: float, imported_s: float, path: str, num_layers: int
) -> tuple[Start, list[float]]:
    """Load the package and call it.

    Args:
        begin_s: seconds of the system's clock when the parent started this process.
        imported_s: the same when torch was imported.
        path: of the package.
        num_layers: of the stack in it.

    Returns:
        Times, and the results row by row.
    """
    torch.set_num_threads(1)
    x = model_and_input(num_layers, "cpu")[1]
    prepared_s = time.time()
    start_s = timeit.default_timer()
    package = torch._inductor.aoti_load_package(path)
    load_s = timeit.default_timer() - start_s
    start_s = timeit.default_timer()
    outputs = package(x)
    first_call_s = timeit.default_timer() - start_s
    start = Start(
        way="package",
        import_s=imported_s - begin_s,
        prepare_s=prepared_s - imported_s,
        load_s=load_s,
        first_call_s=first_call_s,
        call_s=steady_s(lambda: package(x), "cpu"),
    )
    return start, outputs.flatten().tolist()


def rows_of_another_shape(path: str, num_layers: int) -> dict[str, int]:
    """Call the package with more rows than it was compiled for, and count the right ones.

    With fewer rows it might read beyond the end of its input.

    Args:
        path: of the package.
        num_layers: of the stack in it.

    Returns:
        "rows" that came back, and how many of them are "right", that is, eager mode's.
    """
    x = rows(OTHER_ROWS)
    expected = model_and_input(num_layers, "cpu")[0](x)
    got = torch._inductor.aoti_load_package(path)(x)
    close = torch.isclose(got, expected[: len(got)], rtol=1e-4, atol=1e-6).all(dim=1)
    return {"rows": len(got), "right": int(close.sum())}


def complaint(path: str) -> str:
    """Return what the package raises for another shape; "" when it raises nothing."""
    try:
        torch._inductor.aoti_load_package(path)(rows(OTHER_ROWS))
    except RuntimeError as error:
        return str(error).strip().splitlines()[0]
    return ""
