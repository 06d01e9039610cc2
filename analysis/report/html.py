"""The report as one HTML file: no script, nothing from outside."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files

from jinja2 import DictLoader, Environment, StrictUndefined, Template
from markupsafe import Markup

from analysis.report.document import Cell, Column, Document, legends


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
        classes_of=_classes,
        kind=lambda block: type(block).__name__,
    )


def _classes(column: Column, field: Cell) -> list[str]:
    known = {"number": column.numeric, field.tone: field.tone != "plain", "unknown": not field.known}
    return [name for name, holds in known.items() if holds]
