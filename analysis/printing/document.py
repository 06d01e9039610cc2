"""What a report is made of, before it becomes HTML, Markdown or LaTeX.

All texts are plain: each renderer escapes them for its own format, in one place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

Results: TypeAlias = Any  # results.json as it is read
Tone = Literal["plain", "clear", "even", "untested"]
REMEMBERED = 2**14  # texts that a renderer escapes once: most cells say what others say too


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: its title, and one line that a reader from outside the field understands."""

    title: str
    explanation: str = ""
    numeric: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One field of a table. ``known`` is false where there is no value to show."""

    text: str
    detail: str = ""  # a second, smaller line
    brief: str = ""  # what a narrow printed column says instead
    tone: Tone = "plain"
    known: bool = True
    quoted: bool = False  # text of the study, which may run from right to left


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with a caption; the first column heads its rows."""

    name: str  # stem of the LaTeX file; unique within the document
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    csv: str = ""  # stem of the file that holds all rows in full precision
    weights: tuple[float, ...] = ()  # of the rows, where some matter more: the lower, the more
    weighed_by: str = ""  # what the lowest weights are, as "the smallest adjusted p"
    units: str = ""  # what a caption adds in a paper, where that is not all who answered: how many of what
    tested: str = ""  # the same, where tests have a level or correction of their own

    def __post_init__(self) -> None:
        """Refuse a row that does not fill the columns."""
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.name!r}: every row must have {len(self.columns)} cells")
        if len(self.weights) not in (0, len(self.rows)):
            raise ValueError(f"table {self.name!r}: expected a weight for each row, got {len(self.weights)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """A heading below the section's own."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Paragraph:
    """Running text; ``weight`` says whether it is the headline, normal, or a warning.

    ``quoted``: words of a rater or of the study, which may run from right to left.
    """

    text: str
    weight: Literal["headline", "normal", "warning"] = "normal"
    quoted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Bullets:
    """A plain list."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """A list of terms, each with its explanation."""

    items: tuple[tuple[str, str | tuple[Link, ...]], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A vector figure with a caption and the words that stand in for it."""

    name: str  # stem of the SVG file
    svg: str
    caption: str
    alternative: str
    units: str = ""  # what a caption adds in a paper, where it stands far from its section: how many of what
    # draws it with the ``look`` of a paper; absent: on screen alone
    drawing: Callable[..., str] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """Text to copy as it stands."""

    text: str
    language: str = ""


OutputPlace = tuple[str, str, int]  # item, system and sample
Thumbnails = Callable[[OutputPlace], Sequence[str]]  # small pictures of an output, as addresses that hold them


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Blocks that a reader opens on demand, and the outputs that they are ``about``."""

    summary: str
    blocks: tuple[Block, ...]
    about: tuple[OutputPlace, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A place to read on: a section's id, with ".2" for its third block, or a file of the report by its path."""

    text: str
    target: str
    beside: bool = False  # in the document beside this one, even where this one has such a section


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Places to read on, after what they have in common."""

    label: str
    items: tuple[Link, ...]


Block: TypeAlias = Links | Heading | Paragraph | Bullets | Terms | Table | Figure | Code | Fold


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of the report with its own heading and place in the contents.

    ``blocks`` are for a reader with little time; ``appendix`` goes to a document of its own.
    """

    id: str
    title: str
    blocks: tuple[Block, ...] = ()
    appendix: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The report, or one of its parts; renderers show the ``blocks`` of the sections."""

    title: str
    subtitle: str
    language: str
    sections: tuple[Section, ...]
    beside: str = ""  # stem of the document that holds the sections linked to and not held here
    explains_columns: bool = True  # under each table; else the document beside this one does

    def address(self, link: Link, suffix: str) -> str:
        """Return where a link leads from this document, written with a suffix; nothing where the place is unknown."""
        if "/" in link.target:
            return link.target
        if not link.beside and any(section.id == link.target.partition(".")[0] for section in self.sections):
            return f"#{link.target}"
        return f"{self.beside}{suffix}#{link.target}" if self.beside else ""


SectionMaker: TypeAlias = Callable[[Results], Section | None]


def whole(section: Section) -> Section:
    """Return a section with all that it says in one."""
    return replace(section, blocks=(*section.blocks, *section.appendix), appendix=())


def named(block: Block) -> str:
    """Return the words by which a block can be linked to; nothing for those that have none."""
    match block:
        case Heading():
            return block.text
        case Fold():
            return block.summary
        case Table():
            return block.caption
    return ""


def every_block(blocks: Sequence[Block]) -> list[Block]:
    """Return all blocks in reading order, those inside folds included."""
    found: list[Block] = []
    for block in blocks:
        found.append(block)
        if isinstance(block, Fold):
            found.extend(every_block(block.blocks))
    return found


def legends(sections: Sequence[Section], *, columns: bool = True) -> dict[str, tuple[str, ...]]:
    """Return what is to be read under each table: explanations of its columns and its notes.

    Within a section each line is said once, under the first table that needs it.

    Parameters
    ----------
    columns : bool
        False leaves out the explanations of columns.

    Returns
    -------
    dict of str to tuple of str
        Lines by the table's name.
    """
    found: dict[str, tuple[str, ...]] = {}
    for section in sections:
        shown: set[str] = set()
        for block in every_block(section.blocks):
            if isinstance(block, Table):
                titles = [column for column in block.columns if columns and column.explanation]
                lines = [f"{column.title}: {column.explanation}" for column in titles]
                fresh = [line for line in lines if line not in shown]
                notes = [note for note in block.notes if note not in shown]
                shown.update(lines, block.notes)
                found[block.name] = (*([f"{'; '.join(fresh)}."] if fresh else []), *notes)
    return found


def build_table(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[Cell]],
    notes: Sequence[str] = (),
    constant: Sequence[str] = (),
    **more: Any,
) -> Table:
    """Make a table without the columns that hold nothing.

    Parameters
    ----------
    constant : sequence of str
        Titles of columns that are left out as well where every row says the same,
        because the caption or the section already says it.
    more
        Further fields of :class:`Table`.
    """
    kept = [
        position
        for position, column in enumerate(columns)
        if not rows
        or (
            any(row[position].known for row in rows)
            and not (column.title in constant and len({row[position].text for row in rows}) == 1)
        )
    ]
    return Table(
        name=name,
        caption=caption,
        columns=tuple(columns[position] for position in kept),
        rows=tuple(tuple(row[position] for position in kept) for row in rows),
        notes=tuple(notes),
        **more,
    )
