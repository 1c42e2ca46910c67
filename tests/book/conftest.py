"""The toy book as fixtures: a fresh copy for a test to break, and one built site to look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.book.toybook import Project, Site


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A toy book that isn't built yet."""
    return Project.make(tmp_path / "toy")


@pytest.fixture
def small(project: Project) -> Project:
    """A toy book with one page of code."""
    project.drop_page("part/outputs")
    project.replace_in_both("index", "](part/outputs.md)", "](part/boxes.md)")
    return project


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """The toy book, built once with an address and with warnings as errors."""
    folder = tmp_path_factory.mktemp("site") / "toy"
    project = Project.make(folder, fuseshard_site_url="https://example.org/toy/")
    return Site(project, project.build("-W"))
