"""What the chapter on Inductor shows of library calls. Oracle: records made by hand; no torch."""

import pytest

from fuseshard.compiler.modes.records import Candidate
from fuseshard.compiler.records import Kernel
from fuseshard.compiler.templates.records import Epilogue, GemmSize, LibraryUse, Passes, Place
from fuseshard.measure.records import Comparison, Timing
from fuseshard.measure.statistics import paired_ratio, quartiles
from fuseshard.show.chapters.templates import products, searches
from fuseshard.show.choices import Choice

WAYS = ("default", "eager", "frozen", "searched")


def comparison(seconds: dict[str, float]) -> Comparison:
    timings: list[Timing] = []
    for name, value in seconds.items():
        rounds = tuple(value * (1 + 0.001 * (index % 3)) for index in range(15))
        low, median, high = quartiles(rounds)
        ratio = paired_ratio(timings[0].rounds_s, rounds) if timings else None
        timings.append(
            Timing(
                name=name,
                first_call_s=1.0,
                rounds_s=rounds,
                calls_per_round=1,
                median_s=median,
                low_s=low,
                high_s=high,
                ratio=ratio,
            )
        )
    return Comparison(timings=tuple(timings), num_threads=1, origin=None)


def size(rows: int, searched_s: float, *candidates: Candidate, place: Place = "kernel") -> GemmSize:
    times = dict.fromkeys(WAYS, 1e-3) | {"searched": searched_s}
    return GemmSize(
        rows=rows,
        width=8,
        candidates=candidates,
        place=place,
        first_calls_s={"default": 1.0, "frozen": 1.0, "searched": 4.0},
        comparison=comparison(times),
    )


TWO = (Candidate(name="cpp_a", seconds=1e-5), Candidate(name="_mkl_linear", seconds=3e-5))


def test_a_function_without_calls_says_so() -> None:
    uses = [
        LibraryUse(code="x.sort()", calls=("sort.stable",), kernels=0),
        LibraryUse(code="x + 1", calls=(), kernels=1),
    ]
    assert [str(row[2]) for row in products.library_table(uses).rows] == ["sort.stable", "none"]


@pytest.mark.parametrize(
    ("place", "said"),
    [("kernel", "a kernel of its own"), ("library", "as an argument"), ("template", "wrote")],
)
def test_the_place_of_the_relu_is_said(place: Place, said: str) -> None:
    found = [
        Epilogue(way=way, calls=(), kernels=1, place=place)
        for way in ("frozen", "frozen bf16", "frozen convolution")
    ]
    assert str(products.frozen_finding(found)).count(said) == 3
    assert len(products.epilogue_table(found).rows) == 3


def test_a_machine_without_a_template_is_told_so() -> None:
    assert "no C++ template" in products.template_source(None).code
    assert str(products.block_finding(None)) == "this machine has no template"


def test_the_block_is_read_from_the_template() -> None:
    code = "constexpr int64_t Mr = 4;\nconstexpr int64_t Nr = 16;"
    kernel = Kernel(name="k", language="cpp", code=code)
    assert "4 rows and 16 columns" in str(products.block_finding(kernel))
    with pytest.raises(ValueError, match="anchor"):
        products.template_source(kernel)


def test_passes_name_their_mode() -> None:
    found = [
        Passes(
            training=training,
            vectors=vectors,
            library_calls=1,
            kernels=1,
            row_loops=4,
            table_passes=3,
        )
        for training, vectors in ((True, True), (False, True), (False, False))
    ]
    rows = products.passes_table(found).rows
    assert [str(row[0]) for row in rows] == [
        "training",
        "evaluation",
        "evaluation, without vectors",
    ]


def test_the_faster_candidate_is_the_chosen_one() -> None:
    rows = searches.candidate_table([size(4, 1e-3, *TWO)]).rows
    assert [str(row[-1]) for row in rows] == ["chosen", "not chosen"]
    assert "cpp_a won by 3.00×" in str(searches.choice_finding(size(4, 1e-3, *TWO)))


def test_a_search_that_never_started_is_no_error() -> None:
    alone = size(4, 1e-3)
    assert "timed nothing" in str(searches.candidate_table([alone]).caption)
    assert "nothing to choose" in str(searches.choice_finding(alone))


@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [(5e-4, "as fast as"), (2e-3, "takes"), (1e-3, "no difference was measured")],
)
def test_the_gain_follows_the_rounds(seconds: float, verdict: str) -> None:
    assert verdict in str(searches.gain_finding(size(4, seconds)))


def test_sizes_can_be_chosen_and_first_calls_are_summed() -> None:
    both = [size(4, 1e-3), size(256, 1e-3)]
    assert isinstance(searches.size_chooser(both), Choice)
    assert str(searches.price_finding(both)) == (
        "the first calls took 8.00 s with a search and 2.00 s without"
    )
    assert len(searches.first_call_table(both).rows) == 2
