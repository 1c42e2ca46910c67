"""What the recipes for several processes are for."""

from __future__ import annotations

from fuseshard.show.words import Word, word

WANTS_OF_RANKS: dict[str, Word] = {
    "who-am-i": word("Ask which rank this process is, and of how many"),
    "sum": word("Add up a tensor over all ranks, in place"),
    "mean": word("Average a tensor over all ranks, in place"),
    "hand-out": word("Give all ranks the tensor of one of them"),
    "collect": word("Give all ranks everybody's tensors"),
    "objects": word("Give all ranks everybody's Python objects (pickled: never from strangers)"),
    "one-to-one": word("Send from one rank to another; `work.wait()` before touching the tensor"),
    "meanwhile": word("Compute while a collective is under way; `work.wait()` before the result"),
    "mesh": word("Give ranks coordinates, and groups along each axis"),
    "who-is-missing": word("Wait for all ranks, and learn which one doesn't come (gloo)"),
    "ddp": word("Train a whole copy on every rank: gradients are averaged in the backward pass"),
    "sampler": word("Deal samples out to ranks"),
    "epoch": word("Draw another order in the next epoch"),
    "accumulate": word("Keep gradients here until the last micro-batch (as a `with` block)"),
    "zero-1": word("Share the optimizer's states out among the ranks"),
    "fsdp": word("Share parameters, gradients and states out, unit by unit; before the optimizer"),
    "keep-whole": word("Gather parameters once a step: less traffic, more memory"),
    "half-products": word("Compute in bfloat16 and keep float32 parameters"),
    "full-state": word("Get the whole state dict of a sharded model"),
    "save": word("Save shards from all ranks; `dcp.load` reads them into any number of ranks"),
    "cut": word("Cut two linear layers so that one all-reduce puts them together"),
    "distribute": word("Cut a tensor among ranks; it goes on as one tensor"),
    "whole": word("Get the whole of a cut tensor on every rank"),
    "otherwise": word("Cut it another way; what has to be sent is sent"),
    "stage": word("Make a stage of a pipeline of this rank's layers"),
    "schedule": word("Pick the order of micro-batches; `schedule.step` runs one training step"),
}
"""what each recipe of `distributed.recipes` is for, by its id"""
