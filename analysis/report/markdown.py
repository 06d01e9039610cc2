"""The report as Markdown with pipe tables (GitHub's), figures as linked files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from analysis.printing.document import (
    REMEMBERED,
    Block,
    Bullets,
    Cell,
    Code,
    Document,
    Figure,
    Fold,
    Heading,
    Link,
    Links,
    Paragraph,
    Table,
    Terms,
    legends,
    named,
)

MEANT_BY_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|$~&!^])")
STARTS_A_LIST = re.compile(r"^(\d+)([.)])(?=\s)|^([-+=])(?=\s|$)")


@lru_cache(maxsize=REMEMBERED)
def escape(text: str) -> str:
    r"""Return text that Markdown shows letter by letter, on one line.

    >>> print(escape("<b> {{7*7}} | a_b"))
    \<b\> \{\{7\*7\}\} \| a\_b
    """
    line = MEANT_BY_MARKDOWN.sub(r"\\\1", " ".join(text.split()))
    return STARTS_A_LIST.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", line)


def render_markdown(document: Document) -> str:
    """Return the whole report; figures are expected in the folder ``figures``."""
    under = legends(document.sections, columns=document.explains_columns)
    linked = document.beside and document.explains_columns  # an appendix: the report links to its blocks
    parts = [f"# {escape(document.title)}"]
    if document.subtitle:
        parts.append(escape(document.subtitle))
    for section in document.sections:
        parts.append(f'<a id="{section.id}"></a>\n\n## {escape(section.title)}')
        for place, block in enumerate(section.blocks):
            anchor = f'<a id="{section.id}.{place}"></a>\n\n' if linked and named(block) else ""
            parts.append(f"{anchor}{_block(block, under, document)}")
    return "\n\n".join(parts) + "\n"


def _block(block: Block, under: dict[str, tuple[str, ...]], document: Document) -> str:
    match block:
        case Heading():
            return f"### {escape(block.text)}"
        case Paragraph(weight="normal"):
            return escape(block.text)
        case Paragraph():
            return f"**{escape(block.text)}**"
        case Bullets():
            return "\n".join(f"- {escape(item)}" for item in block.items)
        case Terms():
            lines = [
                (term, escape(text) if isinstance(text, str) else _links(text, document, " "))
                for term, text in block.items
            ]
            return "\n".join(f"- **{escape(term)}**{'' if term.endswith('?') else ':'} {text}" for term, text in lines)
        case Links():
            return f"{escape(block.label)} {_links(block.items, document, '; ')}"
        case Table():
            return "\n\n".join([_table(block), *(f"<sub>{escape(line)}</sub>" for line in under[block.name])])
        case Figure():
            return f"![{escape(block.alternative)}](figures/{block.name}.svg)\n\n{escape(block.caption)}"
        case Code():
            return f"```{block.language}\n{block.text}\n```"
        case Fold():
            inner = "\n\n".join(_block(inside, under, document) for inside in block.blocks)
            return f"<details><summary>{escape(block.summary)}</summary>\n\n{inner}\n\n</details>"


def _links(links: Sequence[Link], document: Document, between: str) -> str:
    places = [(escape(link.text), document.address(link, ".md")) for link in links]
    return between.join(f"[{text}](<{place}>)" if place else text for text, place in places)


def _table(table: Table) -> str:
    head = [escape(column.title) for column in table.columns]
    rule = ["---:" if column.numeric else ":---" for column in table.columns]
    rows = [[_cell(field) for field in row] for row in table.rows]
    lines = [f"| {' | '.join(fields)} |" for fields in (head, rule, *rows)]
    return f"**{escape(table.caption)}**\n\n" + "\n".join(lines)


def _cell(field: Cell) -> str:
    return escape(field.text) + (f"<br>{escape(field.detail)}" if field.detail else "")
