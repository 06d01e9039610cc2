"""Why no study can be made of tables, and what to do, in one line."""

from __future__ import annotations

import shlex

from spa.errors import shortened
from spa.starting.found import names_listed
from spa.starting.input_rows import FILE, LINE, NamedColumns, SheetRows, joined, varies
from spa.starting.names import place_in
from spa.starting.roles import ENOUGH, is_other, items_in, outputs_in
from spa.study.output_files import display_files


def why_no_study(rows: SheetRows, given: NamedColumns) -> str:
    """Say why no study can be made of the files, and what to do."""
    place = display_files(sheet.file for sheet in rows.sheets)
    if one_sheet := next((note for note in rows.notes if "read from the sheet" in note), None):
        place = f"{one_sheet} (--sheet)"
    names = names_listed(rows.names) or "none"
    names += f"; not read: {names_listed(unread)}" if (unread := rows.unread) else ""
    outputs = outputs_in(rows, given)
    if given.output is not None and not rows.column(given.output).filled:
        return (
            f"{place}: expected outputs in {shortened(given.output)}, got empty cells; name another column (--output)"
        )
    if not outputs:
        empty = [name for name in rows.names if not rows.column(name).filled]
        got = f"empty cells in {names_listed(empty)}" if empty else f"only numbers, ids or prompts ({names})"
        usual = [name for name in rows.names if place_in("output", name) is not None and rows.column(name).filled]
        do = f"name it with --output{''.join(f' {shlex.quote(name)}' for name in usual[:1])}{_columns_as_systems(rows)}"
        return f"{place}: expected a column with the systems' outputs as texts, got {got}; {do}"
    if rows.height > 1 and rows.column(outputs[0]).distinct == 1 and len(rows.column(outputs[0]).filled) == rows.height:
        text = shortened(rows.column(outputs[0]).filled[0], 80)
        return f"{place}: expected outputs that differ, got one text in every row of {shortened(outputs[0])} ({text})"
    if _are_alike(rows, given, outputs[0]):
        column = shortened(outputs[0])
        return f"{place}: expected outputs that differ, got one text of all systems for each item in {column}; check it"
    known = [name for name in rows.names if place_in("system", name) is not None and rows.column(name).filled]
    systems = [*(given.systems or known)[:1]]
    if systems and rows.column(systems[0]).distinct == 1:
        only = shortened(rows.column(systems[0]).filled[0], 40)
        return (
            f"{place}: expected outputs of two systems or more, got one ({systems[0]} is {only} in every row); "
            "give the other systems' files, too"
        )
    if systems and rows.column(systems[0]).distinct > 1:
        item = given.item or "none of the columns"
        return (
            f"{place}: expected items that two systems answer, got none: {item} joins rows of different "
            f"{systems[0]} ({names}); name the column that they share with --item"
        )
    if len(rows.sheets) > 1:
        return (
            f"{place}: expected the same items in each system's file, got none in common{_first_names(rows, given)}; "
            f"name the column that they share with --item, of {shortened(names, 120)}"
        )
    if given.systems:
        return (
            f"{place}: expected items that two systems answer, got none by {', '.join(given.systems)}; name the column "
            f"of the items with --item, of {names}"
        )
    return (
        f"{place}: expected outputs of two systems or more, got one column of texts ({outputs[0]}) and none that names "
        f"a system; name it with --system, or give a file for each system{_columns_as_systems(rows)}"
    )


def _first_names(rows: SheetRows, given: NamedColumns) -> str:
    """Say how the items of two files are called, where a column of all files names them."""
    usual = [name for name in rows.names if given.item == name or place_in("item", name) is not None]
    column = next((name for name in usual if all(name in sheet.columns for sheet in rows.sheets)), None)
    if column is None:
        return ""
    said = (
        f"{shortened(str(sheet.cells(column)[0]), 30)} in {shortened(sheet.file.name, 40)}" for sheet in rows.sheets[:2]
    )
    return f" ({column} begins with {', '.join(said)})"


def _are_alike(rows: SheetRows, given: NamedColumns, output: str) -> bool:
    """Return whether a column of items joins rows of several files or systems, all with the same text."""
    known = [name for name in rows.names if place_in("system", name) is not None]
    texts = rows.identified(output)
    for system in given.systems[:1] or (*known, FILE):
        for item in items_in(rows, given, (output, system)):
            items = rows.identified(item)
            joins = item != LINE and joined(rows.identified(system), items, texts).share > ENOUGH
            if joins and varies(items, texts) == 0.0:
                return True
    return False


def _columns_as_systems(rows: SheetRows) -> str:
    """Say how columns are named that are systems, of those whose names say nothing else."""
    free = [name for name in rows.names if rows.column(name).filled and not is_other(name)]
    words = " ".join(f"--system {shlex.quote(shortened(name, 40))}" for name in free[:4])
    return f"; if columns are systems: {words}" if len(free) > 1 else ""
