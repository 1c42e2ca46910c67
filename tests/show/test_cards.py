"""Where numbers come from: live and recorded never read alike (pure data)."""

import json

import pytest

from fuseshard.measure.records import GpuState, Origin
from fuseshard.show.cards import environment_card, origin_line


def rows_of(environment):
    return {str(name): str(here) for name, here in environment_card(environment).rows}


def test_the_card_shows_every_fact_and_says_what_is_missing(make):
    rows = rows_of(make.environment())
    assert rows["Date (UTC)"] == "2026-03-04 05:06:07"
    assert rows["CPU"] == "Some CPU, 2 cores, vector instructions AVX2"
    assert rows["torch"] == "2.13.0"
    assert rows["C++ compiler"] == "g++ 12.2.0"
    assert rows["Commit of the book"] == "abc1234"
    assert rows["GPU"] == rows["GPU driver, CUDA"] == rows["Triton"] == "none"


def test_the_card_names_gpus_and_changes(make):
    rows = rows_of(
        make.environment(
            gpu="H200", num_gpus=4, driver="570.1", cuda="12.8", is_modified=True, num_cores=1
        )
    )
    assert rows["GPU"] == "4 × H200"
    assert rows["GPU driver, CUDA"] == "570.1, 12.8"
    assert rows["Commit of the book"] == "abc1234, with changes"
    assert "1 core," in rows["CPU"]
    assert rows_of(make.environment(commit=None, is_modified=True))["Commit of the book"] == "none"


def test_the_card_shows_clocks_only_where_they_are_known(make):
    state = GpuState(
        sm_mhz=345, max_sm_mhz=1980, memory_mhz=3201, power_limit_w=700, temperature_c=34
    )
    rows = rows_of(make.environment(gpu="H200", num_gpus=1, gpu_state=state))
    clocks = rows["GPU clocks as found"].replace("\N{NARROW NO-BREAK SPACE}", "")
    assert clocks == "processor 345 of 1980 MHz, memory 3201 MHz"
    assert rows["GPU power and heat"] == "at most 700 W, found at 34 °C"
    assert "GPU clocks as found" not in rows_of(make.environment(gpu="H200", num_gpus=1))


@pytest.mark.parametrize("gpu", [None, "H200"])
def test_live_and_recorded_are_told_apart(make, gpu):
    changes = {} if gpu is None else {"gpu": gpu, "num_gpus": 1, "cuda": "12.8"}
    environment = make.environment(**changes)
    live = origin_line(Origin(is_live=True, environment=environment), num_threads=1)
    recorded = origin_line(Origin(is_live=False, environment=environment), num_threads=1)
    assert (live.live, recorded.live) == (True, False)
    # A live result may be of the CPU or of the GPU, so both are named.
    here = "Some CPU" if gpu is None else "Some CPU, H200"
    assert str(live.summary).startswith(f"Measured while this page was built: {here}, 1 thread")
    assert str(recorded.summary).startswith("Recorded, not measured here: ")
    assert (gpu or "Some CPU") in str(recorded.summary)
    assert "2026-03-04" in str(recorded.summary)
    assert json.loads(json.dumps(live.to_json()))["details"]["torch"] == "2.13.0"


def test_processes_are_named_where_there_were_several(make):
    environment = make.environment(gpu="H200", num_gpus=1, cuda="13.0", num_processes=5)
    line = origin_line(Origin(is_live=False, environment=environment))
    assert str(line.summary).startswith("Recorded in 5 processes, not measured here: H200")
    one = make.environment(gpu="H200", num_gpus=1, cuda="13.0")
    assert "process" not in str(origin_line(Origin(is_live=False, environment=one)).summary)


def test_threads_are_named_only_for_timings(make):
    origin = Origin(is_live=True, environment=make.environment())
    assert "thread" not in str(origin_line(origin).summary)
    assert "2 threads" in str(origin_line(origin, num_threads=2).summary)


def test_no_origin_stays_none():
    assert origin_line(None) is None
