"""Battles of Chatbot Arena and LMArena, and MT-Bench's judgments of pairs and of single answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

SIDES = ("model_a", "model_b")
ONE_HOT = {"winner_model_a": "x", "winner_model_b": "y", "winner_tie": "tie"}
SESSIONS = ("evaluation_session_id", "conversation_a", "conversation_b")  # of LMArena's battles, which name nobody
GAMES = ("g1_winner", "g2_winner")
SINGLE = ("question_id", "model", "judge", "score", "user_prompt")
ITEMS = ("question_id", "id", "conversation_id")
LLM_JUDGES = ("gpt4_pair", "gpt-4")  # of MT-Bench's published judgments, among people
FAILED = "error"
NO_SCORE = -1


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    battles = names.issuperset(SIDES) and ("winner" in names or names.issuperset(ONE_HOT))
    return Fit.CERTAIN if battles or _are_judgments(names) else Fit.NONE


def _are_judgments(names: Collection[str]) -> bool:
    return {*GAMES} <= {*names} or ({*SINGLE} <= {*names} and "games" not in names)


def _own_values(path: Path) -> bool:
    """Whether a file holds what columns alone say too little of.

    Of MT-Bench's judgments the judge is a list; of battles the winner may stand in three columns, and lists of talks
    beside them may hide who voted.
    """
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    three = names.issuperset(ONE_HOT) and "winner" not in names
    return _are_judgments(names) or three or (names.issuperset(SESSIONS) and "judge" not in names)


def _read(request: ImportRequest) -> ImportedTables:
    from spa.errors import ResponseError
    from spa.importers.foreign_rows import files_below, names_at_beginning, read_rows
    from spa.importers.tables import UNNAMED, ImportedTables

    files = files_below(request.paths, lambda path: _recognise(path) == Fit.CERTAIN, "files of battles or judgments")
    rows: dict[str, list[Row]] = {"choices": [], "ratings": []}
    notes: dict[str, int] = Counter()
    for path in files:
        found = read_rows(path)
        names = {name for row in found[:1] for name in row.cells} or names_at_beginning(path)
        turned = _several_turns(found)
        if {*SIDES} <= names and ("winner" in names or {*ONE_HOT} <= names):
            rows["choices"] += _battles(found, turned, {*LLM_JUDGES, *request.options.get("llms", ())})
            notes["battles are not anonymous; they count like the others"] += sum(map(_is_seen, found))
        elif {*GAMES} <= names:
            rows["choices"] += [game for row in found for game in _games(row, turned)]
        elif {*SINGLE} <= names:
            rows["ratings"] += [_single(row, turned) for row in found]
        else:
            raise ResponseError(
                f"{path}: expected model_a, model_b and winner (or winner_model_a, winner_model_b, winner_tie), "
                "MT-Bench's g1_winner and g2_winner, or its score of single answers, got none of them"
            )
    _check_llms(request.options.get("llms", ()), rows["choices"])
    said = [f"{count:,} {what}" for what, count in notes.items() if count]
    if any(row["annotator_id"] == UNNAMED for row in rows["choices"]):
        said.append("nobody is named as judge of some battles: the unit of their tests is the item")
    bad = sum(row["winner"] == "both_bad" for row in rows["choices"])
    said += [f"{bad:,} battles in which both are bad: ties, and told apart"] if bad else []
    return ImportedTables(rows=rows, skipped={}, notes=tuple(said))


def _check_llms(given: Iterable[str], rows: Sequence[Row]) -> None:
    from spa.errors import ResponseError, shortened

    judges = {str(row["annotator_id"]) for row in rows}
    for name in given:
        if name not in judges:
            listed = shortened(", ".join(sorted(judges)), 200)
            raise ResponseError(f"--llm {shortened(name)}: expected one of the judges, which are {listed}")


def _is_seen(row: ForeignRow) -> bool:
    return any((row.text(name) or "true").lower() == "false" for name in ("anony", "anonymous"))


def _several_turns(rows: Sequence[ForeignRow]) -> bool:
    """Return whether a question was judged at several turns: then each turn is a criterion."""
    turns: dict[str | None, set[str | None]] = defaultdict(set)
    for row in rows:
        turns[row.text("question_id")].add(row.text("turn"))
    return any(len(own) > 1 for own in turns.values())


def _item(row: ForeignRow) -> str:
    from spa.errors import ResponseError

    found = next((text for name in ITEMS if (text := row.text(name)) is not None), None)
    if found is None:
        raise ResponseError(f"{row.place}: expected one of {', '.join(ITEMS)}, got none; add a column that names it")
    return found


def _criterion(row: ForeignRow, turned: bool) -> str:
    return f"turn {row.text('turn') or '?'}" if turned else "overall"


def _battles(rows: Sequence[ForeignRow], turned: bool, llms: set[str]) -> list[Row]:
    from spa.importers.tables import UNNAMED

    made = []
    for row in rows:
        judge = row.text("judge") or UNNAMED
        first, second = (row.name(side) for side in SIDES)
        winner = _winner(row, first, second)
        made.append(
            {
                "annotator_id": judge,
                "annotator_kind": "llm" if judge in llms else "human",
                "item_id": _item(row),
                "system_x": first,
                "system_y": second,
                "criterion": _criterion(row, turned),
                "winner": winner,
                "missing_reason": "no winner" if winner is None else None,
            }
        )
    return made


def _winner(row: ForeignRow, first: str, second: str) -> str | None:
    from spa.errors import ResponseError, shortened
    from spa.tables.verdicts import outcome

    if row.cells.keys() >= ONE_HOT.keys() and row.text("winner") is None:
        said = {name: row.text(name) for name in ONE_HOT}
        strange = next((name for name, text in said.items() if text not in (*TRUE, *FALSE, None)), None)
        chosen = [word for name, word in ONE_HOT.items() if said[name] in TRUE]
        if strange or len(chosen) > 1:
            listed = ", ".join(f"{name}={text}" for name, text in said.items())
            raise ResponseError(f"{row.place}: expected one of three columns to be 1, got {shortened(listed, 120)}")
        return chosen[0] if chosen else None
    word = row.text("winner")
    if word is None or word.lower() in ("nan", "none", "null"):
        return None
    found = outcome(word, first, second, columns=SIDES)
    if found.status != "read":
        raise ResponseError(
            f"{row.place}, winner: expected model_a, model_b, tie, both_bad or nothing, got {shortened(repr(word))}"
        )
    return found.word


TRUE, FALSE = ("1", "1.0", "true"), ("0", "0.0", "false")


def _judge(row: ForeignRow) -> str:
    """Return who judged: of a name and its prompt, as MT-Bench writes them, the name."""
    judge = row.cells.get("judge")
    if isinstance(judge, list) and judge and isinstance(judge[0], str):
        return judge[0]
    return row.name("judge")


def _games(row: ForeignRow, turned: bool) -> list[Row]:
    """Return both games of a pair; in the second model_2 stood first, and its winner is already turned back."""
    from spa.errors import ResponseError, shortened

    models = {"model_1": row.name("model_1"), "model_2": row.name("model_2")}
    made = []
    for name, order in zip(GAMES, (("model_1", "model_2"), ("model_2", "model_1")), strict=True):
        word = row.text(name)
        if word not in (*models, "tie", FAILED, None):
            raise ResponseError(
                f"{row.place}, {name}: expected model_1, model_2, tie or error, got {shortened(repr(word))}"
            )
        missing = word is None or word == FAILED
        winner = None if missing else "tie" if word == "tie" else "x" if word == order[0] else "y"
        made.append(
            {
                "annotator_id": _judge(row),
                "annotator_kind": "llm",
                "item_id": _item(row),
                "system_x": models[order[0]],
                "system_y": models[order[1]],
                "criterion": _criterion(row, turned),
                "winner": winner,
                "missing_reason": (FAILED if word else "no winner") if missing else None,
            }
        )
    return made


def _single(row: ForeignRow, turned: bool) -> Row:
    score = row.number("score")
    missing = score is None or score == NO_SCORE
    return {
        "annotator_id": _judge(row),
        "annotator_kind": "llm",
        "item_id": _item(row),
        "system": row.name("model"),
        "criterion": _criterion(row, turned),
        "score": None if missing else score,
        "missing_reason": "no score" if missing else None,
    }


FORMAT = AnswerFormat(
    key="arena",
    description="Read battles of Chatbot Arena and LMArena, and MT-Bench's judgments.\n\n"
    "FILE is a table of battles (CSV, JSON, JSONL, Parquet), MT-Bench's human judgments, or its *_pair.jsonl and "
    "*_single.jsonl; of questions with several turns each turn is a criterion.",
    example="spa import arena battles.json --out tables",
    options=(
        click.Option(
            ["--llm", "llms"],
            multiple=True,
            metavar="ID",
            help="Annotator that is an LLM; repeatable.",
        ),
    ),
    meaning=FileMeaning(
        sides="model_a, model_b by name; g2_winner is already turned back",
        ties="tie, tie (inconsistent); both_bad, tie (bothbad) as ties that are told apart",
        missing="a blank; error; a score of -1",
        left_out="nobody; battles that are not anonymous are counted in a line",
        seen="files of FastChat and LMArena, read",
        source="https://github.com/lm-sys/FastChat",
    ),
    recognised_by_columns=True,
    own_values=_own_values,
    recognise=_recognise,
    read=_read,
)
