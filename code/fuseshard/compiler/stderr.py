"""Keep torch's own log lines, which its C++ writes past Python, from the pages."""

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def native_lines_dropped(*sources: str) -> Iterator[None]:
    """Drop the lines that certain C++ files of torch write to stderr meanwhile.

    They carry a process id, and no Python logger sees them. Whatever else is written to stderr
    is passed on at the end.

    Args:
        *sources: names of the files, which stand in each of their lines.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    with tempfile.TemporaryFile() as caught:
        os.dup2(caught.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(saved, 2)
            os.close(saved)
            caught.seek(0)
            lines = caught.read().decode(errors="replace").splitlines(keepends=True)
            kept = [line for line in lines if not any(source in line for source in sources)]
            sys.stderr.writelines(kept)
