"""The command `plan`. Oracle: the planner's own answer for the same model and nodes."""

import pytest

from fuseshard.__main__ import main
from fuseshard.distributed.planner import plan
from fuseshard.distributed.planning.presets import cluster_preset, model_preset


def test_it_prints_the_ranked_layouts(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(
        ["plan", "--model", "llama3-70b", "--cluster", "h200x8", "--nodes", "4", "--rows", "3"]
    )
    said = capsys.readouterr().out
    assert status == 0
    best, *_ = plan(model_preset("llama3-70b"), cluster_preset("h200x8", num_nodes=4))
    rows = [line.split() for line in said.splitlines()[-3:]]
    assert rows[0][:5] == [str(size) for size in best.degrees[:5]]
    assert said.startswith("Layouts that fit: 142; that lack memory: 602;")
    assert "Memory binds: " in said
    assert "  TP doesn't divide the heads of keys and values (4)\n" in said


def test_batch_and_sequence_reach_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    main(
        [
            "plan",
            "--model",
            "minigpt",
            "--cluster",
            "a100x8",
            "--batch",
            "8",
            "--sequence",
            "64",
            "--rows",
            "1",
        ]
    )
    said = capsys.readouterr().out
    model = model_preset("minigpt", global_batch=8, sequence=64)
    layouts = plan(model, cluster_preset("a100x8"))
    assert said.startswith(f"Layouts that fit: {len(layouts)};")
    assert len(layouts) != len(plan(model_preset("minigpt"), cluster_preset("a100x8")))


def test_what_fits_nowhere_ends_in_1_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--model", "gpt3-175b", "--cluster", "h100x8"]) == 1
    assert "Nothing fits: the smallest, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--model gpt5 --cluster h200x8", "model: name is 'gpt5', must be one of minigpt, "),
        ("--model minigpt --cluster tpu", "cluster: name is 'tpu', must be one of h200x8, "),
        ("--model minigpt --cluster h200x8 --nodes 0", "num_nodes is 0, must be a whole number"),
        ("--model minigpt --cluster h200x8 --batch -4", "global_batch is -4, must be a whole"),
    ],
)
def test_bad_input_ends_in_2_and_names_the_field(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(f"plan {arguments}".split()) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
