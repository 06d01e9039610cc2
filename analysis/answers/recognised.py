"""Files of answers whose columns nobody explained: what kind of table each is, and what each column is.

By names first (:mod:`analysis.answers.column_names`), then by contents (:mod:`analysis.answers.column_contents`). A
column with a name of ours is what it says, and a table with all of ours is read as it is (what its names and scores may
be is asked once they are read). What may be two things is refused in a line that names both.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from analysis.answers.answer_checks import REQUIRED
from analysis.answers.column_contents import Columns
from analysis.answers.column_names import Role, likeliest, words_of
from analysis.answers.column_roles import ColumnRoles
from analysis.answers.columns import KNOWN, LAYOUTS
from analysis.answers.columns_found import TableFound, role_said
from analysis.answers.extremes import BEST, ENDS, SHOWN, WORST
from analysis.answers.input_files import InputFile
from analysis.answers.options import Reading
from analysis.answers.shapes import WIDE, columns_called
from analysis.answers.table_roles import table_found, turns_of_outputs
from analysis.answers.unsettled import NO_RECORDS, Records, Unsettled
from spa.errors import AnalysisError, ArgumentProblem, TableError
from spa.tables.addresses import at_hand
from spa.tables.other_rows import header_problem
from spa.tables.other_tools import annotations_of, means_of, other_file, questionnaire_of, shares_of
from spa.tables.paths import json_text
from spa.tables.reading import open_slices, open_table, reading, table_suffix
from spa.tables.selection import nested
from spa.tables.source import Source, Wanted
from spa.tables.typed_columns import as_texts
from spa.tables.unrolling import roots

ANSWERS = ("spans", "choices", "preferences", "orders", "gambles", "ratings")
BESIDE = {  # columns that tell a table beside the answers, and its option
    "exclusions": ("annotator_id", "rule"),
    "identical_pairs": ("annotator_id", "expected", "score"),
    "reading": ("annotator_id", "page", "page_seconds"),
    "metrics": ("system", "metric", "score"),
}
UNREAD = ("annotator_id", "page", "unprompted")  # columns that tell the table of conduct, which no report reads
OF_ANNOTATORS = ("submissions", "screening_passed", "checks_failed", "checks_total", "seconds")
LOOKED_AT, RECORDS = 1_000, 20  # rows in which our names are looked for, and records in lists
EVERY = frozenset().union(*KNOWN.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class RecognisedTables:
    """Files by kind of table, how to read them, and what each column was taken for.

    ``files`` and ``reading`` are the arguments of :func:`analysis.read_tables`; ``found`` says for each file, in the
    order in which they were given, what its columns are; of files with our own names it says nothing.
    """

    files: Mapping[str, tuple[Path, ...]]
    reading: Reading
    found: tuple[TableFound, ...]

    def notes(self) -> frozenset[str]:
        """Return all that was said of columns."""
        return frozenset(note for one in self.found for note in one.notes())

    def noted(self, inputs: Sequence[InputFile]) -> tuple[InputFile, ...]:
        """Return the files that were read with what each column was taken for, in front of the other notes."""
        left = {kind: [one for one in self.found if one.kind == kind] for kind in self.files}
        noted = []
        for one in inputs:
            own = left.get(one.table)
            said = own.pop(0).notes() if own else ()
            noted.append(replace(one, notes=(*said, *one.notes)) if said else one)
        return tuple(noted)


def recognise_tables(paths: Sequence[Path], options: Reading) -> RecognisedTables:
    r"""Find out what kind of table each file is, and which column is which.

    Parameters
    ----------
    paths : sequence of Path
        Files of answers: ratings (a row a score, or columns of criteria or systems), choices between two systems,
        preferences, rankings, marked errors.
    options : Reading
        What is known already: its ``mapping`` and constants go first.

    Returns
    -------
    RecognisedTables
        The same whatever the order of rows and columns, and the format of the file.

    Raises
    ------
    AnalysisError
        A line for each column that may be two things, and each that is missing, with the argument that settles it.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("Rater,Prompt #,Model,Fluency\nann,1,gpt,4\nann,1,llama,2\nben,1,gpt,5\n")
    ...     found = recognise_tables([path], Reading())
    >>> [*found.files], dict(found.reading.mapping), found.reading.criteria
    (['ratings'], {'Rater': 'annotator_id', 'Prompt #': 'item_id', 'Model': 'system'}, ('Fluency',))
    """
    found: list[TableFound] = []
    problems: list[str] = []
    for path in paths:
        try:
            found.append(_table(path, options))
        except AnalysisError as error:
            problems += error.problems
    if problems:
        raise AnalysisError(*problems)
    files: dict[str, tuple[Path, ...]] = {}
    for one, path in zip(found, paths, strict=True):
        files[one.kind] = (*files.get(one.kind, ()), path)
    return RecognisedTables(files=files, reading=_together(found, options), found=tuple(found))


def _together(found: Sequence[TableFound], options: Reading) -> Reading:
    """Return how all files are read; refuse what one needs and another cannot have."""
    mapping = dict(options.mapping)
    for one in found:
        for old, new in one.mapping.items():
            if mapping.setdefault(old, new) != new:
                before = f"{one.place}: column {old} is taken for {new}, of another file for {mapping[old]}; say which "
                raise AnalysisError(
                    ArgumentProblem("mapping", before=before, in_python=f"={ {old: new} }", in_command=f" {old}={new}")
                )
    criteria = tuple(dict.fromkeys((*options.criteria, *(name for one in found for name in one.criteria))))
    systems = {**options.systems, **{old: new for one in found for old, new in one.systems.items()}}
    columns = (*options.annotator_columns, *(name for one in found for name in one.annotator_columns))
    llms = tuple(dict.fromkeys((*options.llms, *(name for one in found for name in one.llms))))
    constants = {name: value for one in found for name, value in one.constants.items()} | {**options.constants}
    means = options.means or any(one.means for one in found)
    unnamed = any(one.unnamed for one in found)
    nameless = {one.place for one in found if one.unnamed or one.means}
    if nameless and len(nameless) < len(found):
        raise AnalysisError(
            ArgumentProblem(
                "mapping",
                before=f"{min(nameless)}: no column names who answered, which the other files say; name it with ",
                in_python="={'YOURS': 'annotator_id'}",
                in_command=" YOURS=annotator_id",
                after=", or read that file alone",
            )
        )
    return replace(
        options,
        mapping=mapping,
        constants=constants,
        criteria=criteria,
        systems=systems,
        annotator_columns=tuple(dict.fromkeys(columns)),
        llms=llms,
        unnamed=options.unnamed or unnamed,
        means=means,
        asked=True,
    )


def _table(path: Path, options: Reading) -> TableFound:
    """Recognise one file."""
    place = str(path)
    try:
        with at_hand(path) as file, reading(file):
            first = next(open_slices(file, Wanted(columns=EVERY), options, rows=LOOKED_AT), None)
            kind = None if first is None else _kind_named(_tidy(first, options), place, options)
            if kind is not None and (kind != "ratings" or not _may_have_turns(first, options)):
                return TableFound(place=place, kind=kind)  # with our names: nothing to find out, however long it is
            source = open_table(file, Wanted(columns=EVERY), options)
            plain = [name for name, stored in source.schema.items() if not nested(stored)]
            lists = frozenset(source.schema) - {*plain}
            if not any(one in (table_suffix(file.name) or "") for one in (".csv", ".tsv")):
                more = lists if _of_extremes(plain) else frozenset()
                source = open_table(file, Wanted(columns=EVERY | {*plain} | more), options)
            starts = (
                open_slices(file, Wanted(columns=lists), options, rows=RECORDS) if lists and not options.each else None
            )
            records = {} if starts is None else _records(next(starts, None), lists)
            return _found(source, plain, place, options, records)
    except TableError as error:
        raise AnalysisError(*error.problems) from error


def _may_have_turns(source: Source | None, options: Reading) -> bool:
    """Whether scores of outputs may be those of turns, of which nothing says what they are."""
    if source is None or "turn" not in source.schema:
        return False
    said = {*options.mapping, *options.mapping.values(), *options.constants, *options.keep}
    return not ({"turn", "criterion"} & said or "criterion" in source.schema or options.criteria)


def _tidy(source: Source, options: Reading) -> frozenset[str]:
    """Return the columns under the names that the options give them."""
    return frozenset(options.mapping.get(name, name) for name in source.schema)


def _kind_named(tidy: Collection[str], place: str, options: Reading) -> str | None:
    """Return the kind of table whose columns are all there; refuse those of two kinds."""
    kinds = [kind for kind in ANSWERS if {*REQUIRED[kind]} - _not_needed(kind, options) <= {*tidy}]
    if not kinds and {"annotator_id", "item_id", BEST, WORST} <= {*tidy} and (SHOWN in tidy or options.systems):
        return "choices"
    if len(kinds) > 1:
        ways = " or ".join(f"--{kind} {Path(place).name}" for kind in kinds)
        raise AnalysisError(f"{place}: expected a table of one kind, got columns of {' and '.join(kinds)}: say {ways}")
    return kinds[0] if kinds else None


def _records(source: Source | None, lists: Collection[str]) -> Records:
    """Return the first record of the lists in each column; of a list of values the first, named as its column is.

    Of an object the keys are paths, as options name them.
    """
    firsts: dict[str, object] = {}
    if source is None:
        return {}
    for name in lists:
        cells = source.values(name)
        firsts[name] = next((value[0] for value in cells if isinstance(value, list) and value), None)
        whole = next((value for value in cells if isinstance(value, dict)), None)
        if firsts[name] is None and whole is not None:
            firsts[name] = {f"{name}.{key}": value for key, value in whole.items()}
    plain = {name: {name: first} for name, first in firsts.items() if isinstance(first, str)}
    return plain | {name: first for name, first in firsts.items() if isinstance(first, dict)}


def _found(
    source: Source, plain: Sequence[str], place: str, options: Reading, records: Records = NO_RECORDS
) -> TableFound:
    tidy = _tidy(source, options)
    if (kind := _kind_named(tidy, place, options)) is not None:
        found = TableFound(place=place, kind=kind)
        return _with_turns(found, source, plain, options) if _may_have_turns(source, options) else found
    if {*UNREAD} <= {*tidy}:
        raise AnalysisError(
            f"{place}: expected answers, got a table of conduct, evidence that no report reads; leave the file out"
        )
    if (beside := _beside(tidy)) is not None:
        option = f"--{beside.replace('_', '-')}"
        raise AnalysisError(
            f"{place}: expected answers, got a table of {beside.replace('_', ' ')}: give it beside the answers as "
            f"{option} {Path(place).name}"
        )
    if tool := annotations_of(source.schema):
        raise AnalysisError(
            f"{place}: expected a row an answer, got annotations of {tool}: a line a document, its answers lists, of "
            "which a later line replaces an earlier one; write a row an answer (annotator, item, system, score)"
        )
    asked = questionnaire_of(source.schema)
    if asked is not None and not (
        likeliest(tidy, "system") or {*columns_called(options)} or {"system"} & {*options.constants}
    ):
        raise AnalysisError(
            f"{place}: expected a row an answer, got responses of {asked}, a row a person and a column a question: "
            "`spa import csv` makes tables of them, where its mapping says of which item and system each column is"
        )
    other = None if likeliest(tidy, "system") or _explained(options) else other_file(source.schema)
    if other is not None:
        raise AnalysisError(f"{place}: expected a row an answer, got {other}")
    if not likeliest(tidy, "item_id") and (means := means_of(source.schema)) is not None:
        raise AnalysisError(f"{place}: expected a row an answer, got {means}")
    results = shares_of(source.schema)
    if results is not None and not _answered(tidy, counted=results.startswith("counts")):
        raise AnalysisError(
            f"{place}: expected a row an answer, got {results}: on which items and people they rest nobody knows, so "
            "that nothing can be tested; take the table that has a row an answer"
        )
    if not source.height:
        raise AnalysisError(f"{place}: a header without rows; expected at least one answer")
    frame = pl.DataFrame([as_texts(source.column(name)).alias(name) for name in plain])
    frame = frame.with_columns(_listed(source, records, plain))
    starts = {name: frame[name].head(LOOKED_AT).to_list() for name in frame.columns}
    if (problem := header_problem(starts, source.numbers()[0])) is not None:
        raise AnalysisError(f"{place}: {problem}")
    taken = roots(options.each) if options.each else frozenset()
    lists = [name for name in source.schema if name not in plain and name not in taken]
    return table_found(place, Columns(frame), lists, options, records=records)


def _explained(options: Reading) -> bool:
    """Whether options say how the columns of files are read."""
    return bool(options.mapping or options.constants or options.each or columns_called(options))


def _answered(tidy: Collection[str], *, counted: bool) -> bool:
    """Whether columns are called as those of answers are, or, beside results that are not counts, of who answered."""
    roles: tuple[Role, ...] = ("winner", "score") if counted else ("annotator_id", "winner", "score", "item_id")
    return any(likeliest(tidy, role) for role in roles)


def _of_extremes(names: Sequence[str]) -> bool:
    """Whether columns are called the best and the worst, or the most and the least, of something."""
    return any(all(any(word in words_of(name) for name in names) for word in words) for words in ENDS)


def _listed(source: Source, records: Records, plain: Sequence[str]) -> list[pl.Series]:
    """Return lists of names as texts of JSON, beside columns that are called the best and the worst of them."""
    names = [name for name, record in records.items() if name in record and _of_extremes(plain)]
    cells = {name: [json_text(value) if value else None for value in source.values(name)] for name in names}
    return [pl.Series(name, own, dtype=pl.String) for name, own in cells.items()]


def _with_turns(found: TableFound, source: Source, plain: Sequence[str], options: Reading) -> TableFound:
    """Return a table of our own names whose turns are a criterion each, where each output has a score of every one."""
    columns = Columns(pl.DataFrame([as_texts(source.column(name)).alias(name) for name in plain]))
    name = turns_of_outputs(ColumnRoles(columns, options, Unsettled(found.place, columns.frame.columns, ())))
    if name is None:
        return found
    return replace(found, mapping={name: "criterion"}, columns=(role_said(columns, "criterion", name),))


def _not_needed(kind: str, options: Reading) -> set[str]:
    """Return the columns that the options make."""
    without = {"annotator_id"} if options.unnamed or options.means else set()
    if kind in ("choices", "preferences") and options.annotator_columns:
        return without  # what the columns hold says which of the two it is
    for by in columns_called(options):
        if kind in WIDE[by]:
            without |= {by, LAYOUTS[kind].answer}
    return without


def _beside(tidy: Collection[str]) -> str | None:
    """Name the table that stands beside answers, where its columns are all there."""
    for kind, columns in BESIDE.items():
        if {*columns} <= {*tidy} and not (kind == "metrics" and likeliest(tidy, "annotator_id")):
            return kind
    answers = {"item_id", "system", "system_x", "score"} & {*tidy}
    return "annotators" if "annotator_id" in tidy and {*OF_ANNOTATORS} & {*tidy} and not answers else None
