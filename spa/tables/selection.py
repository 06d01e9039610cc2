"""What the options make of a file's rows: which columns it must be asked for, which rows stay."""

from __future__ import annotations

from dataclasses import replace

from spa.tables.options import TableOptions
from spa.tables.source import Source, Wanted


def needed(wanted: Wanted, options: TableOptions) -> Wanted:
    """Return what is to be asked of the file itself: the sources of the wanted columns, too."""
    old = {old for old, new in options.mapping.items() if new in wanted.columns}
    return replace(wanted, columns=wanted.columns | old)


def arranged(source: Source, wanted: Wanted, options: TableOptions) -> Source:
    """Return the source with the rows and columns that the options make of it."""
    return source
