"""Open the built book as a real host would serve it: `python -m fuseshard.book.serve`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from tornado.web import Application, RedirectHandler, StaticFileHandler

DEFAULT_FOLDER = Path("book/_build/html")


class _Pages(StaticFileHandler):
    """Static files that a browser asks for again after each build."""

    def set_extra_headers(self, path: str) -> None:
        self.set_header("Cache-Control", "no-cache")


def make_app(folder: Path, base: str = "/") -> Application:
    """Make the server's application: gzip, and index.html for folders.

    Args:
        folder: the built site.
        base: path below which it is served, with a slash at both ends.
    """
    routes: list[tuple[str, type, dict[str, str]]] = [
        (rf"{base}(.*)", _Pages, {"path": str(folder), "default_filename": "index.html"})
    ]
    if base != "/":
        routes.append((r"/", RedirectHandler, {"url": base}))
    return Application(routes, compress_response=True)


async def serve(folder: Path, port: int, base: str) -> None:
    """Serve until the process is interrupted."""
    make_app(folder, base).listen(port, address="127.0.0.1")
    sys.stdout.write(f"the book: http://127.0.0.1:{port}{base} (Ctrl-C ends)\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main(arguments: list[str] | None = None) -> int:
    """Read the command line and serve; return an exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--base", default="/", help="path below which to serve, e.g. /fuse-shard/")
    options = parser.parse_args(arguments)
    if not (options.folder / "index.html").is_file():
        sys.stderr.write(f"{options.folder} has no index.html; build the book: make book\n")
        return 1
    base = "/" + options.base.strip("/") + "/" if options.base.strip("/") else "/"
    try:
        asyncio.run(serve(options.folder, options.port, base))
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        sys.stderr.write(
            f"port {options.port} can't be used ({error.strerror}); name another: "
            f".venv/bin/python -m fuseshard.book.serve --port {options.port + 1}\n"
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
