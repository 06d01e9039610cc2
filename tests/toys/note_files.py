"""A medium: notes, files of a line ``NOTE`` and lines of words, which a page shows as a list."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from markupsafe import Markup

from spa.media.medium import Content, Medium, MediumFiles
from spa.records.form import Exhibit


def lines_of(content: Content) -> list[str]:
    return [] if content.file is None else content.file.read_text(encoding="utf-8").splitlines()[1:]


def fits(path: Path) -> bool:
    return path.read_bytes().startswith(b"NOTE\n")


def media_type(path: Path) -> str:
    return "text/plain; charset=utf-8"


def shown(exhibit: Exhibit, address: Callable[[Exhibit], str]) -> Markup:
    items = Markup("").join(Markup("<li>{}</li>\n").format(line) for line in lines_of(exhibit))
    return Markup('<ul class="body">\n{}</ul>').format(items)


def sent(exhibit: Exhibit) -> tuple[str]:
    return ("\n".join(lines_of(exhibit)),)


def seconds(content: Content) -> float:
    return 0.5 * len(lines_of(content))


def least_seconds(content: Content, per_100_words: float) -> float:
    return 2.0


def on_dashboard(container: Any, path: Path) -> object:
    return container.code(path.read_text(encoding="utf-8"))


NOTE = Medium(
    key="note",
    one="a note",
    many="notes",
    read="read",
    titles={"en": "Comparing notes", "zh": "笔记比较", "ar": "مقارنة ملاحظات"},
    suffixes=(".note",),
    files=MediumFiles(formats="NOTE", fits=fits, media_type=media_type, on_dashboard=on_dashboard),
    shown=shown,
    collected=(Path(__file__).with_name("note_files.css"),),
    sent=sent,
    seconds=seconds,
    least_seconds=least_seconds,
)
