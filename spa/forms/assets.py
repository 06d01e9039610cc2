"""The style sheet and the script of the pages, named by a hash of their content."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from spa import widgets
from spa.media import all_media

SCRIPT = "text/javascript; charset=utf-8"
STYLE = "text/css; charset=utf-8"
FONT = "font/woff2"
OF_ALL_PAGES = {"form.css": STYLE, "form.js": SCRIPT, "connection.js": SCRIPT}  # name -> media type


def media_types() -> dict[str, str]:
    """Return the files that pages link to, each with its media type."""
    scripts = {widget.script: SCRIPT for widget in widgets.WIDGETS if widget.script is not None}
    return {**OF_ALL_PAGES, **scripts, **dict.fromkeys(_fonts(), FONT)}


def asset_content(name: str) -> bytes:
    """Return a file that pages or their style sheet link to."""
    font = _fonts().get(name)
    return asset_text(name).encode() if font is None else font.read_bytes()


def inline_style() -> str:
    """Return the style sheet for a page that stands alone: without fonts, which lie beside it elsewhere."""
    return re.sub(r"@font-face \{[^}]*\}\n", "", asset_text("form.css"))


def _fonts() -> dict[str, Path]:
    return {path.name: path for medium in all_media() for path in medium.fonts}


@cache
def common_style() -> str:
    """Return the colours and basics that every style sheet begins with, also those of other sites."""
    return _read("common.css")


@cache
def asset_text(name: str) -> str:
    """Return a file that pages link to, with what media and widgets add to it."""
    if name not in OF_ALL_PAGES:
        return next(widget.text_of(name) for widget in widgets.WIDGETS if widget.script == name)
    text = _read(name)
    suffix = name[name.index(".") :]
    if name.startswith("form."):
        parts = [(path.name, path.read_text(encoding="utf-8")) for one in all_media() for path in one.collected]
        parts += [(part, widget.text_of(part)) for widget in widgets.WIDGETS for part in widget.collected]
        for part, content in parts:
            if part.endswith(suffix):
                text = _with_part(text, part, content)
        for font in _fonts():
            text = text.replace(f'url("{font}")', f'url("{asset_name(font)}")')
    return common_style() + text if suffix == ".css" else text


def _with_part(text: str, name: str, part: str) -> str:
    """Put a part in the place of the line that imports it; at the end where there is none."""
    line = f'@import "{name}";\n' if name.endswith(".css") else f'import "./{name}";\n'
    return text.replace(line, part) if line in text else text + part


@cache
def asset_name(name: str) -> str:
    """Return the name under which a file is served; a new content has a new name, so browsers may keep it for ever."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(asset_content(name)).hexdigest()[:12]}.{suffix}"


def _read(name: str) -> str:
    return (files("spa.forms") / "templates" / name).read_text(encoding="utf-8")
