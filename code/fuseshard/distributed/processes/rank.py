"""What one rank does from its birth as a fork of the fork server to its end.

Its open files: `connection` to the caller, `call` (what to run), `output` and `errors` (what it
writes to stdout and stderr), `stack` (where it stands, when asked), `listener` (rank 0 only: the
socket of the store through which the ranks find each other).
"""

import ctypes
import faulthandler
import linecache
import mmap
import os
import pickle
import re
import resource
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from fuseshard.distributed.processes.frames import write_frame
from fuseshard.distributed.processes.packing import to_bytes

STACK_SIGNAL = signal.SIGUSR1
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_CELL_FILE = re.compile(r"[^\"\s]*ipykernel_\d+/\d+\.py")


@dataclass(frozen=True, kw_only=True)
class Call:
    """What the ranks of one run are to do; travels as a pickle of plain data."""

    world_size: int
    backend: str
    timeout_s: float
    store_port: int
    environment: dict[str, str]
    directory: str
    import_paths: list[str]
    cell_sources: dict[str, Any]
    "linecache entries of code that lies in no file, so that tracebacks can quote it"
    start_environment: Callable[[Mapping[str, str], int, int, int], None]
    function: bytes
    "cloudpickle of (worker, args)"


def run_rank(rank: int, files: Mapping[str, int], server_pid: int) -> None:
    """Run one rank to its end; never returns."""
    exit_status = 1
    try:
        _settle(files, server_pid)
        connection = socket.socket(fileno=files["connection"])
        connection.setblocking(True)
        own_pid = os.getpid()
        outcome = _outcome(rank, files)
        if os.getpid() != own_pid:
            os._exit(0)  # a fork that the worker made and that came back here: not the rank
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        write_frame(connection, pickle.dumps(outcome))
        # No rank leaves before all are done: a closed connection would fail those still at work.
        if connection.recv(1) and dist.is_initialized():
            dist.destroy_process_group()
        exit_status = 0
    finally:
        # Not sys.exit: exit handlers and destructors belong to the server that was forked.
        os._exit(exit_status)


def _settle(files: Mapping[str, int], server_pid: int) -> None:
    """Cut every tie with the server but one: when it dies, this process is killed."""
    os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != server_pid:
        os._exit(1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # no core file when a rank aborts
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(files["output"], 1)
    os.dup2(files["errors"], 2)
    keep = {0, 1, 2, *files.values()}
    for file in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if file not in keep:
            with suppress(OSError):  # the one that listed the folder is closed already
                os.close(file)
    for name, file in (("stdout", 1), ("stderr", 2)):
        # UTF-8 whatever the locale, because that is how the caller reads it.
        stream = open(file, "w", 1, "utf-8", "backslashreplace", closefd=False)  # noqa: SIM115
        setattr(sys, name, stream)
    faulthandler.enable(files["stack"], all_threads=True)
    faulthandler.register(STACK_SIGNAL, files["stack"], all_threads=True)


def _outcome(rank: int, files: Mapping[str, int]) -> tuple[str, Any]:
    """Run the worker; ("result", pickle) or ("failure", (time, reason, traceback))."""
    try:
        with mmap.mmap(files["call"], 0, prot=mmap.PROT_READ) as content:
            call: Call = pickle.loads(content)
        call.start_environment(call.environment, rank, call.world_size, call.store_port)
        os.chdir(call.directory)
        sys.path[:] = call.import_paths
        linecache.cache.update(call.cell_sources)
        _join_group(rank, call, files.get("listener"))
        worker, args = pickle.loads(call.function)
        result = worker(rank, call.world_size, *args)
        return "result", _pickle_result(result)
    except BaseException as error:  # the caller re-raises it, whatever it is
        return "failure", (time.monotonic(), *_explain(error))


def _join_group(rank: int, call: Call, listener: int | None) -> None:
    """Initialise the default process group over the loopback interface."""
    # One thread: sums are taken in the same order on every machine, and ranks don't crowd out
    # each other on few cores.
    torch.set_num_threads(1)
    timeout = timedelta(seconds=call.timeout_s)
    store = dist.TCPStore(
        "127.0.0.1",
        call.store_port,
        call.world_size,
        is_master=rank == 0,
        timeout=timeout,
        wait_for_workers=False,
        master_listen_fd=listener if rank == 0 else None,
    )
    device = None
    if "nccl" in call.backend:
        device = torch.device("cuda", rank)
        torch.cuda.set_device(device)
    dist.init_process_group(
        call.backend,
        store=store,
        rank=rank,
        world_size=call.world_size,
        timeout=timeout,
        device_id=device if call.backend == "nccl" else None,
    )


def _pickle_result(result: object) -> bytes:
    try:
        return to_bytes(result)
    except Exception as error:
        raise TypeError(
            f"the worker's result, a {type(result).__name__}, can't be sent to the caller "
            f"({error}); return plain data or tensors"
        ) from error


def _explain(error: BaseException) -> tuple[str, str]:
    """The exception on one line, and its traceback without the frames of this module."""
    trail = error.__traceback__
    while trail is not None and trail.tb_frame.f_code.co_filename == __file__:
        trail = trail.tb_next
    text = "".join(traceback.format_exception(type(error), error, trail))
    reason = "".join(traceback.format_exception_only(error)).strip()
    return reason, hide_cell_files(text)


def hide_cell_files(text: str) -> str:
    """Replace the kernel's names for cells, which carry its process id, by `<cell>`."""
    return _CELL_FILE.sub("<cell>", text)
