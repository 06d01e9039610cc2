"""The report as one HTML file: no script, nothing from outside."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup, escape

from analysis.report.document import Cell, Column, Document, Table, legends


@cache
def _parts() -> tuple[Template, str]:
    folder = files("analysis.report") / "templates"
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in ("report.html.j2", "blocks.html.j2")}
    environment = Environment(
        loader=DictLoader(texts), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.j2"), (folder / "report.css").read_text(encoding="utf-8")


def render_html(document: Document) -> str:
    """Return the whole page; every text is escaped, only our own SVG and style go in as they are."""
    template, style = _parts()
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return template.render(
        document=document,
        legends=legends(document.sections),
        policy=policy,
        style=Markup(style),
        markup=Markup,
        rows_of=_rows,
        kind=lambda block: type(block).__name__,
    )


def _rows(table: Table) -> Markup:
    """Return the body of a table: by far the most of a page, and so not left to the template."""
    return Markup("".join(_row(table.columns, row) for row in table.rows))


def _row(columns: tuple[Column, ...], row: tuple[Cell, ...]) -> str:
    fields = "".join(
        _field("td" if place else "th", column, field)
        for place, (column, field) in enumerate(zip(columns, row, strict=True))
    )
    return f"<tr>\n{fields}</tr>\n"


def _field(tag: str, column: Column, field: Cell) -> str:
    start = f'{tag} scope="row"' if tag == "th" else tag
    direction = " dir=auto" if field.quoted else ""
    classes = _classes(column, field)
    named = f' class="{escape(" ".join(classes))}"' if classes else ""
    detail = f"<small>{escape(field.detail)}</small>" if field.detail else ""
    return f"<{start}{direction}{named}>{escape(field.text)}{detail}</{tag}>\n"


def _classes(column: Column, field: Cell) -> list[str]:
    known = (("number", column.numeric), (field.tone, field.tone != "plain"), ("unknown", not field.known))
    return [name for name, holds in known if holds]
