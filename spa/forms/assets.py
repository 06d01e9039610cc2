"""The style sheet and the script of the pages, named by a hash of their content."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

SCRIPT = "text/javascript; charset=utf-8"
ASSETS = {  # name -> media type
    "form.css": "text/css; charset=utf-8",
    "form.js": SCRIPT,
    "spans.js": SCRIPT,
    "connection.js": SCRIPT,
}


@cache
def common_style() -> str:
    """Return the colours and basics that every style sheet begins with, also those of other sites."""
    return _read("common.css")


@cache
def asset_text(name: str) -> str:
    """Return a file that pages link to."""
    return common_style() + _read(name) if name.endswith(".css") else _read(name)


@cache
def asset_name(name: str) -> str:
    """Return the name under which a file is served; a new content has a new name, so browsers may keep it for ever."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(asset_text(name).encode()).hexdigest()[:12]}.{suffix}"


def _read(name: str) -> str:
    return (files("spa.forms") / "templates" / name).read_text(encoding="utf-8")
