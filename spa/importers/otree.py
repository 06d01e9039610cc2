"""oTree's exports, wide or of an app: demo sessions, bots and places that nobody opened leave by themselves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.errors import ResponseError
from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.tables import ImportedTables

PERSON, PAGE_INDEX, PLAYER = "participant.code", "participant._index_in_pages", "player.id_in_group"
NOT_PEOPLE = {  # column -> values of rows that are no answers, and what these are
    "session.is_demo": (("1", "True"), "of demo sessions"),
    "participant._is_bot": (("1", "True"), "of bots"),
    "participant.visited": (("0", "False"), "of places that nobody opened"),
}


def _recognise(path: Path) -> Fit:
    """By columns that oTree alone writes."""
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    return Fit.CERTAIN if PERSON in names and {PAGE_INDEX, PLAYER} & names else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.csv.pairs import wide_mapping
    from spa.importers.csv.sheets import files_of
    from spa.importers.csv.wide import read_wide
    from spa.importers.foreign_rows import read_rows
    from spa.importers.mapping import mapping_place

    pages = request.options.get("page_times")
    apart = (mapping_place(request), pages)
    files = files_of(request.paths, apart=tuple(one for one in apart if one is not None))
    mapping, path = wide_mapping(request, ("item_id",), files)
    rows = [row for one in files for row in read_rows(one)]
    drop, left = dict(mapping.drop), rows
    for column, (values, what) in NOT_PEOPLE.items():
        if column in mapping.keep or column in mapping.drop:
            continue
        there = Counter(row.text(column) for row in left)
        drop[column] = tuple(value for value in values if value in there)
        left = [row for row in left if row.text(column) not in values]
        if not drop[column]:
            del drop[column]
        elif not left:
            raise ResponseError(
                f"{files[0]}: expected rows of people, got {sum(there.values())} {what}; to count them say in the "
                f'mapping keep = {{ "{column}" = ["{drop[column][0]}"] }}'
            )
    update = {"drop": drop, "annotator": mapping.annotator or PERSON}
    if pages is not None:
        update["page_times"] = str(pages.resolve())
    made = read_wide(files, mapping.model_copy(update=update), path)
    called = {f"{column} {value}": f"rows {what}" for column, (values, what) in NOT_PEOPLE.items() for value in values}
    skipped: Counter[str] = Counter()
    for what, n in made.skipped.items():
        skipped[called.get(what, what)] += n
    return replace(made, skipped=dict(skipped))


FORMAT = AnswerFormat(
    key="otree",
    description="Read an export of oTree, wide or of one app.\n\n"
    "Demo sessions, bots and places that nobody opened are left out. With --page-times what oTree filled in when a "
    "page's time ran out is missing. Keys of the mapping are those of `spa import csv`; annotator is participant.code.",
    example="spa import otree all_apps_wide.csv --page-times PageTimes.csv --mapping import.toml --out tables",
    mapping="TOML file: what the columns mean.",
    options=(
        click.Option(
            ["--page-times"],
            type=click.Path(path_type=Path),
            help="oTree's export of page times.",
        ),
    ),
    meaning=FileMeaning(
        missing="an empty cell; with page times, 0 on a page whose time ran out",
        left_out="session.is_demo, participant._is_bot, participant.visited 0",
        seen="oTree 6.0.15",
        source="https://otree.readthedocs.io/en/latest/admin.html",
    ),
    recognise=_recognise,
    read=_read,
)
