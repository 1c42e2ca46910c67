"""Presets: pure data. Oracles: MiniGPT itself, the described GPUs' sizes, the list of fields."""

from dataclasses import fields

import pytest

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.distributed.planning import presets, shape
from fuseshard.distributed.planning.presets import cluster_preset, model_preset
from fuseshard.distributed.planning.records import Cluster, ModelShape
from fuseshard.models.minigpt import MiniGPTConfig


@pytest.mark.parametrize(
    ("known", "record"), [(presets.MODELS, ModelShape), (presets.CLUSTERS, Cluster)]
)
def test_each_size_has_a_source_or_is_marked_as_assumed(known, record) -> None:
    names = {field.name for field in fields(record)}
    for key, preset in known.items():
        covered = [name for group in preset.sources for name in group.split()]
        assert (key, set(covered)) == (key, names)
        assert (key, len(covered)) == (key, len(set(covered)))
        for source in preset.sources.values():
            is_module = source == "fuseshard.models.minigpt"
            assert source.startswith("https://") or source == presets.ASSUMED or is_module


def test_minigpts_preset_is_the_books_minigpt() -> None:
    config, mini = MiniGPTConfig(), model_preset("minigpt")
    assert shape.num_parameters(mini) == config.num_parameters
    assert (mini.num_layers, mini.width, mini.num_heads, mini.vocabulary) == (
        config.num_layers,
        config.width,
        config.num_heads,
        config.vocabulary,
    )


@pytest.mark.parametrize("gpu", ["h200", "h100", "a100"])
def test_nodes_have_the_gpus_that_the_compiler_describes(gpu: str) -> None:
    node, target = cluster_preset(f"{gpu}x8"), TARGETS[gpu]
    assert node.memory_bytes == target.memory_bytes
    assert node.peak_flop_per_s == target.bf16_flop_per_s
    assert node.gpus_per_node == 8


def test_an_unknown_name_is_refused_with_the_list() -> None:
    with pytest.raises(ValueError, match=r"model: name is 'llama3', must be one of .*llama3-70b"):
        model_preset("llama3")
    with pytest.raises(ValueError, match=r"cluster: name is 'h200', must be one of h200x8, h100x8"):
        cluster_preset("h200")


def test_sizes_of_the_run_can_be_changed_and_are_checked() -> None:
    model = model_preset("gpt3-175b", sequence=512, global_batch=7)
    assert (model.sequence, model.global_batch, model.num_layers) == (512, 7, 96)
    with pytest.raises(ValueError, match="global_batch is 0"):
        model_preset("gpt3-175b", global_batch=0)
    with pytest.raises(ValueError, match="num_nodes is -2"):
        cluster_preset("a100x8", num_nodes=-2)
