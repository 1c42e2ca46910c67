"""Pure CPU. Oracle: functions whose duration, order or thread count we know."""

import time
from collections.abc import Callable

import pytest
import torch

from fuseshard.measure import clock, stopwatch
from fuseshard.measure.clock import compare, sweep
from fuseshard.measure.statistics import round_order


def spin(num_steps: int) -> Callable[[], object]:
    def fn() -> None:
        for _ in range(num_steps):
            pass

    return fn


def test_four_times_the_work_takes_about_four_times_as_long() -> None:
    comparison = compare({"one": spin(2_000), "four": spin(8_000)})
    assert comparison.verdict == "slower"
    assert 2.5 < comparison.ratio.median < 6.0
    assert comparison["four"].median_s > comparison["one"].median_s


def test_the_verdict_turns_round_with_the_order() -> None:
    comparison = compare({"four": spin(8_000), "one": spin(2_000)})
    assert comparison.verdict == "faster"
    assert comparison.ratio.speedup_low <= comparison.ratio.speedup
    assert comparison.ratio.speedup <= comparison.ratio.speedup_high


def test_a_sleep_is_timed_in_seconds_per_call() -> None:
    (timing,) = compare({"sleep": lambda: time.sleep(0.01)}, rounds=3).timings
    assert 0.01 <= timing.median_s < 0.05
    assert timing.low_s <= timing.median_s <= timing.high_s
    assert timing.calls_per_round == 1


def test_the_first_call_stands_apart() -> None:
    calls = 0

    def slow_once() -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            time.sleep(0.05)

    (timing,) = compare({"slow once": slow_once}, rounds=3).timings
    assert timing.first_call_s >= 0.05
    assert max(timing.rounds_s) < 0.05


def test_rounds_take_turns_in_the_drawn_order() -> None:
    seen: list[str] = []

    def note(name: str) -> Callable[[], object]:
        def fn() -> None:
            time.sleep(0.006)  # longer than a block, so that each round makes few calls
            seen.append(name)

        return fn

    compare({"a": note("a"), "b": note("b")}, rounds=6)
    # Three calls a block, two of them to warm up. First calls and warm-up come before the rounds.
    blocks = [seen[i] for i in range(len(seen) - 6 * 2 * 3, len(seen), 3)]
    drawn = ["ab"[i] for index in range(6) for i in round_order(2, index)]
    assert blocks == drawn
    assert blocks != ["a"] * 6 + ["b"] * 6


def test_one_thread_is_the_default_and_the_count_is_restored() -> None:
    seen: set[int] = set()
    with stopwatch.threads(2):
        comparison = compare({"threads": lambda: seen.add(torch.get_num_threads())}, rounds=2)
        assert torch.get_num_threads() == 2
    assert seen == {1}
    assert comparison.num_threads == 1
    assert comparison.origin is not None
    assert comparison.origin.environment.num_threads == 1


def test_the_thread_count_is_restored_when_a_variant_raises() -> None:
    def fails() -> None:
        assert torch.get_num_threads() == 1
        raise ArithmeticError("no")

    with stopwatch.threads(2):
        with pytest.raises(ArithmeticError, match="no"):
            compare({"fails": fails})
        assert torch.get_num_threads() == 2


def test_the_budget_ends_the_rounds_and_then_there_is_no_verdict() -> None:
    def nap(seconds: float) -> Callable[[], object]:
        return lambda: time.sleep(seconds)

    variants = {"short": nap(0.01), "long": nap(0.03)}
    begin_s = time.perf_counter()
    comparison = compare(variants, budget_s=0.3)
    assert time.perf_counter() - begin_s < 2.0
    assert len(comparison.baseline.rounds_s) < 8
    assert comparison.verdict == "no difference measured"
    assert comparison.ratio.confidence < 0.99


def test_sync_is_called_before_each_reading_of_the_clock() -> None:
    num_syncs = 0

    def sync() -> None:
        nonlocal num_syncs
        num_syncs += 1

    compare({"a": spin(100)}, sync=sync, rounds=4)
    assert num_syncs >= 2 + 2 * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"variants": {}}, "got no variants"),
        ({"variants": {"a": 3}}, "'a' is a int, required a function"),
        ({"variants": {"a": spin(1)}, "rounds": 0}, "rounds is 0"),
        ({"variants": {"a": spin(1)}, "num_threads": 0}, "num_threads is 0"),
        ({"variants": {"a": spin(1)}, "budget_s": 0.0}, "budget_s is 0.0"),
        ({"variants": {"a": spin(1)}, "device": "meta"}, "device 'meta'"),
        ({"variants": {"a": spin(1)}, "device": "cuda", "sync": print}, "need no sync"),
    ],
)
def test_bad_input_is_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(**arguments)  # type: ignore[arg-type]


def test_bad_input_is_refused_before_anything_runs() -> None:
    def fails() -> None:
        raise AssertionError("was called")

    with pytest.raises(ValueError, match="'b'"):
        compare({"a": fails, "b": None})  # type: ignore[dict-item]
    with pytest.raises(AssertionError, match="was called"):
        compare({"a": fails})


def test_a_sweep_finds_where_the_curves_cross() -> None:
    """The candidate costs a constant and half a step: it loses at 100 and wins at 20 000."""

    def variants(size: int) -> dict[str, Callable[[], object]]:
        return {"plain": spin(size), "prepared": spin(1_000 + size // 2)}

    found = sweep(variants, [100, 400, 20_000], size_name="steps", rounds=9)
    assert found.sizes == (100, 400, 20_000)
    assert found.break_even().slower_until == 400
    assert found.break_even().faster_from == 20_000
    assert found.origin is not None
    assert found.points[0].comparison.origin is None


@pytest.mark.parametrize("sizes", [[], [2, 1], [1, 1]])
def test_sizes_that_do_not_grow_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="required at least one, growing"):
        sweep(lambda size: {"a": spin(size)}, sizes)


def test_fresh_compile_is_off_again_afterwards() -> None:
    before = torch.compiler.config.force_disable_caches
    with pytest.raises(ArithmeticError), clock.fresh_compile():
        assert torch.compiler.config.force_disable_caches
        raise ArithmeticError
    assert torch.compiler.config.force_disable_caches == before


def test_a_first_call_compiles_even_when_the_disk_holds_an_older_compile() -> None:
    x = torch.ones(37)

    def triple(y: torch.Tensor) -> torch.Tensor:
        return (y * 3 + 1).relu()

    def first_call_s(measure: Callable[[Callable[[], object]], float]) -> float:
        torch.compiler.reset()
        compiled = torch.compile(triple)
        return measure(lambda: compiled(x))

    def naive_s(fn: Callable[[], object]) -> float:
        begin_s = time.perf_counter()
        with stopwatch.threads(1):
            fn()
        return time.perf_counter() - begin_s

    assert clock.warm_compiler() > 0.0
    first_call_s(naive_s)  # leaves a compile on disk
    found_on_disk_s = first_call_s(naive_s)
    compiled_s = first_call_s(clock.first_call)
    assert compiled_s > 2 * found_on_disk_s  # ten times, when nothing else runs
