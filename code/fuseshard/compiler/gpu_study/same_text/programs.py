"""The programs that are compared on a card: the gallery, and what else a compiler treats apart."""

import torch
from torch import nn
from torch.nn import functional

from fuseshard.compiler.gpu import BuildOptions
from fuseshard.compiler.gpu_study.programs import Program, TokenLoss, gallery, training
from fuseshard.models.minigpt import MiniGPT


def compared_programs() -> tuple[Program, ...]:
    """Return the programs, cheap ones first; tensors without numbers.

    Two are known to differ: whether `linear-odd` is padded is decided by a clock on the card, and
    a mask of truth values is turned into numbers by another operator there.
    """
    return (*gallery(), *_variants(), *_models())


def _variants() -> list[Program]:
    rows = torch.empty(4096, 768)
    half = torch.empty(512, 1024, dtype=torch.bfloat16)
    linear = nn.Linear(512, 1024)
    wide = torch.empty(2048, 512)
    # Without drawing its 38 million numbers, which nothing reads.
    odd = nn.utils.skip_init(nn.Linear, 768, 50257, bias=False, dtype=torch.bfloat16)
    heads = torch.empty(2, 4, 256, 64, dtype=torch.bfloat16)
    mask = torch.zeros(256, 256, dtype=torch.bool)
    return [
        Program(key="softmax-half", fn=_softmax, inputs=(half,)),
        Program(key="argmax", fn=_argmax, inputs=(rows,)),
        Program(key="mean-and-variance", fn=_standardised, inputs=(rows,)),
        Program(key="transpose-add", fn=_transposed_sum, inputs=(torch.empty(1024, 1024),)),
        Program(
            key="gather-scale", fn=_gathered, inputs=(rows, torch.zeros(512, dtype=torch.int64))
        ),
        Program(
            key="linear-autocast",
            fn=linear,
            inputs=(wide,),
            options=BuildOptions(autocast="bfloat16"),
        ),
        Program(
            key="layer-norm-dynamic",
            fn=nn.LayerNorm(768),
            inputs=(rows,),
            options=BuildOptions(dynamic=True),
        ),
        Program(key="linear-odd", fn=odd, inputs=(half[:, :768].contiguous(),)),
        Program(
            key="attention-mask", fn=_masked, inputs=(heads, heads.clone(), heads.clone(), mask)
        ),
        training("layer-norm-training", nn.LayerNorm(768), rows),
        training("attention-training", _attention, *(torch.empty(2, 4, 256, 64) for _ in range(3))),
    ]


def _models() -> list[Program]:
    tokens = torch.zeros(8, 128, dtype=torch.int64)
    model = MiniGPT().requires_grad_(False)
    half_model = MiniGPT().requires_grad_(False).bfloat16()
    return [
        Program(key="minigpt", fn=model, inputs=(tokens,)),
        Program(key="minigpt-half", fn=half_model, inputs=(tokens,)),
        training("minigpt-training", TokenLoss(MiniGPT()), tokens),
    ]


def _softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, -1)


def _argmax(x: torch.Tensor) -> torch.Tensor:
    return x.argmax(-1)


def _standardised(x: torch.Tensor) -> torch.Tensor:
    variance, mean = torch.var_mean(x, -1, keepdim=True)
    return (x - mean) / (variance + 1).sqrt()


def _transposed_sum(x: torch.Tensor) -> torch.Tensor:
    return x + x.t().contiguous()


def _gathered(x: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    return x[rows] * 2


def _attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def _masked(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
