"""What torch's flight recorder noted of a rank's collectives, asked for over a Unix socket.

The recorder is a ring of memory that torch fills by itself. Its contents are served by a thread
in C++, so that a rank can be asked that waits in a collective. Gloo's calls are in it as well.
"""

import http.client
import json
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch.distributed as dist

# Checked on torch 2.13: the public `worker_main` takes the socket's path from an environment
# variable only, and notes exceptions in a file besides.
from torch.distributed.elastic.control_plane import _worker_server  # isort: skip

from fuseshard.distributed.lab.records import RecordedCall

_ANSWER_S = 5.0


class FlightRecorder:
    """A rank's recorder, as long as its server runs."""

    def __init__(self, path: Path, group: dist.ProcessGroup) -> None:
        self._path = path
        self._group = group

    def calls(self) -> list[RecordedCall]:
        """Return the group's collectives that this rank has called, the oldest first.

        Raises:
            RuntimeError: the server doesn't know the recorder.
        """
        entries = json.loads(_ask(self._path, "fr_trace_json"))["entries"]
        return [
            RecordedCall(
                number=entry["collective_seq_id"],
                name=entry["profiling_name"],
                sizes=tuple(tuple(size) for size in entry["input_sizes"]),
            )
            for entry in entries
            if entry["process_group"][0] == self._group.group_name and not entry["is_p2p"]
        ]


@contextmanager
def flight_recorder(group: dist.ProcessGroup) -> Iterator[FlightRecorder]:
    """Serve this rank's flight recorder while the block runs.

    Args:
        group: whose collectives to read.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"
        with _worker_server(str(path)):
            yield FlightRecorder(path, group)


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=_ANSWER_S)
        self._path = path

    def connect(self) -> None:
        """Open the socket instead of a network connection."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(_ANSWER_S)
        self.sock.connect(str(self._path))


def _ask(path: Path, handler: str) -> bytes:
    connection = _Connection(path)
    try:
        connection.request("POST", f"/handler/{handler}")
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    if answer.status != http.HTTPStatus.OK:
        raise RuntimeError(
            f"flight_recorder: the server answered {answer.status} to {handler}, required is "
            f"{http.HTTPStatus.OK} (this release of torch may not have it): {text.decode()}"
        )
    return text
