"""One run as the caller sees it: its ranks, what they send, and how they end."""

import os
import pickle
import re
import signal
import socket
import time
import traceback
from contextlib import suppress

from fuseshard.distributed.processes.caller import ServerHandle, read_memory_file
from fuseshard.distributed.processes.failures import (
    DistributedError,
    Kind,
    RankFailure,
    first_failure,
    out_of_time,
)
from fuseshard.distributed.processes.frames import (
    FrameReader,
    readable,
    receive_note,
    send_note,
)
from fuseshard.distributed.processes.rank import hide_cell_files

_GRACE_S = 0.5  # what the other ranks get after the first failure to tell of their own
_STACK_S = 0.5  # what a rank gets to say where it stands
_END_S = 5.0  # what the fork server gets to see the last rank off
_LOOK_ROUND_S = 1.0
MAX_OUTPUT_BYTES = 200_000_000
"""What a rank may print before it is stopped: an endless loop would fill the memory."""
_STACK_LINE = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
_CPP_EXCEPTION = re.compile(r"what\(\):\s*(.+)")
_OUR_FRAMES = ("/fuseshard/distributed/processes/", "<string>")


class RankHandle:
    """One rank: its connection, its memory files, and its result or failure."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.connection, self.theirs = socket.socketpair()
        self.reader = FrameReader(self.connection)
        self.output = os.memfd_create(f"fuseshard-rank{rank}-stdout")
        self.errors = os.memfd_create(f"fuseshard-rank{rank}-stderr")
        self.stack = os.memfd_create(f"fuseshard-rank{rank}-stack")
        self.result: bytes | None = None
        self.failure: RankFailure | None = None
        self.has_started = False
        self.has_ended = False

    @property
    def is_done(self) -> bool:
        """Whether the rank has a result or a failure."""
        return self.result is not None or self.failure is not None

    @property
    def num_written(self) -> int:
        """Bytes that it has written to stdout and stderr."""
        return os.fstat(self.output).st_size + os.fstat(self.errors).st_size

    def take(self) -> None:
        """Read what the rank has sent so far."""
        content = self.reader.read()
        if content is None or self.is_done:
            return
        kind, value = pickle.loads(content)
        if kind == "result":
            self.result = value
        else:
            self.fail("raised", *value)

    def fail(self, kind: Kind, time_s: float, reason: str, details: str = "") -> None:
        """Note why there is no result.

        Args:
            kind: how it failed, as in `RankFailure`.
            time_s: seconds, when it failed, on the machine's monotonic clock.
            reason: what happened.
            details: traceback, or where the rank stood.
        """
        stderr = read_memory_file(self.errors, MAX_OUTPUT_BYTES)
        self.failure = RankFailure(
            rank=self.rank, kind=kind, time_s=time_s, reason=reason, details=details, stderr=stderr
        )

    def where_it_stands(self) -> str:
        """The rank's Python stack, when it was asked for or the rank crashed."""
        frames = [
            (file, int(line), name, None)
            for file, line, name in _STACK_LINE.findall(read_memory_file(self.stack))
            if not any(part in file for part in _OUR_FRAMES)
        ]
        if not frames:
            return ""
        lines = traceback.StackSummary.from_list(frames[::-1]).format()
        return hide_cell_files("It stood here (most recent call last):\n" + "".join(lines))

    def close(self) -> None:
        """Release everything."""
        self.connection.close()
        self.theirs.close()
        for file in (self.output, self.errors, self.stack):
            os.close(file)


