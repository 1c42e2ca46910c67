"""Processes that start cold and from disk. Oracles: the counters that torch itself keeps.

Three processes, two of which compile: the slowest tests of the package, in module-scoped fixtures.
"""

import gc
from pathlib import Path

import pytest

from fuseshard.compiler.caches.clinic import CHANGES
from fuseshard.compiler.caches.records import Starts
from fuseshard.compiler.caches.starts import Home, report_of


@pytest.fixture(scope="module")
def started() -> Starts:
    home = Home(num_layers=1)
    home.start("cold")
    home.start("disk")
    return home.starts()


def test_the_cold_process_fills_what_the_other_finds(started: Starts) -> None:
    cold, disk = started.lookups["cold"], started.lookups["disk"]
    assert (cold.autograd, cold.graph, cold.compiler_runs) == ("miss", "miss", 2)
    assert (disk.autograd, disk.graph, disk.compiler_runs) == ("hit", "hit", 0)
    assert cold.graphs == disk.graphs == 1


def test_the_folder_goes_with_its_home() -> None:
    home = Home(num_layers=1)
    folder = Path(home._folder)
    assert folder.is_dir()
    del home
    gc.collect()  # a folder that Python had to clean up by itself would warn, and so fail
    assert not folder.exists()


def test_artifacts_carry_no_compiled_cpp(started: Starts) -> None:
    found = started.lookups["artifacts"]
    assert (found.autograd, found.graph, found.compiler_runs) == ("hit", "hit", 2)


def test_every_way_computes_the_same(started: Starts) -> None:
    outputs = set(started.outputs.values())
    assert len(started.outputs) == 3
    assert len(outputs) == 1
    assert len(set(next(iter(outputs)))) > 10  # results that differ from each other


def test_the_clinic_says_of_every_change_what_it_leaves_to_do(started: Starts) -> None:
    said = {
        case.change: (case.lookup.autograd, case.lookup.graph, case.lookup.compiler_runs)
        for case in started.clinic
    }
    assert list(said) == [change.name for change in CHANGES]
    for change in ("nothing", "weights", "comment"):
        assert said[change] == ("hit", "hit", 0)
    assert said["variable"] == ("miss", "hit", 0)
    for change in ("depth", "option", "threads"):
        assert said[change] == ("miss", "miss", 0)
    for change in ("operation", "rows", "dtype"):
        assert said[change] == ("miss", "miss", 1)


def test_the_first_compile_of_a_process_is_no_measure_of_the_second(started: Starts) -> None:
    first_s, later_s = started.twins_s
    assert first_s > later_s > 0
    assert started["cold"].prepare_s >= first_s


def test_a_start_that_did_not_happen_is_named(started: Starts) -> None:
    with pytest.raises(KeyError, match="no start 'eager'; there are 'cold', 'disk'"):
        started["eager"]


def test_a_process_that_fails_says_why() -> None:
    with pytest.raises(RuntimeError, match=r"ended with 1.*ZeroDivisionError"):
        report_of("1 / 0")
