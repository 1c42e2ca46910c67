"""One store and one set of workers for the experiments on GPU code."""

import tempfile
from collections.abc import Iterator

import pytest

from fuseshard.compiler.described.targets import target
from fuseshard.compiler.gpu_code.store import shared_store
from fuseshard.compiler.gpu_code.worker.workers import interpreter, writer


@pytest.fixture(scope="package", autouse=True)
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Begin with an empty store, and leave no worker behind."""
    folder = tmp_path_factory.mktemp("temporary")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(folder))
        shared_store.cache_clear()
        yield
    shared_store.cache_clear()
    for worker in (writer(target("h200")), writer(target("mi300x")), interpreter()):
        worker.close()
