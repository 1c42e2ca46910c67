"""The two kinds of message between caller, fork server and ranks.

Between caller and rank: frames, a length and then bytes, of any size.
Between caller and fork server: notes, small JSON with open files travelling along.
"""

import json
import select
import socket
import struct
from collections.abc import Iterable
from typing import Any

_LENGTH = struct.Struct("!Q")
_NOTE_BYTES = 4096
_NOTE_FILES = 8


def readable(sockets: Iterable[socket.socket], timeout_s: float) -> set[socket.socket]:
    """Wait until one of the sockets has something to read; return all that have."""
    by_number = {connection.fileno(): connection for connection in sockets}
    poll = select.poll()  # select.select fails for file numbers from 1024 on
    for number in by_number:
        poll.register(number, select.POLLIN)
    return {by_number[number] for number, _ in poll.poll(max(0.0, timeout_s) * 1000)}


def has_hung_up(connection: socket.socket) -> bool:
    """Whether the other side will send nothing more, though something may be left to read."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


def write_frame(connection: socket.socket, content: bytes) -> None:
    """Send one frame; blocks until the other side has taken it."""
    connection.sendall(_LENGTH.pack(len(content)))
    connection.sendall(content)


class FrameReader:
    """Collects one frame from a socket that doesn't block."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._received = bytearray()
        self.is_closed = False

    def read(self) -> bytes | None:
        """Take what has arrived; return the frame once it is complete, else None."""
        while not self.is_closed:
            try:
                piece = self._connection.recv(1 << 20)
            except BlockingIOError:
                break
            except ConnectionError:
                piece = b""
            self.is_closed = not piece
            self._received += piece
        if len(self._received) < _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._received)
        if len(self._received) < _LENGTH.size + size:
            return None
        return bytes(memoryview(self._received)[_LENGTH.size : _LENGTH.size + size])


def send_note(channel: socket.socket, note: dict[str, Any], files: tuple[int, ...] = ()) -> None:
    """Send one note and duplicates of the open `files`."""
    content = json.dumps(note).encode()
    if files:
        socket.send_fds(channel, [content], files)
    else:
        channel.send(content)


def receive_note(channel: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Receive one note and its files; the note is None when the other side is gone."""
    try:
        content, files, _, _ = socket.recv_fds(channel, _NOTE_BYTES, _NOTE_FILES)
    except ConnectionError:
        return None, []
    return (json.loads(content) if content else None), list(files)
