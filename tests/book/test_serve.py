"""The server of `make serve`, over real HTTP; oracle: the files of a folder made here."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tornado.testing import AsyncHTTPTestCase
from tornado.web import Application

from fuseshard.book.serve import main, make_app

PAGE = "<!doctype html><title>page</title>" + "text " * 500


class TestServer(AsyncHTTPTestCase):
    """Below a path, as a project's pages on a host are."""

    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        for name in ("index.html", "es/index.html"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(PAGE, "utf-8")
        (tmp_path.parent / "secret").write_text("x", "utf-8")
        self.folder = tmp_path

    def get_app(self) -> Application:
        return make_app(self.folder, "/toy/")

    def test_pages_are_compressed(self) -> None:
        answer = self.fetch(
            "/toy/index.html", headers={"Accept-Encoding": "gzip"}, decompress_response=False
        )
        assert answer.headers["Content-Encoding"] == "gzip"
        assert gzip.decompress(answer.body).decode() == PAGE

    def test_a_folder_shows_its_index(self) -> None:
        for path in ("/toy/", "/toy/es/", "/"):
            assert self.fetch(path).body.decode() == PAGE

    def test_nothing_outside_the_folder_is_served(self) -> None:
        assert self.fetch("/toy/none.html").code == 404
        assert self.fetch("/toy/%2e%2e/secret").code in (403, 404)


def test_without_a_book_it_says_how_to_build_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path)]) == 1
    assert "has no index.html; build the book: make book" in capsys.readouterr().err
