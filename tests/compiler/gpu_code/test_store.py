"""Results on disk. Oracle: the records themselves, and files damaged by hand."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from fuseshard.compiler.gpu_code.records import Constant, ExternCall, GpuGraph, Launch
from fuseshard.compiler.gpu_code.store import Store, key_of, own_digest, shared_store

LAUNCH = Launch(kernel="k", arguments=("float32[2]", "2"), grids=((1, 1, 1), (2, 1, 1)))
CALL = ExternCall(op="extern_kernels.mm", arguments=("float32[2, 2]",))
GRAPH = GpuGraph(
    phase="inference",
    aten="a",
    post_grad="p",
    wrapper='w "quoted" é\n',
    kernels=(),
    steps=(LAUNCH, CALL),
    inputs=("arg0_1", "s0"),
    outputs=("buf0", None),
    input_tensors=(0, None),
    constants=(Constant(name="c", dtype="bool", size=(3,), stride=(1,), numbers=(1, 0.5, True)),),
)
KEY = key_of("one")


@dataclass(frozen=True)
class Other:
    phase: str


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "kept"


def put_then_read(folder: Path, record: Any) -> Any:
    """What a second process would find."""
    Store(folder).put(KEY, record)
    return Store(folder).get(KEY, GpuGraph)


def test_a_record_comes_back_equal_in_this_process_and_in_the_next(folder: Path) -> None:
    store = Store(folder)
    assert store.get(KEY, GpuGraph) is None
    assert store.put(KEY, GRAPH) is GRAPH
    assert store.get(KEY, GpuGraph) is GRAPH
    found = Store(folder).get(KEY, GpuGraph)
    assert found == GRAPH
    assert found is not GRAPH
    assert found != replace(GRAPH, steps=(CALL, LAUNCH))
    assert Store(folder).get(key_of("two"), GpuGraph) is None


def test_the_file_is_json_and_nobody_elses(folder: Path) -> None:
    Store(folder).put(KEY, GRAPH)
    (file,) = folder.iterdir()
    assert file.name == f"{KEY}.json"
    assert json.loads(file.read_text())["result"]["aten"] == "a"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[:-20],
        lambda text: text.replace('"inference"', '"sideways"'),
        lambda text: text.replace('"aten":', '"satin":'),
        lambda text: text.replace(KEY, key_of("two")),
        lambda text: "[1, 2]",
        lambda text: text.replace("quoted", "quoter"),
    ],
)
def test_a_damaged_file_counts_as_none_and_is_replaced(folder: Path, damage: Any) -> None:
    assert put_then_read(folder, GRAPH) == GRAPH
    (file,) = folder.iterdir()
    damaged = damage(file.read_text())
    assert damaged != file.read_text()
    file.write_text(damaged)
    assert Store(folder).get(KEY, GpuGraph) is None
    assert put_then_read(folder, GRAPH) == GRAPH


def test_bytes_that_are_no_text_count_as_none(folder: Path) -> None:
    Store(folder).put(KEY, GRAPH)
    (file,) = folder.iterdir()
    file.write_bytes(b"\xff\xfe" + file.read_bytes())
    assert Store(folder).get(KEY, GpuGraph) is None


def test_a_file_of_another_kind_counts_as_none(folder: Path) -> None:
    assert put_then_read(folder, Other(phase="inference")) is None
    assert Store(folder).get(KEY, Other) == Other(phase="inference")


@pytest.mark.parametrize("number", [float("inf"), 1j])
def test_what_json_does_not_know_stays_in_memory(folder: Path, number: complex) -> None:
    odd = replace(GRAPH, constants=(replace(GRAPH.constants[0], numbers=(number,)),))
    store = Store(folder)
    store.put(KEY, odd)
    assert store.get(KEY, GpuGraph) is odd
    assert list(folder.iterdir()) == []


def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    Store(folder).put(KEY, GRAPH)
    folder.chmod(0o770)
    assert Store(folder).get(KEY, GpuGraph) is None
    Store(folder).put(key_of("two"), GRAPH)
    assert len(list(folder.iterdir())) == 1
    folder.chmod(0o700)
    assert Store(folder).get(KEY, GpuGraph) == GRAPH


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    Store(tmp_path / "real").put(KEY, GRAPH)
    folder.symlink_to(tmp_path / "real")
    assert Store(folder).get(KEY, GpuGraph) is None
    assert Store(tmp_path / "real").get(KEY, GpuGraph) == GRAPH


def test_a_folder_that_cannot_be_made_leaves_results_in_memory(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "kept")
    store.put(KEY, GRAPH)
    assert store.get(KEY, GpuGraph) is GRAPH


def test_keys_differ_with_each_part() -> None:
    parts = [("a",), ("b",), ("a", "b"), ("ab",), (LAUNCH,), (replace(LAUNCH, kernel="l"),), (1,)]
    assert len({key_of(*part) for part in parts}) == len(parts)
    assert key_of("a", LAUNCH) == key_of("a", replace(LAUNCH))
    assert len(own_digest()) == 64


def test_the_shared_store_is_this_users() -> None:
    assert str(os.getuid()) in str(shared_store()._folder)
    assert shared_store() is shared_store()
