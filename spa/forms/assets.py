"""The style sheet and the script of the pages, named by a hash of their content."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from spa import widgets
from spa.media import all_media, mathematics
from spa.media.medium import Medium
from spa.widgets import Widget

SCRIPT = "text/javascript; charset=utf-8"
STYLE = "text/css; charset=utf-8"
FONT = "font/woff2"
FACE = re.compile(r"@font-face \{[^}]*\}\n")
OF_ALL_PAGES = {
    "form.css": STYLE,
    "form.js": SCRIPT,
    "connection.js": SCRIPT,
    "conduct.js": SCRIPT,
}  # name -> media type


def media_types() -> dict[str, str]:
    """Return the files that pages link to, each with its media type."""
    scripts = {widget.script: SCRIPT for widget in widgets.WIDGETS if widget.script is not None}
    return {**OF_ALL_PAGES, **scripts, **dict.fromkeys(_players(), SCRIPT), **dict.fromkeys(_fonts(), FONT)}


def asset_content(name: str) -> bytes:
    """Return a file that pages or their style sheet link to."""
    font = _fonts().get(name)
    return asset_text(name).encode() if font is None else font.read_bytes()


@cache
def inline_style(shown: frozenset[str], asked: frozenset[str] | None = None) -> str:
    """Return the style sheet for a page that stands alone, as HITs have it, which may be no larger than so much.

    It has what the media that are ``shown`` and the widgets that are ``asked`` (None: all) add, by their keys, and no
    fonts (see ``inline_fonts``).
    """
    media = [one for one in all_media() if one.key in shown]
    used = [one for one in widgets.WIDGETS if asked is None or one.key in asked]
    text = common_style() + _with_parts(_read("form.css"), ".css", media, used)
    others = [path.name for one in all_media() for path in one.collected]
    for name in (*others, *(part for one in widgets.WIDGETS for part in one.collected)):
        text = text.replace(_import_of(name), "")
    return FACE.sub("", text)


def inline_fonts(html: str) -> str:
    """Return what the style sheet of a page that stands alone adds for formulas, if its HTML holds any."""
    return _face() if f"<{mathematics.ELEMENT} " in html else ""


@cache
def _face() -> str:
    """Return the rule that names the font of formulas, with its few signs in the place of its address."""
    address = f"data:{FONT};base64,{base64.b64encode(mathematics.SIGNS.read_bytes()).decode('ascii')}"
    sheets = {path for one in all_media() for path in one.collected if path.suffix == ".css"}
    named = f'url("{mathematics.WHOLE.name}")'
    rule: str = next(
        rule for path in sheets for rule in FACE.findall(path.read_text(encoding="utf-8")) if named in rule
    )
    return rule.replace(named, f'url("{address}")')


def _players() -> dict[str, Path]:
    """Return the scripts of media, each linked to by the pages that show them."""
    return {medium.script.name: medium.script for medium in all_media() if medium.script is not None}


def _fonts() -> dict[str, Path]:
    return {path.name: path for medium in all_media() for path in medium.fonts}


@cache
def common_style() -> str:
    """Return the colours and basics that every style sheet begins with, also those of other sites."""
    return _read("common.css")


@cache
def asset_text(name: str) -> str:
    """Return a file that pages link to, with what media and widgets add to it."""
    if name in (players := _players()):
        return players[name].read_text(encoding="utf-8")
    if name not in OF_ALL_PAGES:
        return next(widget.text_of(name) for widget in widgets.WIDGETS if widget.script == name)
    text = _read(name)
    suffix = name[name.index(".") :]
    if name.startswith("form."):
        text = _with_parts(text, suffix, all_media(), widgets.WIDGETS)
        for font in _fonts():
            text = text.replace(f'url("{font}")', f'url("{asset_name(font)}")')
    return common_style() + text if suffix == ".css" else text


def _with_parts(text: str, suffix: str, media: Iterable[Medium], used: Iterable[Widget[Any]]) -> str:
    """Put what media and widgets add in the place of the lines that import it; at the end where there are none."""
    paths = dict.fromkeys(path for one in media for path in one.collected)
    parts = [(path.name, path.read_text(encoding="utf-8")) for path in paths if path.suffix == suffix]
    named = [(widget, part) for widget in used for part in widget.collected if part.endswith(suffix)]
    for name, part in [*parts, *((part, widget.text_of(part)) for widget, part in named)]:
        line = _import_of(name)
        text = text.replace(line, part) if line in text else text + part
    return text


def _import_of(name: str) -> str:
    return f'@import "{name}";\n' if name.endswith(".css") else f'import "./{name}";\n'


@cache
def asset_name(name: str) -> str:
    """Return the name under which a file is served; a new content has a new name, so browsers may keep it for ever."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}.{hashlib.sha256(asset_content(name)).hexdigest()[:12]}.{suffix}"


def _read(name: str) -> str:
    return (files("spa.forms") / "templates" / name).read_text(encoding="utf-8")
