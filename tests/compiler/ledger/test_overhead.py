"""What a call costs. Oracle: the module that Inductor wrote is only part of a compiled call."""

import torch

from fuseshard.compiler.ledger.overhead import add_one, call_paths


def test_the_written_module_alone_takes_less_than_the_compiled_call() -> None:
    paths = call_paths(add_one, torch.ones(3))
    names = [timing.name for timing in paths.timings]
    assert names == ["eager", "compiled", "unguarded", "captured", "written"]
    assert paths["written"].median_s < paths["compiled"].median_s
