"""The recipes of the cheat sheet for several processes, by section: run and proved on two ranks."""

from fuseshard.distributed.recipes.records import RankRecipe

SECTIONS: dict[str, tuple[RankRecipe, ...]] = {
    "groups": (
        RankRecipe(
            "who-am-i",
            "rank, world_size = dist.get_rank(), dist.get_world_size()",
            "assert (rank, world_size) == (RANK, 2)",
        ),
        RankRecipe("sum", "dist.all_reduce(x)", "close(x, torch.full((3,), 3.0))"),
        RankRecipe(
            "mean",
            "dist.all_reduce(x, op=dist.ReduceOp.AVG)",
            "close(x, torch.full((3,), 1.5))",
        ),
        RankRecipe("hand-out", "dist.broadcast(x, src=1)", "close(x, torch.full((3,), 2.0))"),
        RankRecipe(
            "collect",
            "parts = [torch.empty_like(x) for _ in range(2)]; dist.all_gather(parts, x)",
            "close(torch.stack(parts), torch.tensor([[1.0], [2.0]]).expand(2, 3))",
        ),
        RankRecipe(
            "objects",
            "found = [None, None]; dist.all_gather_object(found, {'rank': RANK})",
            "assert found == [{'rank': 0}, {'rank': 1}]",
        ),
        RankRecipe(
            "one-to-one",
            "work = dist.isend(x, dst=1) if RANK == 0 else dist.irecv(x, src=0)",
            "work.wait()\nclose(x, torch.ones(3))",
        ),
        RankRecipe(
            "meanwhile",
            "work = dist.all_reduce(x, async_op=True)",
            "work.wait()\nclose(x, torch.full((3,), 3.0))",
        ),
        RankRecipe(
            "mesh",
            'mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("dp", "tp"))',
            "assert (mesh['dp'].size(), mesh['tp'].size()) == (1, 2)\n"
            "dist.all_reduce(x, group=mesh.get_group('tp'))\nclose(x, torch.full((3,), 3.0))",
        ),
        RankRecipe(
            "who-is-missing",
            "dist.monitored_barrier(timeout=timedelta(seconds=5))",
            "assert dist.get_world_size() == 2",
        ),
    ),
    "replicas": (
        RankRecipe(
            "ddp",
            "model = DistributedDataParallel(model)",
            "loss_of(model, shard).backward()\nclose(gradients(model), whole_gradients)",
        ),
        RankRecipe(
            "sampler",
            "sampler = DistributedSampler(batch, num_replicas=2, rank=RANK, shuffle=False)",
            "assert list(sampler) == list(range(RANK, 8, 2))",
        ),
        RankRecipe(
            "epoch",
            "sampler.set_epoch(1)",
            "second = list(sampler)\nsampler.set_epoch(0)\nassert second != list(sampler)",
        ),
        RankRecipe(
            "accumulate",
            "quiet = replica.no_sync()",
            "with quiet:\n    loss_of(replica, shard[:2]).mul(0.5).backward()\n"
            "loss_of(replica, shard[2:]).mul(0.5).backward()\n"
            "close(gradients(replica), whole_gradients)",
        ),
        RankRecipe(
            "zero-1",
            "optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.1)",
            "loss_of(model, batch).backward()\noptimizer.step()\nexpected = stepped()\n"
            "close([*model.parameters()], expected)",
        ),
    ),
    "shards": (
        RankRecipe(
            "fsdp",
            "for unit in (*model, model): fully_shard(unit)",
            "loss_of(model, shard).backward()\nclose(whole(gradients(model)), whole_gradients)\n"
            "assert model[0].weight.to_local().numel() == model[0].weight.numel() / 2",
        ),
        RankRecipe(
            "keep-whole",
            "fully_shard(model, reshard_after_forward=False)",
            "loss_of(model, shard).backward()\nclose(whole(gradients(model)), whole_gradients)",
        ),
        RankRecipe(
            "half-products",
            "fully_shard(model, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))",
            "assert model[0].weight.dtype == torch.float32\n"
            "assert model(shard).dtype == torch.bfloat16",
        ),
        RankRecipe(
            "full-state",
            "state = get_model_state_dict(sharded, options=StateDictOptions(full_state_dict=True))",
            "names = [*model.state_dict()]\nassert [*state] == names\n"
            "close([*state.values()], [*model.state_dict().values()])",
        ),
        RankRecipe(
            "save",
            "dcp.save(get_model_state_dict(sharded), checkpoint_id=folder)",
            "state = get_model_state_dict(sharded)\n"
            "want = whole([t.clone() for t in state.values()])\n"
            "for t in state.values():\n    t.to_local().zero_()\n"
            "dcp.load(state, checkpoint_id=folder)\nclose(whole([*state.values()]), want)",
        ),
    ),
    "tensors": (
        RankRecipe(
            "cut",
            'parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})',
            "loss_of(model, batch).backward()\nclose(whole(gradients(model)), whole_gradients)\n"
            "assert model[0].weight.to_local().shape == (3, 4)",
        ),
        RankRecipe(
            "distribute",
            "d = distribute_tensor(weight, mesh, [Shard(0)])",
            "assert d.shape == weight.shape\nclose(d.to_local(), weight.chunk(2)[RANK])",
        ),
        RankRecipe("whole", "full = cut.full_tensor()", "close(full, weight)"),
        RankRecipe(
            "otherwise",
            "other = cut.redistribute(placements=[Shard(1)])",
            "close(other.to_local(), weight.chunk(2, 1)[RANK])",
        ),
    ),
    "stages": (
        RankRecipe(
            "stage",
            'stage = PipelineStage(parts[RANK], RANK, 2, torch.device("cpu"))',
            "schedule = ScheduleGPipe(stage, n_microbatches=4, loss_fn=mean_square)\n"
            "train(schedule)\nclose(gradients(parts[RANK]), part_gradients)",
        ),
        RankRecipe(
            "schedule",
            "schedule = Schedule1F1B(ready, n_microbatches=4, loss_fn=mean_square)",
            "train(schedule)\nclose(gradients(parts[RANK]), part_gradients)",
        ),
    ),
}
"""section -> recipes; each sees the names of `run.SETTING`"""

_RENDEZVOUS = "--rdzv-backend c10d --rdzv-endpoint HOST:29500"

LAUNCHES = (
    "torchrun --standalone --nproc-per-node 2 train.py",
    f"torchrun --nnodes 2 --nproc-per-node 8 {_RENDEZVOUS} train.py",
    f"torchrun --nnodes 1:4 --max-restarts 3 {_RENDEZVOUS} train.py",
)
"""command lines that start ranks; `run.parsed_launches` has torchrun's own parser read them"""
