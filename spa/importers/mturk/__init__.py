"""Archives of earlier MTurk studies: results of the requester site, its command-line tools or the API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from spa.importers.answer_format import AnswerFormat, Fit, ImportRequest
from spa.importers.questions_of_files import value_option

if TYPE_CHECKING:
    from spa.importers.mturk.mapping import ResultMapping
    from spa.importers.mturk.results import Result
    from spa.importers.tables import ImportedTables

LOOKED_AT = 65_536  # bytes of a file
SIGNS = {  # what the beginning of a file holds, by how its name ends
    **dict.fromkeys((".csv", ".tsv", ".results", ".txt"), (b"AssignmentId", b"WorkerId")),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), (b'"AssignmentId"', b'"Answer"')),
    ".xml": (b"QuestionFormAnswers",),
}


def _recognise(path: Path) -> Fit:
    """Whether a file begins as MTurk's do: with the names of its columns or keys."""
    signs = SIGNS.get(path.suffix.lower())
    if signs is None:
        return Fit.NONE
    try:
        with path.open("rb") as file:
            beginning = file.read(LOOKED_AT)
    except OSError:
        return Fit.NONE
    return Fit.CERTAIN if all(sign in beginning for sign in signs) else Fit.NONE


def _read(request: ImportRequest) -> ImportedTables:
    from spa.importers.mturk.pairs import result_mapping
    from spa.importers.mturk.results import read_results
    from spa.importers.mturk.tidying import REJECTED, tidy
    from spa.importers.pseudonyms import spelled
    from spa.tables.options import TableOptions

    given = request.options
    options = TableOptions(encoding=given.get("encoding"), quotes=given.get("quotes"))
    notes: list[str] = []
    results = list(read_results(request.paths, options, notes))
    mapping = result_mapping(request, results, given.get("values"))
    marked = sum(bool(one.columns.get("Reject", "").strip()) and _status(one, mapping) != REJECTED for one in results)
    if marked:
        notes.append(f"{marked:,} submissions have a text under Reject, yet are not rejected; they count")
    made = tidy(results, mapping, spelled, keep_rejected=given.get("keep_rejected", False))
    return made.imported(notes)


def _status(result: Result, mapping: ResultMapping) -> str:
    return result.columns.get(mapping.status, "").strip()


def _encoding(context: click.Context, option: click.Parameter, name: str | None) -> str | None:
    from spa.tables.encodings import known_encoding

    return None if name is None else known_encoding(name)


FORMAT = AnswerFormat(
    key="mturk",
    description="Read results of earlier MTurk studies.\n\n"
    "FILE is a results CSV from the requester site, a tab-separated file of its command-line tools, assignments as "
    "returned by the API (JSON or JSONL), or the XML of one answer. Answers of rejected submissions go to the folder "
    "`rejected` in OUT.",
    details="docs/hits.md shows a mapping. Without one, --map Input.id=item_id --map Input.system=system --map "
    "Answer.mood=score says which columns are read; of an answer whose options have a column each (Answer.mood.1, "
    "Answer.mood.2), or that holds JSON (Answer.taskAnswers.mood), name the part that they share.",
    example="spa import mturk Batch_*_results.csv --mapping old.toml --out tables",
    mapping="TOML file that maps the columns.",
    options=(
        click.Option(
            ["--keep-rejected"], is_flag=True, help="Keep answers of rejected submissions, for --exclusions to name."
        ),
        click.Option(
            ["--encoding"],
            metavar="NAME",
            callback=_encoding,
            help="Of tables that are not UTF-8 and do not say it: cp1252.",
        ),
        click.Option(
            ["--quotes"],
            type=click.Choice(["csv", "text"]),
            help="Of tables: double quotes enclose cells, or are text.",
        ),
        value_option(),
    ),
    extra="mturk",
    recognise=_recognise,
    read=_read,
)
