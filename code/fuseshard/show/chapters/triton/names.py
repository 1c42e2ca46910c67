"""What the chapter on Triton calls programs and GPUs."""

from __future__ import annotations

from fuseshard.compiler.described.targets import TARGETS
from fuseshard.show.explorer.words import short_name
from fuseshard.show.words import Text, plain, word


def program_words() -> dict[str, Text]:
    """Name the programs of `compiler.gpu_study.programs`, and those of its experiments."""
    return {
        "softmax": plain("softmax"),
        "softmax-wide": word("softmax over 50257 columns"),
        "layer-norm": plain("layer norm"),
        "rms-norm": plain("RMS norm"),
        "gelu-layer-norm": plain("GELU + layer norm"),
        "cross-entropy": word("cross-entropy"),
        "column-sum": word("sum of columns"),
        "running-sum": word("running sum"),
        "chain": word("ten pointwise operations"),
        "gelu": plain("GELU"),
        "linear-relu": word("linear + ReLU"),
        "linear-gelu-half": word("linear + GELU, bfloat16"),
        "dropout": word("linear + ReLU + dropout"),
        "attention": word("attention, bfloat16"),
        "minigpt-block": word("block of MiniGPT"),
        "conv-norm-relu": word("convolution + batch norm + ReLU"),
        "minigpt": plain("MiniGPT"),
        "minigpt-training": word("MiniGPT, training"),
        "minigpt-half": plain("MiniGPT, bfloat16"),
        "softmax-half": plain("softmax, bfloat16"),
        "argmax": plain("argmax"),
        "mean-and-variance": word("standardised rows"),
        "transpose-add": word("matrix plus its transpose"),
        "gather-scale": word("rows picked from a table"),
        "linear-autocast": word("linear under autocast"),
        "linear-odd": word("linear to 50257 features, bfloat16"),
        "attention-mask": word("attention with a mask of truth values"),
        "layer-norm-dynamic": word("layer norm, dynamic shapes"),
        "layer-norm-training": word("layer norm, training"),
        "attention-training": word("attention, training"),
    }


def program_word(key: str) -> Text:
    """Name one program.

    Args:
        key: of a program; one that isn't known here is named by its key.
    """
    return program_words().get(key, plain(key))


def target_name(key: str) -> str:
    """Name a GPU in short: "H200" for "NVIDIA H200".

    Args:
        key: of `compiler.described.targets.TARGETS`.
    """
    return short_name(TARGETS[key])
