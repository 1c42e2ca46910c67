"""Run a function in several processes that form a process group, also from a notebook.

`run` is made for chapters: it takes workers defined in cells, shows what ranks print, leads with
the failure that came first, and leaves nothing behind. How: a small fork server per caller
(`processes/server.py`) has imported torch once and forks the ranks off itself.
"""

import inspect
import logging
import math
import os
import pickle
import resource
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from fuseshard.distributed.processes.caller import ForkServers, read_memory_file
from fuseshard.distributed.processes.failures import DistributedError, RankFailure
from fuseshard.distributed.processes.job import MAX_OUTPUT_BYTES, Job
from fuseshard.distributed.processes.packing import pack, sources_without_file
from fuseshard.distributed.processes.rank import Call

__all__ = ["DistributedError", "RankFailure", "run"]

BACKENDS = ("gloo", "nccl", "cpu:gloo,cuda:nccl")
FILES_PER_RANK = 5
"""A connection's two ends, and memory files for stdout, stderr and the stack."""
OTHER_FILES = 20
"""What the run and the start of the fork server need, at most."""
_log = logging.getLogger(__name__)
_servers = ForkServers()


def run(
    worker: Callable[..., Any],
    world_size: int = 2,
    *,
    args: tuple[Any, ...] = (),
    timeout: float = 60.0,
    backend: str = "gloo",
) -> list[Any]:
    """Run `worker(rank, world_size, *args)` in `world_size` processes; return their results.

    Each process is a rank of an initialised default process group and computes on one thread,
    so that results don't depend on the machine's cores. Ranks see the environment variables, the
    folder and the import path that the caller has now. What they print is shown when the run is
    over, in rank order; what they write to stderr goes to the log `fuseshard.distributed`.

    Args:
        worker: any function, also one defined in a notebook cell, with the globals it uses.
        world_size: number of processes, at least 1.
        args: further arguments; pickled, so that each rank gets its own copy. A copied tensor
            has no gradient.
        timeout: seconds for the whole run, start-up included; then all ranks are stopped.
        backend: "gloo" (CPU), "nccl" (rank r on GPU r) or "cpu:gloo,cuda:nccl".

    Returns:
        The workers' results in rank order; tensors are copied.

    Raises:
        ValueError: an argument can't work; nothing was started.
        DistributedError: a rank failed or time ran out; leads with the rank that failed first.
    """
    _check(world_size, args, timeout)
    _check_worker(worker, world_size, args)
    _check_backend(backend, world_size)
    _check_surroundings(world_size)
    environment = dict(os.environ)
    with socket.create_server(("127.0.0.1", 0), backlog=2 * world_size + 16) as listener:
        call = Call(
            world_size=world_size,
            backend=backend,
            timeout_s=timeout,
            store_port=listener.getsockname()[1],
            environment=environment,
            directory=str(Path.cwd()),
            import_paths=list(sys.path),
            cell_sources=sources_without_file(),
            start_environment=start_environment,
            function=pack(worker, args),
        )
        return _run(call, listener)


def start_environment(
    environment: Mapping[str, str], rank: int, world_size: int, port: int
) -> None:
    """Give a rank its caller's environment variables, and those that torchrun would set.

    Args:
        environment: the caller's variables; replace all of this process's.
        rank: index of this process.
        world_size: number of processes.
        port: where the store listens through which the ranks find each other.
    """
    os.environ.clear()
    os.environ.update(environment)
    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        WORLD_SIZE=str(world_size),
        LOCAL_WORLD_SIZE=str(world_size),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        # Loopback by name: gloo would resolve the host's name, which fails in many containers.
        GLOO_SOCKET_IFNAME="lo",
        OMP_NUM_THREADS="1",
    )
    os.environ.setdefault("NCCL_SOCKET_IFNAME", "lo")


def _run(call: Call, listener: socket.socket) -> list[Any]:
    """Run the call and return the ranks' results."""
    content = os.memfd_create("fuseshard-call")
    try:
        with os.fdopen(os.dup(content), "wb") as file:
            pickle.dump(call, file)
        with _servers.job(call.environment) as (channel, server):
            job = Job(channel, server, call.world_size)
            results = _see_through(job, content, listener, call.timeout_s)
    finally:
        os.close(content)
    return [_rebuilt(result, rank, call.world_size) for rank, result in enumerate(results)]


