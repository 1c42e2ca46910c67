"""Pure CPU. Oracle: functions whose duration, order or thread count we know."""

import random
import time
from collections.abc import Callable

import pytest
import torch
from torch._dynamo.utils import counters

from fuseshard.measure import clock, stopwatch
from fuseshard.measure.clock import compare, sweep
from fuseshard.measure.statistics import round_order


def spin(num_steps: int) -> Callable[[], object]:
    def fn() -> None:
        for _ in range(num_steps):
            pass

    return fn


class RestlessMachine:
    """A clock in a simulated world: a variant returns its true seconds, the machine adds its own.

    With it a verdict depends on a seed, not on who else uses the cores that run the test.
    """

    def __init__(self, seed: int = 0) -> None:
        self.dice = random.Random(seed)
        self.slowness = 1.0

    def now_s(self) -> float:
        return 0.0

    def seconds_per_call(self, fn: Callable[[], object], num_calls: int) -> float:
        self.slowness *= self.dice.uniform(0.95, 1.06)
        interrupted = self.dice.choice([1.0, 1.0, 1.0, 8.0])
        return float(fn()) * self.slowness * interrupted  # type: ignore[arg-type]


@pytest.fixture
def _restless_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "clock_for", lambda sync, device: RestlessMachine())


@pytest.mark.usefixtures("_restless_machine")
@pytest.mark.parametrize(
    ("seconds", "verdict"),
    [(8e-4, "faster"), (1e-3, "no difference measured"), (1.25e-3, "slower")],
)
def test_a_restless_machine_still_tells_a_fifth_from_nothing(seconds: float, verdict: str) -> None:
    comparison = compare({"a": lambda: 1e-3, "b": lambda: seconds}, rounds=25)
    assert comparison.verdict == verdict
    assert comparison.ratio.low <= seconds / 1e-3 <= comparison.ratio.high


def test_more_work_takes_longer_and_is_never_called_faster() -> None:
    comparison = compare({"one": spin(2_000), "sixteen": spin(32_000)})
    assert comparison.ratio.median > 4.0
    assert comparison["sixteen"].median_s > comparison["one"].median_s
    assert comparison.verdict != "faster"
    assert comparison.ratio.speedup_low <= comparison.ratio.speedup <= 0.25


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


def test_a_slow_variant_is_called_four_times_however_small_the_budget() -> None:
    """Or one that takes seconds makes a page wait for minutes."""
    calls = {"slow": 0, "slower": 0}

    def nap(name: str, seconds: float) -> Callable[[], object]:
        def fn() -> None:
            calls[name] += 1
            time.sleep(seconds)

        return fn

    variants = {"slow": nap("slow", 0.06), "slower": nap("slower", 0.07)}
    comparison = compare(variants, budget_s=0.001)
    assert calls == {"slow": 4, "slower": 4}
    assert len(comparison.baseline.rounds_s) == 1
    assert comparison["slower"].median_s >= 0.07


def test_one_interruption_doesnt_make_a_variant_slow() -> None:
    calls = 0

    def interrupted_once() -> None:
        nonlocal calls
        calls += 1
        if calls == 2:  # the first look after the first call
            time.sleep(0.06)

    (timing,) = compare({"a": interrupted_once}, rounds=2).timings
    assert timing.calls_per_round > 1_000
    assert timing.median_s < 1e-4


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
        ({"variants": {"a": spin(1)}, "rounds": 2.5}, "rounds is 2.5, required a whole number"),
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


@pytest.mark.usefixtures("_restless_machine")
def test_a_sweep_finds_where_the_curves_cross() -> None:
    """The candidate costs a constant and half of the plain one: they cross at 2 000 steps."""

    def variants(size: int) -> dict[str, Callable[[], object]]:
        return {"plain": lambda: size * 1e-6, "prepared": lambda: 1e-3 + size * 5e-7}

    sizes = [100, 1_000, 2_000, 4_000, 20_000]
    found = sweep(variants, sizes, size_name="steps", rounds=25)
    assert found.sizes == tuple(sizes)
    assert found.break_even().slower_until == 1_000
    assert found.break_even().faster_from == 4_000
    assert found.origin is not None
    assert found.points[0].comparison.origin is None


@pytest.mark.parametrize("sizes", [[], [2, 1], [1, 1]])
def test_sizes_that_do_not_grow_are_refused(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="required at least one, growing"):
        sweep(lambda size: {"a": spin(size)}, sizes)


def test_a_sweep_names_the_size_at_which_a_variant_fails() -> None:
    def variants(size: int) -> dict[str, Callable[[], object]]:
        return {"a": lambda: 1 / (3 - size)}

    with pytest.raises(ZeroDivisionError) as caught:
        sweep(variants, [2, 3], size_name="rows", budget_s=0.01)
    assert caught.value.__notes__ == ["sweep: at rows 3"]


def test_variants_that_change_their_names_between_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"got variants \['b'\] at size 2, required the names"):
        sweep(lambda size: {"ab"[size - 1]: int}, [1, 2], budget_s=0.01)


def test_fresh_compile_is_off_again_afterwards() -> None:
    before = torch.compiler.config.force_disable_caches
    with pytest.raises(ArithmeticError), clock.fresh_compile():
        assert torch.compiler.config.force_disable_caches
        raise ArithmeticError
    assert torch.compiler.config.force_disable_caches == before


def test_a_first_call_compiles_even_when_the_disk_holds_an_older_compile() -> None:
    """Oracle: Inductor's own count of compiles that it found on disk."""
    x = torch.ones(37)

    def triple(y: torch.Tensor) -> torch.Tensor:
        return (y * 3 + 1).relu()

    def first_call(measure: Callable[[Callable[[], object]], object]) -> tuple[int, int]:
        torch.compiler.reset()
        counters.clear()
        compiled = torch.compile(triple)
        measure(lambda: compiled(x))
        return counters["stats"]["unique_graphs"], counters["inductor"]["fxgraph_cache_hit"]

    def naive(fn: Callable[[], object]) -> None:
        with stopwatch.threads(1):
            fn()

    assert clock.warm_compiler() > 0.0
    first_call(naive)  # leaves a compile on disk
    assert first_call(naive) == (1, 1)
    assert first_call(clock.first_call) == (1, 0)
