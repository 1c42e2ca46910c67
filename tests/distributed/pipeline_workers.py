"""What the tests of both pipelines share: a small model, a batch, one process as the oracle."""

import torch
from torch.nn.functional import cross_entropy

from fuseshard.distributed.equivalence import gradients
from fuseshard.distributed.meter import CommMeter
from fuseshard.distributed.pipeline import Pipeline
from fuseshard.distributed.schedules import SCHEDULES, make_orders
from fuseshard.models.minigpt import MiniGPT, MiniGPTConfig
from fuseshard.models.minigpt_stages import cut_into_stages

NUM_SEQUENCES, NUM_TOKENS, WIDTH = 8, 11, 20
NUM_TERMS = NUM_SEQUENCES * NUM_TOKENS
"""each gradient is a sum over so many tokens"""
CONFIG = MiniGPTConfig(vocabulary=97, width=WIDTH, num_layers=9, num_heads=4, context=16)


def chunks_of(name: str) -> int:
    """Two stages a rank where a schedule allows any number."""
    return 2 if SCHEDULES[name].most_chunks is None else 1


def loss_fn(logits, targets):
    return cross_entropy(logits.flatten(0, 1), targets.flatten())


def batch():
    generator = torch.Generator().manual_seed(3)
    tokens = torch.randint(0, 97, (NUM_SEQUENCES, NUM_TOKENS + 1), generator=generator)
    return tokens[:, :-1], tokens[:, 1:]


def whole():
    """One process with the whole batch: gradients and loss."""
    model = MiniGPT(CONFIG).double()
    inputs, targets = batch()
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    return gradients(model), loss.item()


def my_stages(rank, orders, num_stages):
    """This rank's stages of the model, by their index."""
    stages = cut_into_stages(MiniGPT(CONFIG).double(), num_stages)
    return {s: stages[s] for s in sorted({action.stage for action in orders[rank]})}


def by_hand(rank, world_size, name, sizes, fault=""):
    """One step by hand: gradients, record, bytes by the meter and by the kernel."""
    orders, chunks = make_orders(name, world_size, len(sizes), chunks_of(name))
    stages = my_stages(rank, orders, world_size * chunks)
    pipeline = Pipeline(stages, orders, width=WIDTH, loss_fn=loss_fn)
    if fault == "dropped" and rank == 0:
        pipeline.order = pipeline.order[:-1]
    parts = [tensor.split(sizes) for tensor in batch()]
    with CommMeter() as meter:
        record = pipeline.step(list(zip(*parts, strict=True)))
    found = [gradients(stage) for stage in stages.values()]
    return joined(found), record, meter.sent_bytes_per_rank, meter.wire_bytes


def joined(parts):
    """Put the gradients of several stages or ranks together."""
    return {name: tensor for part in parts for name, tensor in part.items()}