def _see_through(job: Job, content: int, listener: socket.socket, timeout_s: float) -> list[bytes]:
    """Take a job from its start to the moment when no process of it is left."""
    try:
        job.start(content, listener)
        listener.close()
        results = job.collect(timeout_s)
        job.dismiss()
        return results
    finally:
        try:
            _show_output(job)
        finally:
            job.close()


def _rebuilt(result: bytes, rank: int, world_size: int) -> Any:
    """The object that a rank returned."""
    try:
        return pickle.loads(result)
    except Exception as error:
        raise DistributedError(
            f"rank {rank} of {world_size} returned a result that can't be rebuilt in the caller "
            f"({type(error).__name__}: {error}); return plain data or tensors",
            rank=rank,
        ) from error


def _show_output(job: Job) -> None:
    """Show what each rank printed, in rank order, each line with its rank."""
    lines = []
    for handle in job.ranks:
        # Of a rank that was stopped because it flooded us, enough to see what it was.
        is_flood = handle.num_written > MAX_OUTPUT_BYTES
        text = read_memory_file(handle.output, 1000 if is_flood else MAX_OUTPUT_BYTES)
        lines += [f"[rank {handle.rank}] {line}\n" for line in text.splitlines()]
        if errors := read_memory_file(handle.errors, MAX_OUTPUT_BYTES).strip():
            _log.info("rank %d wrote to stderr:\n%s", handle.rank, errors)
    if lines:
        sys.stdout.write("".join(lines))
        sys.stdout.flush()


def _check(world_size: Any, args: Any, timeout: Any) -> None:
    """Refuse what can't work before any process is started."""
    if not sys.platform.startswith("linux"):
        raise OSError(
            f"run: the platform is {sys.platform}, required is Linux (ranks are tied to their "
            "caller by Linux calls); use a container, or Colab"
        )
    if isinstance(world_size, bool) or not isinstance(world_size, int) or world_size < 1:
        raise ValueError(
            f"run: world_size is {world_size!r}, required is a whole number of at least 1 "
            "(it is the number of processes); use 2 for the smallest group that communicates"
        )
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not math.isfinite(timeout) or timeout <= 0:
        raise ValueError(
            f"run: timeout is {timeout!r}, required is a positive, finite number of seconds "
            "(a run must not hang); use 60 unless the work takes longer"
        )
    if not isinstance(args, tuple):
        raise ValueError(
            f"run: args is a {type(args).__name__}, required is a tuple (it is unpacked after "
            "rank and world_size); write args=(value,) for one argument"
        )


def _check_surroundings(world_size: int) -> None:
    """Refuse to start where the process lacks what each rank needs of it."""
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise ValueError(
            "run: the working directory was removed, required is one that exists (ranks start in "
            "it); change to another with os.chdir"
        ) from error
    num_needed = FILES_PER_RANK * world_size + OTHER_FILES
    num_allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    num_free = num_allowed - len(list(Path("/proc/self/fd").iterdir()))
    if num_allowed != resource.RLIM_INFINITY and num_free < num_needed:
        raise ValueError(
            f"run: this process may open {num_free} more files, required are {num_needed} for "
            f"world_size {world_size} (each rank is reached through {FILES_PER_RANK}); raise the "
            "limit (`ulimit -n`) or use a smaller world_size"
        )


def _check_worker(worker: Any, world_size: int, args: tuple[Any, ...]) -> None:
    if not callable(worker):
        raise ValueError(
            f"run: worker is a {type(worker).__name__}, required is a function "
            "(each process calls it); pass the function itself, without parentheses"
        )
    try:
        signature = inspect.signature(worker)
    except ValueError:
        return  # a built-in function that doesn't tell
    try:
        signature.bind(0, world_size, *args)
    except TypeError as error:
        raise ValueError(
            f"run: worker takes {signature}, required are rank, world_size and {len(args)} more "
            f"from args ({error}); change the worker's parameters or args"
        ) from error


def _check_backend(backend: Any, world_size: int) -> None:
    if backend not in BACKENDS:
        raise ValueError(
            f"run: backend is {backend!r}, required is one of {', '.join(BACKENDS)} "
            "(others can't join a group on one machine here); use gloo on a CPU"
        )
    if "nccl" not in backend:
        return
    num_gpus = torch.cuda.device_count() if dist.is_nccl_available() else 0
    if num_gpus < world_size:
        raise ValueError(
            f"run: backend is {backend!r} with world_size {world_size}, required are as many GPUs "
            f"and NCCL, found {num_gpus} (each rank needs a GPU of its own); use gloo or "
            "a smaller world_size"
        )
