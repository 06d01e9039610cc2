"""The report for a reader with little time, and the appendix that it links to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.printing.document import (
    Block,
    Document,
    Figure,
    Fold,
    Heading,
    Link,
    Links,
    Section,
    Table,
    Terms,
    every_block,
    named,
    whole,
)
from analysis.printing.words import plural

REPORT, APPENDIX = "report", "appendix"  # stems of the files
LONGEST = 20  # rows of a table that the report shows whole
SHOWN = 12  # rows that it shows of a longer one
COLUMNS = Section(id="columns", title="What the columns mean")
FURTHER: dict[str, tuple[str, ...]] = {  # sections of the report, each with the sections of the appendix that say more
    "answer": ("strengths", "circles", "camps", "comparison"),
    "asked": ("interview",),
    "preregistration": (),
    "excluded": (),
    "preferences": ("preference-checks",),
    "spans": (),
    "ratings": ("robustness", "agreement", "rating-details", "serial-context", "shares", "identical-pairs"),
    "listening": (),
    "choices": ("third-systems",),
    "both-orders": (),
    "orders": (),
    "best-worst": (),
    "utilities": (),
    "held-constant": (),
    "expected": (),
    "metrics": (),
    "juries": (),
    "self-preference": (),
    "examples": (),
    "raters": ("calibration", "explanations", "exploration", "contamination"),
    "audit": (),
    "llm-vs-people": ("correlations",),
    "warnings": (),
    "settings": ("equivalence", "observed-power", "terms", "cite"),
}


def full_report(document: Document) -> Document:
    """Return one document of all sections, each with all that it says."""
    return replace(document, sections=tuple(whole(section) for section in document.sections))


def short_report(document: Document) -> Document:
    """Return the sections of the report alone, long tables cut, with links to the appendix."""
    sections = [section for section in document.sections if section.id in FURTHER and section.blocks]
    elsewhere = {section.id: section for section in appendix(document).sections}
    linked = {name for section in sections for name in FURTHER[section.id]}
    shown = []
    for section in sections:
        further = list(FURTHER[section.id])
        if section is sections[-1]:
            here = {one.id for one in sections}
            further += [name for name in elsewhere if name not in {*linked, *here, COLUMNS.id}]
        links = [
            *_own_links(elsewhere.get(section.id)),
            *(Link(text=elsewhere[name].title, target=name, beside=True) for name in further if name in elsewhere),
        ]
        blocks = [part for block in section.blocks if not _tall(block) for part in _cut(block)]
        if any(isinstance(block, Table) and _explained(block) for block in every_block(blocks)):
            links.append(Link(text=COLUMNS.title, target=COLUMNS.id, beside=True))
        more = [Links(label="In the appendix:", items=tuple(links))] if links else []
        shown.append(replace(section, blocks=(*blocks, *more), appendix=()))
    return replace(document, sections=tuple(shown), beside=APPENDIX, explains_columns=False)


def appendix(document: Document) -> Document:
    """Return what the report leaves out: sections in full, the rest of sections, and long tables with all rows."""
    sections = [
        whole(section) if section.id not in FURTHER else replace(section, blocks=tuple(_left(section)), appendix=())
        for section in document.sections
    ]
    return replace(
        document,
        title=f"Appendix: {document.title}",
        sections=tuple(section for section in (*sections, _columns(document)) if section.blocks),
        beside=REPORT,
    )


def _explained(table: Table) -> list[tuple[str, str]]:
    return [(column.title, column.explanation) for column in table.columns if column.explanation]


def _columns(document: Document) -> Section:
    """Explain the columns of the tables that the report shows, each explanation once."""
    items: dict[tuple[str, str], str] = {}
    blocks = [block for section in document.sections if section.id in FURTHER for block in every_block(section.blocks)]
    for table in blocks:
        if isinstance(table, Table):
            for title, explanation in _explained(table):
                items.setdefault((title, explanation), table.caption)
    titles = [title for title, _ in items]
    terms = [
        (title if titles.count(title) == 1 else f"{title} ({caption})", explanation)
        for (title, explanation), caption in items.items()
    ]
    return replace(COLUMNS, blocks=(Terms(items=tuple(terms)),) if terms else ())


def _left(section: Section) -> Iterator[Block]:
    yield from (block for block in section.blocks if _tall(block))
    for block in every_block(section.blocks):
        if isinstance(block, Table) and len(block.rows) > LONGEST:
            yield Fold(summary=f"{block.caption}: all {plural(len(block.rows), 'row')}", blocks=(block,))
    yield from section.appendix


def _tall(block: Block) -> bool:
    """Say whether a block is a figure that had to be folded, which would fill a page."""
    return isinstance(block, Fold) and all(isinstance(inner, Figure) for inner in block.blocks)


def _own_links(rest: Section | None) -> Iterator[Link]:
    """Yield a link to each named block of the rest of a section; a heading stands for what follows it.

    A long table is linked as a file, where it is cut.
    """
    headed = False
    for place, block in enumerate(rest.blocks if rest else ()):
        headed = headed or isinstance(block, Heading)
        if rest and named(block) and not _linked(block) and (isinstance(block, Heading) or not headed):
            yield Link(text=named(block), target=f"{rest.id}.{place}", beside=True)


def _linked(block: Block) -> bool:
    """Say whether a block is the whole of a table that the report cuts, with a link to its file."""
    inner = block.blocks if isinstance(block, Fold) else ()
    return bool(inner) and all(isinstance(one, Table) and one.csv and len(one.rows) > LONGEST for one in inner)


def _cut(block: Block) -> list[Block]:
    """Return a table with the rows that matter most, in the order of the table, and where all of them are."""
    if isinstance(block, Fold):
        return [replace(block, blocks=tuple(part for inner in block.blocks for part in _cut(inner)))]
    if not isinstance(block, Table) or len(block.rows) <= LONGEST:
        return [block]
    weights = block.weights or tuple(float(place) for place in range(len(block.rows)))
    places = sorted(sorted(range(len(weights)), key=lambda place: weights[place])[:SHOWN])
    which = f"those with {block.weighed_by}" if block.weights else "the first"
    count = f"{SHOWN} of {len(block.rows):,} rows: {which}."
    cut = replace(block, rows=tuple(block.rows[place] for place in places), weights=())
    if not block.csv:
        return [replace(cut, notes=(count, *block.notes))]
    file = f"tables/{block.csv}.csv"
    return [cut, Links(label=f"{count} All of them:", items=(Link(text=file, target=file),))]
