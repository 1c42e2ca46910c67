"""Places in the hooks' table. Oracle: the C++ compiler, asked where it calls each function."""

import subprocess
from pathlib import Path

import pytest
import torch
from torch._inductor.cpp_builder import get_cpp_compiler

from fuseshard.compiler.described import hooks

INCLUDE = Path(torch.__file__).parent / "include"
DETAIL = INCLUDE / "ATen" / "detail"
BASE = (DETAIL / "AcceleratorHooksInterface.h").read_text()
DERIVED = (DETAIL / "CUDAHooksInterface.h").read_text()

# A pointer to a virtual member function holds its place in bytes, plus 1.
PROGRAM = """
#include <ATen/detail/CUDAHooksInterface.h>
#include <cstdio>
#include <cstring>
template <typename F> void place(const char* name, F function) {
  std::ptrdiff_t bytes;
  std::memcpy(&bytes, &function, sizeof bytes);
  std::printf("%s %td\\n", name, (bytes - 1) / std::ptrdiff_t(sizeof(void*)));
}
int main() {
PLACES
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    folder = tmp_path_factory.mktemp("hooks")
    names = hooks.slots(BASE, DERIVED)
    lines = [f'  place("{name}", &at::CUDAHooksInterface::{name});' for name in names]
    source = folder / "places.cpp"
    source.write_text(PROGRAM.replace("PLACES", "\n".join(lines)))
    library = INCLUDE.parent / "lib"
    subprocess.run(
        [
            *(get_cpp_compiler(), "-std=c++20", "-w", str(source), "-o", str(folder / "places")),
            *(f"-I{INCLUDE}", f"-L{library}", "-lc10", "-ltorch_cpu", f"-Wl,-rpath,{library}"),
        ],
        check=True,
        timeout=100,
    )
    printed = subprocess.run([folder / "places"], check=True, capture_output=True, text=True)
    return {name: int(place) for name, place in map(str.split, printed.stdout.splitlines())}


def test_places_are_those_of_the_compiler(compiled: dict[str, int]) -> None:
    assert hooks.slots(BASE, DERIVED) == compiled
    assert len(compiled) > 40
    assert {*hooks.BUILT, *hooks.CUDNN} <= set(compiled)


def test_one_more_function_shifts_those_behind_it(compiled: dict[str, int]) -> None:
    """Must-fail twin: a header that is one function longer than the library's table."""
    line = "  virtual bool hasCuDNN() const {"
    assert DERIVED.count(line) == 1
    longer = DERIVED.replace(line, f"  virtual bool hasMore() const {{ return false; }}\n\n{line}")
    places = hooks.slots(BASE, longer)
    assert places["hasCUDA"] == compiled["hasCUDA"]
    assert places["hasCuDNN"] == compiled["hasCuDNN"] + 1


def test_functions_for_rocm_alone_have_no_place() -> None:
    line = "  virtual bool hasCUDA() const {"
    more = "  virtual int more() const;\n"
    assert "more" in hooks.slots(BASE, DERIVED.replace(line, more + line))
    guarded = f"#ifdef USE_ROCM\n{more}#endif\n{line}"
    assert hooks.slots(BASE, DERIVED.replace(line, guarded)) == hooks.slots(BASE, DERIVED)
