"""The report as one HTML file: no script, nothing from outside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from hashlib import sha256
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from analysis.printing.document import (
    REMEMBERED,
    Block,
    Cell,
    Column,
    Document,
    Fold,
    Table,
    Thumbnails,
    Tone,
    legends,
)

NAMES = ("report.html.j2", "some.html.j2", "blocks.html.j2")


@cache
def _environment() -> Environment:
    folder = files("analysis.report") / "templates"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in NAMES}
    environment = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["direction"] = _direction
    return environment


@cache
def _style() -> str:
    return (files("analysis.report") / "templates" / "report.css").read_text(encoding="utf-8")


def render_html(document: Document, thumbnails: Thumbnails | None = None) -> str:
    """Return the whole page; every text is escaped, only our own SVG and style go in as they are.

    With ``thumbnails`` small pictures of outputs stand beside what is said of them.
    """
    template, style = _environment().get_template("report.html.j2"), _style()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    loads = "" if thumbnails is None else "img-src data:; "
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; {loads}base-uri 'none'; form-action 'none'"
    return template.render(
        document=document,
        legends=legends(document.sections, columns=document.explains_columns),
        policy=policy,
        style=Markup(style),
        markup=Markup,
        rows_of=_rows,
        kind=_kind,
        address=lambda link: document.address(link, ".html"),
        pictures=partial(_pictures, thumbnails),
    )


def render_blocks(blocks: Sequence[Block], notes: Mapping[str, tuple[str, ...]]) -> str:
    """Return blocks as HTML to stand within a page of somebody else's; ``notes`` are those of :func:`legends`."""
    template = _environment().get_template("some.html.j2")
    return template.render(
        blocks=blocks,
        legends=notes,
        markup=Markup,
        rows_of=_rows,
        kind=_kind,
        address=lambda _: "",
        pictures=partial(_pictures, None),
    )


def _pictures(thumbnails: Thumbnails | None, fold: Fold) -> list[str]:
    """Return the addresses of small pictures of what is spoken of, each once."""
    found = () if thumbnails is None else (one for place in fold.about for one in thumbnails(place))
    return [*dict.fromkeys(one for one in found if one.startswith("data:image/"))]


def _kind(block: Block) -> str:
    return type(block).__name__


def _rows(table: Table) -> Markup:
    """Return the body of a table: by far the most of a page, and so not left to the template."""
    heads = ['th scope="row"', *(f'td data-label="{escape(column.title)}"' for column in table.columns[1:])]
    return Markup("".join(_table_row(heads, table.columns, row) for row in table.rows))


def _table_row(heads: Sequence[str], columns: tuple[Column, ...], row: tuple[Cell, ...]) -> str:
    fields = "".join(_field(*field) for field in zip(heads, columns, row, strict=True))
    return f"<tr>\n{fields}</tr>\n"


def _field(start: str, column: Column, field: Cell) -> str:
    direction = f" dir={_direction(field.text)}" if field.quoted else ""
    classes = _classes(column.numeric, field.tone, field.known)
    detail = f"<small>{_escaped(field.detail)}</small>" if field.detail else ""
    return f"<{start}{direction}{classes}>{_escaped(field.text)}{detail}</{start[:2]}>\n"


def _direction(text: str) -> str:
    """Return the direction of what somebody wrote: that of most of its letters."""
    if text.isascii():
        return "ltr" if any(map(str.isalpha, text)) else "auto"
    from spa.media.direction import direction_of  # loads the media, which few reports need

    return direction_of(text)


@cache
def _classes(numeric: bool, tone: Tone, known: bool) -> str:
    named = (("number", numeric), (tone, tone != "plain"), ("unknown", not known))
    classes = " ".join(name for name, holds in named if holds)
    return f' class="{classes}"' if classes else ""


@lru_cache(maxsize=REMEMBERED)
def _escaped(text: str) -> str:
    return str(escape(text))
