"""What modes make Inductor write. Oracle: the default mode's text; one C++ compile in all."""

from dataclasses import replace

import pytest
import torch

from fuseshard.compiler.modes.programs import Program, chain, programs
from fuseshard.compiler.modes.records import Trial, Written
from fuseshard.compiler.modes.written import effect, try_options, write

MODES = ("default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune")


def small_chain() -> Program:
    return Program(chain, torch.randn(7, 12, generator=torch.Generator().manual_seed(0)))


@pytest.fixture(scope="module")
def made() -> dict[str, tuple[Written, torch.Tensor]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = {}
    for mode in MODES:
        module, call = write(small_chain(), mode=mode)
        found[mode] = (module, call())
    torch.set_num_threads(threads)
    return found


def test_on_a_cpu_only_lite_has_other_kernels(made) -> None:
    effects = {mode: effect(module, made["default"][0]) for mode, (module, _) in made.items()}
    assert effects == {
        "default": "none",
        "lite": "kernels",
        "reduce-overhead": "around the kernels",
        "max-autotune-no-cudagraphs": "none",
        "max-autotune": "around the kernels",
    }


def test_a_graph_that_is_left_out_is_counted_and_only_then(made) -> None:
    skips = {mode: module.skips for mode, (module, _) in made.items()}
    assert [mode for mode, count in skips.items() if count] == ["reduce-overhead", "max-autotune"]


def test_lite_calls_each_operator(made) -> None:
    assert (len(made["lite"][0].kernels), made["lite"][0].library_calls) == (0, 6)
    assert (len(made["default"][0].kernels), made["default"][0].library_calls) == (1, 0)


def test_results_agree_with_eager_mode(made) -> None:
    expected = small_chain()()
    for _, result in made.values():
        torch.testing.assert_close(result, expected)
    assert torch.equal(made["lite"][1], expected)


def test_a_changed_kernel_is_noticed(made) -> None:
    """Must-fail twin of the comparison: one character in a kernel is another kernel."""
    default = made["default"][0]
    (kernel,) = default.kernels
    changed = replace(default, source=default.source + " ", kernels=(kernel + " ",))
    assert effect(changed, default) == "kernels"


def test_a_trial_has_the_strongest_effect_of_its_programs() -> None:
    effects = {"a": "none", "b": "around the kernels"}
    trial = Trial(option="x", value="True", effects=effects, error="")
    assert trial.effect == "around the kernels"
    refused = replace(trial, effects={**effects, "c": "refused"})
    assert refused.effect == "refused"


def test_options_are_tried_one_at_a_time(made) -> None:
    del made  # its compile is in the cache by now
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    trials = {trial.option: trial for trial in try_options({"chain": small_chain()})}
    torch.set_num_threads(threads)
    assert trials["fallback_by_default"].effect == "kernels"
    assert trials["max_autotune"].effect == "none"
    assert trials["triton.cudagraphs"].effects == {"chain": "around the kernels"}


def test_programs_are_exact_in_float64() -> None:
    for program in programs().values():
        exact = program.exact()
        assert exact.dtype == torch.float64
        torch.testing.assert_close(program().double(), exact, rtol=1e-4, atol=1e-5)
