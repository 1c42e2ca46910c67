"""What modes switch. Oracle: torch's own list, and what it logs."""

import logging

import pytest
import torch

from fuseshard.compiler.modes import options


def test_switches_and_values_rebuild_torchs_list() -> None:
    by_mode = torch._inductor.list_mode_options()
    switched = options.switches()
    assert options.modes() == tuple(by_mode)
    for mode, own in by_mode.items():
        rebuilt = {s.option: s.values[mode] for s in switched if mode in s.values}
        assert rebuilt == {option: repr(value) for option, value in own.items()}


def test_a_default_is_what_the_configuration_holds() -> None:
    defaults = torch._inductor.config.get_config_copy()
    for switch in options.switches():
        assert switch.default == repr(defaults[switch.option])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"mode": "fastest"}, "RuntimeError: Unrecognized mode=fastest"),
        ({"mode": "default", "options": {"max_autotune": True}}, "Either mode or options"),
        ({"options": {"max_autotune": 1}}, "got int should be bool"),
        ({"options": {"max_autotun": True}}, "Unexpected optimization option max_autotun"),
    ],
)
def test_a_refusal_is_quoted(settings: dict[str, object], said: str) -> None:
    assert said in options.refusal(**settings)


def test_what_is_not_refused_is_an_error_of_the_page() -> None:
    with pytest.raises(ValueError, match=r"took \{'mode': 'lite'\}, must refuse it"):
        options.refusal(mode="lite")


def test_templates_begin_at_68_multiprocessors_and_less_is_a_warning() -> None:
    is_big, heard = options.small_gpu_warnings(67)
    assert (is_big, heard) == (False, ["Not enough SMs to use max_autotune_gemm mode"])
    assert options.small_gpu_warnings(68) == (True, [])


def test_another_backend_takes_a_mode_and_ignores_it() -> None:
    (warning,) = options.other_backend_warnings()
    assert warning == "eager backend ignoring extra kwargs {'mode': 'max-autotune'}"


def test_what_is_heard_goes_no_further_and_loggers_are_left_as_they_were(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("torch._inductor.utils")
    before = (logger.propagate, list(logger.handlers))
    options.small_gpu_warnings(1)
    assert (logger.propagate, list(logger.handlers)) == before
    assert capsys.readouterr().err == ""