class Job:
    """The ranks of one run, from their start to the moment when none is left."""

    def __init__(self, channel: socket.socket, server: ServerHandle, world_size: int) -> None:
        self.ranks = [RankHandle(rank) for rank in range(world_size)]
        self._channel = channel
        self._server = server
        self._started_s = time.monotonic()

    def start(self, call: int, listener: socket.socket) -> None:
        """Ask the fork server for all ranks; `call` is the memory file that says what to run."""
        for handle in self.ranks:
            files = {
                "connection": handle.theirs.fileno(),
                "call": call,
                "output": handle.output,
                "errors": handle.errors,
                "stack": handle.stack,
            }
            if handle.rank == 0:
                files["listener"] = listener.fileno()
            self._tell({"start": handle.rank, "files": list(files)}, tuple(files.values()))
            handle.theirs.close()

    def collect(self, timeout_s: float) -> list[bytes]:
        """Wait for all results, in rank order.

        Raises:
            DistributedError: a rank failed, or time ran out.
        """
        deadline_s = self._started_s + timeout_s
        while not all(handle.is_done for handle in self.ranks):
            if any(handle.failure for handle in self.ranks):
                self._wait(min(deadline_s, time.monotonic() + _GRACE_S), until_all=True)
                self._stop_others("still running when the run was called off")
                raise first_failure(self._failures(), len(self.ranks), self._started_s)
            if time.monotonic() >= deadline_s:
                self._stop_others("still running when the time was over")
                raise out_of_time(self._failures(), len(self.ranks), timeout_s)
            self._wait(min(deadline_s, time.monotonic() + _LOOK_ROUND_S))
            self._stop_flooders()
        if failures := self._failures():
            raise first_failure(failures, len(self.ranks), self._started_s)
        return [handle.result for handle in self.ranks if handle.result is not None]

    def dismiss(self) -> None:
        """Let ranks that are done leave in peace; give up after a while."""
        for handle in self.ranks:
            with suppress(OSError):
                handle.connection.send(b"x")
        deadline_s = time.monotonic() + 2.0
        while not all(rank.has_ended for rank in self.ranks):
            if not self._hear(deadline_s) or time.monotonic() >= deadline_s:
                return

    def close(self) -> None:
        """Have every process that is left killed, and wait until it is gone."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)
        deadline_s = time.monotonic() + _END_S
        try:
            while self._hear(deadline_s if self._server.has_served else 0.0):
                if not self._server.has_served:
                    break  # once it has imported torch, it finds the channel shut: no rank
                if time.monotonic() >= deadline_s:
                    self._server.kill()
                    break
        finally:
            for handle in self.ranks:
                handle.close()

    def _failures(self) -> list[RankFailure]:
        return [handle.failure for handle in self.ranks if handle.failure]

    def _wait(self, deadline_s: float, *, until_all: bool = False) -> None:
        """Take in what arrives: once, or until all ranks are done or the time is over."""
        while True:
            waiting = [handle for handle in self.ranks if not handle.reader.is_closed]
            sources = [self._channel, *(handle.connection for handle in waiting)]
            ready = readable(sources, deadline_s - time.monotonic())
            for handle in waiting:
                if handle.connection in ready:
                    handle.take()
            if self._channel in ready and not self._hear(deadline_s):
                raise DistributedError(
                    "the process that starts ranks has ended; the next run starts another. "
                    f"Its last words: {self._server.last_words().strip() or '(none)'}"
                )
            if not until_all or not ready or all(handle.is_done for handle in self.ranks):
                return

    def _hear(self, deadline_s: float) -> bool:
        """Take one note from the fork server; False when there are no more."""
        if not readable([self._channel], deadline_s - time.monotonic()):
            return True
        note, _ = receive_note(self._channel)
        if note is None:
            return False
        if "started" in note:
            self.ranks[note["started"]].has_started = self._server.has_served = True
            return True
        handle = self.ranks[note["ended"]]
        handle.has_ended = True
        handle.take()  # what it sent before its end comes first
        if not handle.is_done:
            reason = _last_sign(note["status"]) + _last_exception(handle.errors)
            handle.fail("died", note["time_s"], reason, handle.where_it_stands())
        return True

    def _stop_others(self, reason: str) -> None:
        """Ask the ranks that still run where they stand, and count them as failed."""
        running = [handle for handle in self.ranks if not handle.is_done and handle.has_started]
        cause = "torch was still being imported"
        if self._server.has_served:
            cause = "the process that starts ranks was busy or hung"
        for handle in self.ranks:
            if not handle.has_started:
                handle.fail("not started", time.monotonic(), cause)
        self._tell({"stacks": True})
        deadline_s = time.monotonic() + _STACK_S
        while time.monotonic() < deadline_s:
            if all(handle.where_it_stands() for handle in running):
                break
            time.sleep(0.01)
        for handle in running:
            handle.fail("stopped", time.monotonic(), reason, handle.where_it_stands())

    def _stop_flooders(self) -> None:
        """Count a rank that has printed too much as failed."""
        for handle in self.ranks:
            if not handle.is_done and handle.num_written > MAX_OUTPUT_BYTES:
                reason = f"stopped because it wrote over {MAX_OUTPUT_BYTES / 1e6:g} MB; print less"
                handle.fail("stopped", time.monotonic(), reason)

    def _tell(self, note: dict[str, object], files: tuple[int, ...] = ()) -> None:
        with suppress(ConnectionError):  # noticed, with its reason, by the next `_wait`
            send_note(self._channel, note, files)


def _last_sign(status: int) -> str:
    """What a wait status says, in words."""
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return f"left with exit status {code} before it had a result"
    number = -code
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return f"killed by {name}"


def _last_exception(errors: int) -> str:
    """The message of the C++ exception that ended a process, from its stderr, if one did."""
    found = _CPP_EXCEPTION.search(read_memory_file(errors))
    return f" after a C++ exception: {found[1]}" if found else ""
