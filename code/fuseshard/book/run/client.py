"""Execute a page's cells once, and say exactly what went wrong where."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any

from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

from fuseshard.book.messages import BookError, Subtype
from fuseshard.book.run.kernel import make_manager
from fuseshard.book.run.sources import Cell, Page

STDERR_TAGS = {"remove-stderr", "allow-stderr"}
"""tags of cells that may write to stderr: hidden on the page, or shown on purpose"""

FOLDERS = "fuseshard-page-"
"""what the names of the folders start with in which pages run; the build's process id follows"""

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_FRAME = re.compile(r"Cell In\[(\d+)\], line (\d+)")
_RULE = "-" * 75
"""what IPython prints above a traceback, below nbclient's copy of the cell"""
_TRACEBACK_LINES = 25


class _Client(NotebookClient):
    """nbclient's, with our kernel, and a memory of the cell that runs."""

    folder = Path()
    running: int | None = None
    exit_code: int | None = None
    interrupted = False

    def create_kernel_manager(self) -> KernelManager:
        self.km = make_manager(self.folder)
        return self.km

    async def async_execute_cell(
        self, cell: NotebookNode, cell_index: int, *args: Any, **kwargs: Any
    ) -> NotebookNode:
        self.running = cell_index
        return await super().async_execute_cell(cell, cell_index, *args, **kwargs)

    async def _async_cleanup_kernel(self) -> None:
        provisioner = self.km.provisioner if self.km else None
        if provisioner is not None and provisioner.has_process:
            self.exit_code = await provisioner.poll()
        await super()._async_cleanup_kernel()


def run_page(page: Page, *, timeout: int | None, start_timeout: int) -> float:
    """Execute the page's notebook in place, in an empty folder of its own.

    Args:
        page: outputs are put into its notebook.
        timeout: seconds that one cell may take; None or a number below 0 sets no limit.
        start_timeout: seconds that the kernel may take to start.

    Returns:
        seconds taken, start of the kernel included.

    Raises:
        BookError: a cell raised, wrote to stderr or took too long, or the kernel died.
        KeyboardInterrupt: the build was interrupted.
    """
    started = time.perf_counter()
    if page.cells:
        remove_left_folders()
        with TemporaryDirectory(prefix=f"{FOLDERS}{os.getpid()}-") as folder:
            _execute(page, Path(folder), timeout, start_timeout)
    refuse_stderr(page)
    return time.perf_counter() - started


def remove_left_folders() -> None:
    """Remove the folders of builds that were killed before they could."""
    for folder in Path(gettempdir()).glob(f"{FOLDERS}*"):
        owner = folder.name.removeprefix(FOLDERS).partition("-")[0]
        if owner.isdigit() and not _is_alive(int(owner)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


def _execute(page: Page, folder: Path, timeout: int | None, start_timeout: int) -> None:
    work = folder / "work"
    work.mkdir()
    # Without timing: it would enter the cells' metadata, which the cache hashes.
    client = _Client(
        page.notebook, timeout=timeout, startup_timeout=start_timeout, record_timing=False
    )
    client.folder = folder
    try:
        client.execute(cwd=str(work))
    except CellExecutionError as error:
        raise _raised(page, client, error) from None
    except CellTimeoutError:
        cell = _running(page, client)
        raise BookError(
            Subtype.CELL,
            f"the code cell took longer than {timeout} s; make it shorter, or raise "
            "`execute: timeout:` in _config.yml (`jb` stopped its kernel)",
            f"{page.name}:{cell.line}",
        ) from None
    except DeadKernelError:
        # nbclient turns an interrupt into the death of the kernel that it stops.
        if hasattr(client, "_async_cleanup_kernel_future"):
            raise KeyboardInterrupt from None
        raise _died(page, client) from None


def _running(page: Page, client: _Client) -> Cell:
    cells = {cell.index: cell for cell in page.cells}
    return cells.get(client.running or 0, page.cells[0])


def _raised(page: Page, client: _Client, error: CellExecutionError) -> BookError:
    cell = _running(page, client)
    traceback = _ANSI.sub("", error.traceback).rpartition(_RULE)[2].rstrip().splitlines()
    number = page.cells.index(cell) + 1
    frames = [int(n) for i, n in _FRAME.findall("\n".join(traceback)) if int(i) == number]
    line = cell.line + (frames[-1] - 1 if frames else 0)
    what = f"{error.ename}: {_ANSI.sub('', error.evalue)}".rstrip(": ")
    shown = "\n".join("    " + text for text in traceback[-_TRACEBACK_LINES:])
    return BookError(
        Subtype.CELL,
        f"code cell {number} (line {cell.line}) raised {what}\n{shown}\n",
        f"{page.name}:{line}",
    )


def _died(page: Page, client: _Client) -> BookError:
    cell = _running(page, client)
    code = client.exit_code
    how = "" if code is None else f" by signal {-code}" if code < 0 else f" with status {code}"
    return BookError(
        Subtype.CELL,
        f"DeadKernelError: the kernel ended{how} while code cell {page.cells.index(cell) + 1} "
        "ran (a crash in native code, no memory left, or os._exit); run the page's cells in a "
        "terminal to see more",
        f"{page.name}:{cell.line}",
    )


def refuse_stderr(page: Page) -> None:
    """Refuse outputs on stderr: warnings are to be mended, not printed on a page.

    Raises:
        BookError: names the cell and shows the text.
    """
    for cell in page.cells:
        if STDERR_TAGS & set(cell.metadata.get("tags", [])):
            continue
        outputs = page.notebook.cells[cell.index].outputs
        text = "".join(o.text for o in outputs if o.get("name") == "stderr")
        if text.strip():
            shown = "\n".join("    " + line for line in text.rstrip().splitlines()[:10])
            raise BookError(
                Subtype.CELL,
                "the code cell wrote to stderr; mend what it warns of, or, if readers are to "
                f"see it, tag the cell `allow-stderr`\n{shown}\n",
                f"{page.name}:{cell.line}",
            )
