"""Arena-Hard's judgments: two games of each question, a model and a baseline in both orders."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

KEYS = ("model", "judge", "games")
ITEMS = ("uid", "question_id")
PLACES = ("system_x", "system_y")


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    return Fit.CERTAIN if names.issuperset(KEYS) and not names.isdisjoint(ITEMS) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, read_rows
    from spa.importers.tables import ImportedTables

    files = files_below(request.paths, lambda path: _recognise(path) == Fit.CERTAIN, "files of judgments")
    rows: list[Row] = []
    kinds: Counter[str] = Counter()
    for path in files:
        for row in read_rows(path, KEYS):
            rows += _games(row, request.options.get("baseline"))
            kinds[row.text("category") or ""] += 1
    notes = ["each game is an answer, >> counts like >; Arena-Hard counts it three times"]
    if len(kinds) > 1:
        notes.append("categories: " + ", ".join(f"{count} of {name or 'none'}" for name, count in kinds.items()))
    return ImportedTables(rows={"choices": rows}, skipped={}, notes=tuple(notes))


def _games(row: ForeignRow, named: str | None) -> list[Row]:
    from spa.errors import ResponseError
    from spa.importers.foreign_files import shown

    item = next((text for name in ITEMS if (text := row.text(name)) is not None), None)
    baseline, model, games = row.text("baseline") or named, row.name("model"), row.cells.get("games")
    if item is None:
        raise ResponseError(f"{row.place}: expected uid or question_id, got neither")
    if baseline is None:
        raise ResponseError(
            f"{row.place}: expected a baseline, got none, as version 0.1 writes; name it with --baseline NAME"
        )
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        found = f"{len(games)} games" if isinstance(games, list) else shown(games)
        raise ResponseError(f"{row.place}, games: expected one or two games, got {found}")
    made: list[Row] = []
    orders = ((baseline, model), (model, baseline))
    for number, (game, (first, second)) in enumerate(zip(games, orders, strict=False), start=1):
        winner = _winner(game, f"{row.place}, game {number}")
        made.append(
            {
                "annotator_id": row.name("judge"),
                "annotator_kind": "llm",
                "item_id": item,
                "system_x": first,
                "system_y": second,
                "criterion": "overall",
                "winner": winner,
                "missing_reason": None if winner else "no game" if game is None else "no verdict",
            }
        )
    return made


def _winner(game: object, place: str) -> str | None:
    from spa.errors import ResponseError, shortened
    from spa.importers.foreign_files import OBJECT, of_kind
    from spa.tables.verdicts import place_outcome

    score = None if game is None else of_kind(OBJECT, game, place).get("score")
    if score is None or score == "":
        return None
    found = place_outcome(str(score), PLACES)
    if found.status != "read" or found.winner is None or not any(sign in str(score) for sign in "<>="):
        raise ResponseError(f"{place}: expected a score such as A>>B, B>A or A=B, got {shortened(repr(score), 60)}")
    return found.winner


FORMAT = AnswerFormat(
    key="arena-hard",
    description="Read Arena-Hard's judgments (model_judgment/JUDGE/MODEL.jsonl).\n\n"
    "FILE is a JSONL file of version 0.1 or 2, or a folder of several. In the first game the baseline is A, in the "
    "second the model; a game without a verdict is one missing answer.",
    example="spa import arena-hard mine.jsonl --baseline gpt-4-0314 --out tables",
    options=(
        click.Option(["--baseline"], metavar="NAME", help="The system that all were compared with, where none is."),
    ),
    meaning=FileMeaning(
        sides="A is the baseline in game 1, the model in game 2",
        ties="A=B",
        missing="a game or score that is null: one answer, not the question",
        left_out="nobody",
        seen="versions 0.1 and 2, read",
        source="https://github.com/lmarena/arena-hard-auto",
    ),
    recognise=_recognise,
    read=_read,
)
