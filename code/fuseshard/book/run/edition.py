"""The process that builds one language: `python -m fuseshard.book.run.edition JOB`.

JOB is JSON: the keyword arguments of Jupyter Book's own `build_sphinx`.
"""

from __future__ import annotations

import json
import os
import sys
import threading

from jupyter_book.sphinx import build_sphinx


def main() -> int:
    """Build the edition that the command line describes; return an exit status."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    job = json.loads(sys.argv[1])
    outcome = build_sphinx(noconfig=True, use_external_toc=True, **job)
    return outcome if isinstance(outcome, int) else 1


def _end_with_parent() -> None:
    """End this process at once when the build that started it is gone and closes our stdin."""
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
