"""The cache of executed notebooks: jupyter-cache's, made safe against builds that were killed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.cache.db import NbCacheRecord
from nbformat import NotebookNode
from sqlalchemy.exc import SQLAlchemyError

from fuseshard.book.run.sources import Page


class Store:
    """Executed notebooks by the hash of their cells and key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cache = get_cache(str(folder))
        try:
            self._cache.list_cache_records()
        except (RuntimeError, SQLAlchemyError):  # jupyter-cache wraps some, not all
            # A build was killed while it made the database: there is nothing in it to lose.
            shutil.rmtree(folder)
            self._cache = get_cache(str(folder))

    def seconds(self, notebook: NotebookNode) -> float | None:
        """Return how long the notebook's execution took, or None if it isn't in the cache.

        A record whose file is missing or cut short, because a build was killed between writing
        the one and the other, is removed.
        """
        hash_ = self.hash_of(notebook)
        try:
            record = NbCacheRecord.record_from_hashkey(hash_, self._cache.db)
        except KeyError:
            return None
        if not self._is_whole(hash_):
            self._remove(record)
            return None
        return float(record.data.get("execution_seconds", 0.0))

    def add(self, page: Page, seconds: float) -> None:
        """Keep an executed page."""
        bundle = CacheBundleIn(page.notebook, str(page.path), data={"execution_seconds": seconds})
        self._cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)

    def prune(self, notebooks: Iterable[NotebookNode]) -> int:
        """Remove all but the given notebooks; return how many were removed."""
        current = {self.hash_of(notebook) for notebook in notebooks}
        old = [r for r in self._cache.list_cache_records() if r.hashkey not in current]
        for record in old:
            self._remove(record)
        for folder in self.folder.glob("executed/*"):
            if folder.name not in current:  # files without a record: a killed build's
                shutil.rmtree(folder)
        return len(old)

    def hash_of(self, notebook: NotebookNode) -> str:
        """Return the hash under which jupyter-cache files the notebook."""
        return str(self._cache.create_hashed_notebook(notebook)[1])

    def _is_whole(self, hash_: str) -> bool:
        try:
            json.loads((self.folder / "executed" / hash_ / "base.ipynb").read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return True

    def _remove(self, record: NbCacheRecord) -> None:
        NbCacheRecord.remove_records([record.pk], self._cache.db)
        shutil.rmtree(self.folder / "executed" / record.hashkey, ignore_errors=True)
