"""What `_config.yml` can set under `sphinx: config:`, declared once and checked once."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import Field, dataclass, field, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

from fuseshard.book.messages import Subtype, warn

PREFIX = "fuseshard_"
PACKAGE = Path(str(files("fuseshard")))

Check = Callable[[Any], bool]


def _option(allowed: str, check: Check, rebuild: str = "env") -> dict[str, Any]:
    return {"allowed": allowed, "check": check, "rebuild": rebuild}


def _is_url(value: Any) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"(https?://\S+/)?", value))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and v.isidentifier() for v in value)


def _is_seconds(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


@dataclass(frozen=True, kw_only=True)
class BookConfig:
    """The extension's options."""

    site_url: str = field(
        default="", metadata=_option("'' or an http(s) URL that ends in /", _is_url, "html")
    )
    """where the built book is published; '' lets `address.py` find out"""
    locale_path: str = field(default="", metadata=_option("'' or a folder", _is_text))
    """folder of the catalogs, relative to the book; '' is the package's own"""
    packages: list[str] = field(
        default_factory=lambda: ["fuseshard"],
        metadata=_option("a list of Python package names", _is_names),
    )
    """packages whose source is part of what a page's outputs depend on"""
    start_timeout: int = field(
        default=120, metadata=_option("a whole number of seconds above 0", _is_seconds, "")
    )
    """seconds that a kernel may take to start"""
    edition: str = field(default="", metadata=_option("set by the build itself", _is_text))
    """language that this process builds; '' is the root edition"""
    english_dir: str = field(default="", metadata=_option("set by the build itself", _is_text, ""))
    """folder of the root edition's chapters, when this process builds another one"""
    published_url: str = field(
        default="", metadata=_option("set by the build itself", _is_url, "html")
    )
    """address of the root edition, when this process builds another one"""
    report: str = field(default="", metadata=_option("set by the build itself", _is_text, ""))
    """file to which another edition's process writes its timings"""
    render_key: str = field(default="", metadata=_option("set by the build itself", _is_text))
    """digest of all that renders a page; Sphinx reads every page again when it changes"""

    @property
    def is_root(self) -> bool:
        """Whether this process builds the English edition at the site's root."""
        return not self.edition


def book_config(config: Config) -> BookConfig:
    """Return the extension's options as one object; other modules read them only through it."""
    return BookConfig(**{option.name: config[PREFIX + option.name] for option in _options()})


def chapters_dir(app: Sphinx) -> Path:
    """Return the folder of the root edition's chapters, which holds those of all others."""
    return Path(book_config(app.config).english_dir or app.srcdir)


def locale_dir(app: Sphinx) -> Path:
    """Return the folder that holds one folder of catalogs for each language."""
    given = book_config(app.config).locale_path
    return (chapters_dir(app) / given).resolve() if given else PACKAGE / "locale"


def setup_config(app: Sphinx) -> None:
    """Declare the options, and check them before anybody reads them."""
    for option in _options():
        app.add_config_value(PREFIX + option.name, _default(option), option.metadata["rebuild"])
    app.connect("config-inited", check_options, priority=100)  # event 1, before all our others


def check_options(app: Sphinx, config: Config) -> None:
    """Warn of each value that is not allowed, and put the default in its place."""
    for option in _options():
        value = config[PREFIX + option.name]
        if not option.metadata["check"](value):
            default = _default(option)
            warn(
                Subtype.CONFIG,
                f"{PREFIX}{option.name} is {value!r}, must be {option.metadata['allowed']}; "
                f"the default {default!r} is used; correct it in _config.yml",
            )
            config[PREFIX + option.name] = default


def _options() -> tuple[Field[Any], ...]:
    return fields(BookConfig)


def _default(option: Field[Any]) -> Any:
    return getattr(BookConfig(), option.name)
