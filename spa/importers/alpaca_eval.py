"""AlpacaEval's ``annotations.json``: how likely a judge finds the output of one system better than the baseline's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from spa.importers.answer_format import AnswerFormat, FileMeaning, Fit, ImportRequest

if TYPE_CHECKING:
    from spa.importers.foreign_rows import ForeignRow
    from spa.importers.tables import ImportedTables, Row

FILE = "annotations.json"
COLUMNS = ("instruction", "generator_1", "generator_2", "annotator", "preference")
TIES = (0.0, 1.5)  # 0 in files of old versions


def _recognise(path: Path) -> Fit:
    """Whether it begins with the keys of an annotation, or is a folder with such a file at one of two levels."""
    from spa.importers.foreign_rows import names_at_beginning

    if path.is_dir():
        try:
            path = next((one for level in ("", "*/", "*/*/") for one in path.glob(level + FILE)), path)
        except OSError:
            return Fit.NONE
    return Fit.CERTAIN if names_at_beginning(path).issuperset(COLUMNS) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.foreign_rows import files_below, read_rows
    from spa.importers.tables import ImportedTables

    files = files_below(request.paths, lambda path: path.name == FILE, f"files called {FILE}")
    skipped: Counter[str] = Counter()
    notes: list[str] = []
    seen: dict[tuple[object, ...], Path] = {}
    rows: list[Row] = []
    heights: dict[Path, int] = {}
    equal = 0
    for path in files:
        found = read_rows(path, COLUMNS)
        answers = tuple(sorted(tuple(repr(row.text(name)) for name in (*COLUMNS, "output_2")) for row in found))
        if (before := seen.setdefault(answers, path)) is not path:
            notes.append(f"{path}: the same answers as {before}, counted once")
            skipped["answers that stand in another file too"] += len(found)
            continue
        heights[path] = len(found)
        equal += sum(row.cells.get("output_1") is not None and _same_outputs(row) for row in found)
        notes += _other_folder(path, found)
        rows += map(_row, found)
    most = max(heights.values(), default=0)
    notes += [f"{path}: {most - n} rows fewer than the largest file" for path, n in heights.items() if n < most]
    if equal:
        notes.append(f"{equal} rows have equal outputs: AlpacaEval writes a tie there without asking the judge")
    if people := {str(row["annotator_id"]) for row in rows if row["annotator_kind"] == "human"}:
        notes.append(f"{len(people)} annotators whose names are numbers are read as people, the others as LLMs")
    return ImportedTables(rows={"preferences": _with_samples(rows)}, skipped=dict(skipped), notes=tuple(notes))


def _own_values(path: Path) -> bool:
    """Whether the preferences are on the scale of AlpacaEval, 1 to 2, and no probabilities.

    Raise ResponseError where they are 0 and 1 alone: ties and wins there, losses and wins as probabilities.
    """
    from spa.errors import ResponseError
    from spa.importers.foreign_rows import read_rows

    values = {row.number("preference") for row in read_rows(path, only=("preference",))} - {None}
    if values == {0, 1}:
        raise ResponseError(
            f"{path}, preference: expected 1 to 2 as AlpacaEval writes it, or probabilities, got 0 and 1 alone; where "
            f"0 is a tie and 1 says that generator_1 is better: `spa import alpaca-eval {path} --out tables`; where "
            f"they are probabilities that it is: `spa report --preferences {path}`"
        )
    return bool(values) and all(value == 0 or 1 <= value <= 2 for value in values if value is not None)


def _same_outputs(row: ForeignRow) -> bool:
    return bool(row.cells["output_1"] == row.cells.get("output_2"))


def _other_folder(path: Path, rows: Sequence[ForeignRow]) -> list[str]:
    """Say where the results stand in the folder of another system than the file names: ``SYSTEM/JUDGE/annotations``."""
    systems = list(dict.fromkeys(row.name("generator_2") for row in rows))
    folder = path.resolve().parent.parent.name
    if path.name != FILE or path.resolve().parent.name not in {row.name("annotator") for row in rows}:
        return []
    if systems == [folder]:
        return []
    return [f"{path}: generator_2 is {', '.join(systems[:3])}, the folder {folder}; generator_2 counts"]


def _row(row: ForeignRow) -> Row:
    from spa.errors import ResponseError

    annotator, value = row.name("annotator"), row.number("preference")
    if value is not None and value != 0 and not 1 <= value <= 2:
        raise ResponseError(
            f"{row.place}, preference: expected 1 (generator_1 better) to 2 (generator_2), 0 for a tie or null, got "
            f"{value:g}; if 1 was taken off before, name the columns to spa report --preferences"
        )
    probability = None if value is None else 0.5 if value in TIES else value - 1
    return {
        "annotator_id": annotator,
        "annotator_kind": "human" if annotator.isascii() and annotator.isdigit() else "llm",
        "item_id": row.name("instruction"),
        "system_x": row.name("generator_2"),
        "system_y": row.name("generator_1"),
        "preference": probability,
        "criterion": "overall",
        "missing_reason": "no preference" if value is None else None,
        "output": (str(row.cells.get("output_1")), str(row.cells.get("output_2"))),
    }


def _with_samples(rows: Sequence[Row]) -> list[Row]:
    """Return the rows with numbers of samples, by their outputs, where a judge saw several of one instruction."""
    cell = ("annotator_id", "item_id", "system_x", "system_y")
    outputs: dict[tuple[object, ...], list[object]] = {}
    for row in rows:
        outputs.setdefault(tuple(row[name] for name in cell), []).append(row["output"])
    several = any(len(own) > 1 for own in outputs.values())
    numbered: Counter[tuple[object, ...]] = Counter()
    made = []
    for row in rows:
        key = tuple(row[name] for name in cell)
        at = sorted(map(repr, outputs[key])).index(repr(row["output"]))
        numbered[key, at] += 1
        sample = {"sample": str(at + numbered[key, at])} if several else {}
        made.append({name: value for name, value in row.items() if name != "output"} | sample)
    return made


FORMAT = AnswerFormat(
    key="alpaca-eval",
    description="Read AlpacaEval's annotations.json.\n\n"
    "FILE is one such file, or a folder of results with several. An instruction is an item, further rows of it are "
    "samples; the preference counts, never the judge's raw reply, whose order is not stored.",
    example="spa import alpaca-eval results --out tables",
    meaning=FileMeaning(
        sides="preference - 1 is the probability that generator_2, not generator_1, is better",
        ties="1.5, and 0 of old versions",
        missing="null",
        left_out="the second of two files with equal answers",
        seen="alpaca-eval 0.6.6",
        source="https://github.com/tatsu-lab/alpaca_eval",
    ),
    recognised_by_columns=True,
    own_values=_own_values,
    recognise=_recognise,
    read=_read,
)
