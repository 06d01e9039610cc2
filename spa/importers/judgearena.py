"""JudgeArena's runs: a CSV file of what a judge was shown, a JSON file of what it preferred."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

ANNOTATIONS = "-annotations.csv"
COLUMNS = ("judge_completion", "model_A", "model_B")
KEYS = ("preferences", "model_A", "model_B")


def _recognise(path: Path) -> Fit:
    from spa.importers.foreign_rows import names_at_beginning

    names = names_at_beginning(path)
    csv = path.suffix.lower() == ".csv" and names.issuperset(COLUMNS)
    return Fit.CERTAIN if csv or (path.suffix.lower() == ".json" and names.issuperset(KEYS)) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, read_rows
    from spa.importers.tables import ImportedTables

    fits = files_below(request.paths, lambda path: _recognise(path) == Fit.CERTAIN, "results of JudgeArena")
    runs = dict.fromkeys(_run(path) for path in fits)
    rows: list[Row] = []
    for shown, results in runs:
        found = read_rows(shown, COLUMNS)
        rows += _answers(found, _results(results, len(found)), results)
    notes = ("a preference is made of the two scores (softmax of 0.3 x their difference): the judge stated none",)
    return ImportedTables(rows={"preferences": rows}, skipped={}, notes=notes)


def _run(path: Path) -> tuple[Path, Path]:
    """Return both files of a run: ``results-NAME.json`` stands beside ``NAME-annotations.csv``."""
    from spa.errors import ResponseError

    if path.suffix.lower() == ".csv":
        stem = path.name.removesuffix(ANNOTATIONS)
        shown, results = path, path.with_name(f"results-{stem}.json")
    else:
        stem = path.stem.removeprefix("results-")
        shown, results = path.with_name(f"{stem}{ANNOTATIONS}"), path
    absent = results if shown == path else shown
    if not absent.exists():
        why = "has the verdicts" if absent == results else "says who was shown first"
        raise ResponseError(f"{path}: expected {absent.name} beside it, which {why}, got none; put it there")
    return shown, results


def _results(path: Path, height: int) -> Mapping[str, object]:
    from spa.errors import ResponseError
    from spa.importers.foreign_files import LIST, OBJECT, of_kind
    from spa.tables.json_files import read_json

    results: Mapping[str, object] = of_kind(OBJECT, read_json(path), str(path))
    preferences = of_kind(LIST, results.get("preferences"), f"{path}, preferences")
    if len(preferences) != height:
        raise ResponseError(
            f"{path}: expected {height} preferences, as many as rows in the CSV file, got {len(preferences)}; "
            "take both files of one run"
        )
    return results


def _answers(rows: list[ForeignRow], results: Mapping[str, object], path: Path) -> list[Row]:
    """Return P(x) by row; a preference is that for ``model_B`` of the JSON file, whatever stood where in the row."""
    from spa.errors import ResponseError, shortened
    from spa.importers.foreign_files import LIST, number, of_kind

    first, second = (str(results.get(name)) for name in ("model_A", "model_B"))
    made: list[Row] = []
    preferences = of_kind(LIST, results["preferences"], str(path))
    for at, (row, preference) in enumerate(zip(rows, preferences, strict=True), start=1):
        shown = row.name("model_A"), row.name("model_B")
        value = number(preference, f"{path}, preferences, {at}")
        if {*shown} != {first, second} or (value is not None and not 0 <= value <= 1):
            raise ResponseError(
                f"{row.place}: expected {shortened(first)} and {shortened(second)} with a preference of 0 to 1, as in "
                f"{path.name}, got {shortened(' and '.join(shown))}, {value}; take both files of one run"
            )
        probability = None if value is None else value if shown[0] == second else 1 - value
        made.append(
            {
                "annotator_id": row.text("judge") or str(results.get("judge_model") or "judge"),
                "annotator_kind": "llm",
                "item_id": row.text("instruction_index") or row.name("instruction"),
                "system_x": shown[0],
                "system_y": shown[1],
                "preference": probability,
                "criterion": "overall",
                "missing_reason": "unreadable reply" if value is None else None,
            }
        )
    return made


FORMAT = AnswerFormat(
    key="judgearena",
    description="Read runs of JudgeArena: NAME-annotations.csv with results-NAME.json.\n\n"
    "FILE is either of the two, the other stands beside it, or a folder of runs. The CSV file says who was shown "
    "first, the JSON file has the preferences.",
    example="spa import judgearena run-annotations.csv --out tables",
    meaning=FileMeaning(
        sides="a preference is P(model_B) of the JSON file, also in the second half, whose CSV rows are exchanged",
        ties="0.5",
        missing="null",
        left_out="nobody",
        seen="commit of 2026-06-30, read",
        source="https://github.com/OpenEuroLLM/JudgeArena",
    ),
    recognise=_recognise,
    read=_read,
)
