"""Tables with a column a question, and a row a person, an item, a comparison or a round: answers by a mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from spa.errors import ResponseError, shortened
from spa.importers.csv import otree, qualtrics, sliders
from spa.importers.csv.annotators import AnnotatorNames, JoinedNames, person_of, said_of_near_names
from spa.importers.csv.mapping import GROUP, QuestionColumn, Wide
from spa.importers.csv.questions import TABLE_OF, Asked, pair_columns
from spa.importers.csv.roles import answer_columns, check_constants, check_mapping, first_problems
from spa.importers.csv.selection import asked_rows
from spa.importers.csv.sheets import SheetRow, Sheets
from spa.importers.csv.words import NotUnderstood, Unexplained, WordMeanings, in_points
from spa.importers.foreign_files import number_of
from spa.importers.tables import ImportedTables, Row
from spa.tables.options import TableOptions

UNITS = {"s": 1.0, "ms": 1000.0}  # how many are a second


def read_wide(paths: Sequence[Path], mapping: Wide, path: Path) -> ImportedTables:
    """Read files, or folders of files, by a mapping of their columns, one row an answer.

    An empty cell is missing, a row that ``keep`` or ``drop`` leaves out is counted, and further rankings of an item by
    one annotator, perhaps of other systems, are numbered. A person without any answer was not asked: counted, and in
    no table.

    Parameters
    ----------
    paths : sequence of Path
        Files of any format of :mod:`spa.tables.reading`; of a folder its tables.
    mapping : Wide
        What the columns mean.
    path : Path
        Where the mapping lies: the files that it names are relative to it.

    Raises
    ------
    ResponseError, TableError
        With row, column and what was found, where a column is not there, or a cell holds something else than its
        question allows.
    """
    check_mapping(mapping, path)
    folder = path.parent
    sheets, skipped, is_qualtrics = asked_rows(paths, mapping, folder)
    check_constants(mapping, sheets.columns, path)
    missing = (*mapping.missing, *((qualtrics.SEEN,) if is_qualtrics else ()))
    options = TableOptions(encoding=mapping.encoding, quotes=mapping.quotes)
    timed_out = otree.read_page_times(folder / mapping.page_times, options) if mapping.page_times else None
    columns = [column for question in mapping.questions for column in answer_columns(question)]
    if timed_out is not None and not any(map(otree.is_field, columns)):
        raise ResponseError(
            f"{path}: page_times: expected questions in columns such as app.1.player.q or player.q, got "
            f"{shortened(', '.join(columns), 120)}; remove page_times"
        )
    people = AnnotatorNames(mapping, person_of(mapping.people, folder, options))
    return _Answers(sheets, mapping, people, missing, timed_out).tables(skipped)


class _Answers:
    """Goes through the rows, and counts what became no answer."""

    def __init__(
        self,
        sheets: Sheets,
        mapping: Wide,
        people: AnnotatorNames,
        missing: tuple[str, ...],
        timed_out: otree.TimedOut | None,
    ) -> None:
        self._sheets = sheets
        self._mapping = mapping
        self._timed_out = timed_out
        self._people = people
        self._items = JoinedNames()
        self._words = [
            WordMeanings(values=question.values, missing=missing, decimal=mapping.decimal)
            for question in mapping.questions
        ]
        self._unexplained: dict[int, Unexplained] = {}
        self._ranked: Counter[tuple[object, ...]] = Counter()  # rankings of an item by an annotator
        self._not_asked: Counter[str] = Counter()  # empty cells, by why
        self._times: dict[str, dict[str, str]] = {}  # unreadable times by their column and row
        self._filled_in = 0  # zeros that oTree may have written
        self._mixed = 0  # of such on rounds whose other pages were in time
        self._untouched: Counter[int] = Counter()  # sliders that were not moved, by their question

    def tables(self, skipped: Counter[str]) -> ImportedTables:
        """Return the answers of all rows."""
        rows: dict[str, list[Row]] = {table: [] for table in TABLE_OF.values()}
        asked, silent = self._who_answered()
        for row in self._sheets.rows:
            for number, question in enumerate(self._mapping.questions):
                for column in answer_columns(question):
                    rows[TABLE_OF[question.kind]] += self._answers(number, question, column, row, asked)
        if self._unexplained:
            lines = [found.line(self._mapping.questions[number].kind) for number, found in self._unexplained.items()]
            raise ResponseError(*first_problems(lines))
        self._people.check_names(asked | silent)
        own = self._mapping.sample is not None or any(
            one.item or one.item_column for one in self._mapping.questions if one.kind == "preference"
        )
        if not own and not _repeated(rows["preferences"]):
            rows["preferences"] = [{**row, "item_id": None} for row in rows["preferences"]]
        return ImportedTables(
            rows=rows,
            skipped=dict(skipped),
            notes=(*self._read(sum(skipped.values())), *self._counted(len(silent)), *said_of_near_names(asked)),
        )

    def _who_answered(self) -> tuple[set[str], set[str]]:
        """Return who answered anything, and who answered nothing."""
        named: dict[bool, set[str]] = {True: set(), False: set()}
        questions = [(question, column) for question in self._mapping.questions for column in answer_columns(question)]
        for row in self._sheets.rows:
            for question, column in questions:
                annotator = self._people.of(question, column, row)
                if annotator is not None:
                    named[row.cells[column] is not None].add(annotator)
        return named[True], named[False] - named[True]

    def _answers(self, number: int, question: QuestionColumn, column: str, row: SheetRow, asked: set[str]) -> list[Row]:
        cell = row.cells[column]
        place = f"{row.place}, {column}"
        annotator = self._people.of(question, column, row)
        item = question.item or self._items.of(row, question.item_column or self._mapping.item)
        if cell is None and self._left_alone(question, annotator, item, row, asked):
            return []
        if annotator is None:
            raise ResponseError(
                f"{place}: expected who answered in column {self._mapping.annotator!r}, got nothing; fill it in, or "
                "leave the row out with `keep` or `drop`"
            )
        reason = self._no_answer(number, question, column, row)
        found = Asked(
            question=question,
            words=self._words[number],
            row=row,
            place=place,
            cell=cell if reason is None else None,
            shared=self._shared(question, column, row, annotator, place),
            item=item,
            seconds=self._seconds(question, row),
        )
        try:
            answers = list(found.answers())
        except NotUnderstood as error:
            first = Unexplained(place=place, expected=error.expected, columns=pair_columns(question), do=error.do)
            self._unexplained.setdefault(number, first).words[error.word] = None
            return []
        if not answers:
            self._not_asked["name no system"] += 1
        if TABLE_OF[question.kind] == "orders":
            answers = self._numbered(answers, number if question.kind == "rank" else None)
        return answers if reason is None else [{**answer, "missing_reason": reason} for answer in answers]

    def _no_answer(self, number: int, question: QuestionColumn, column: str, row: SheetRow) -> str | None:
        """Return why what a cell holds was given by nobody, else ``None``."""
        cell = row.cells[column]
        if self._timed_out is not None and self._timed_out.filled_in(row, column, cell):
            self._mixed += self._timed_out.is_mixed(row, column)
            return otree.TIMED_OUT
        self._filled_in += otree.is_filled_in(cell) and otree.is_field(column)
        if not sliders.is_untouched(question, row, cell):
            return None
        self._untouched[number] += 1
        return sliders.UNTOUCHED if question.untouched == "missing" else None

    def _left_alone(
        self, question: QuestionColumn, annotator: str | None, item: str | None, row: SheetRow, asked: set[str]
    ) -> bool:
        """Whether nobody was asked what an empty cell stands for; counted unless the person answered nothing at all."""
        if annotator is None or annotator not in asked:
            return True
        if question.annotators:
            self._not_asked["in columns of annotators"] += 1
            return True
        named = (question.system_column, question.system_x_column, question.system_y_column, question.systems_in)
        needs_item = question.kind != "preference" or question.item_column is not None
        if (item is None and needs_item) or any(row.text(name) is None for name in named if name):
            self._not_asked["of rows without an item or system"] += 1
            return True
        return False

    def _shared(self, question: QuestionColumn, column: str, row: SheetRow, annotator: str, place: str) -> Row:
        criterion: str | None = question.criterion
        if question.criterion_column is not None:
            criterion = row.text(question.criterion_column)
        if criterion is None:
            raise ResponseError(f"{place}: expected a criterion in column {question.criterion_column!r}, got nothing")
        return {
            "annotator_id": annotator,
            "annotator_kind": self._people.kind(annotator, column if question.annotators else None, row),
            "assignment_id": row.text(self._mapping.assignment) if self._mapping.assignment else None,
            "criterion": question.criteria.get(criterion, criterion),
            "sample": self._items.of(row, self._mapping.sample),
            "group": row.text(GROUP),
        }

    def _seconds(self, question: QuestionColumn, row: SheetRow) -> float | None:
        """Return a time in seconds; one that cannot be read is counted and missing."""
        column = question.seconds or self._mapping.seconds
        text = row.text(column) if column is not None else None
        if column is None or text is None or question.kind != "rating":
            return None
        value = number_of(in_points(text, self._mapping.decimal))
        if value is None or value < 0:
            self._times.setdefault(column, {})[row.place] = text
            return None
        return value / UNITS[self._mapping.seconds_unit]

    def _numbered(self, answers: list[Row], number: int | None) -> list[Row]:
        """Return rankings with their number, from the second of an item by one annotator on."""
        for place in {(row["annotator_id"], row["item_id"], row["assignment_id"], row["criterion"]) for row in answers}:
            self._ranked[number, *place] += 1
            again = self._ranked[number, *place]
        return [{**row, "repeat": again if again > 1 else None} for row in answers]

    def _read(self, skipped: int) -> Iterator[str]:
        sheets = self._sheets
        files = str(sheets.files[0]) if len(sheets.files) == 1 else f"{len(sheets.files)} files"
        yield f"read: {len(sheets.rows) + skipped} rows of {files}"
        yield from sheets.notes

    def _counted(self, silent: int) -> Iterator[str]:
        if silent:
            yield f"not asked: {silent} annotators without any answer, who are in no table"
        for why, count in self._not_asked.items():
            yield f"not asked: {count} empty cells {why}"
        for question in self._mapping.questions:
            if question.seconds is not None and question.kind != "rating":
                yield f"{question.seconds}: times are kept of ratings alone, not of a {question.kind}"
        if self._mapping.seconds is not None and all(one.kind != "rating" for one in self._mapping.questions):
            yield f"{self._mapping.seconds}: times are kept of ratings alone, and none are asked for"
        for column, times in self._times.items():
            place, text = next(iter(times.items()))
            first = f"{shortened(repr(text), 40)} in {place}"
            yield f"{column}: {len(times)} times are no numbers and left empty, the first {first}"
        if self._filled_in and self._timed_out is None and otree.is_wide_export(self._sheets.columns):
            yield (
                f"oTree: {self._filled_in} cells of 0 may stand for pages whose time ran out; "
                'give page_times = "PageTimes.csv" in the mapping'
            )
        if self._mixed:
            yield (
                f"oTree: {self._mixed} cells of 0 that are missing, as time ran out, are of rounds with other pages "
                "that were in time; which page asked is in no export"
            )
        for number, count in self._untouched.items():
            question = self._mapping.questions[number]
            counted = (
                "missing" if question.untouched == "missing" else 'answers (untouched = "missing" leaves them out)'
            )
            yield f"{' and '.join(answer_columns(question))}: {count} sliders were not moved; they count as {counted}"
        began = any(row.cells.get(sliders.START) is not None for row in self._sheets.rows)
        if began and not any(one.start_column for one in self._mapping.questions):
            yield (
                f'jsPsych: sliders that were not moved are counted where start_column = "{sliders.START}" and ends = '
                "[LOWEST, HIGHEST] say where they began"
            )
        if not self._people.kinds_known:
            yield "LLMs: none named, all annotators count as people; name those that are LLMs in llms = [...]"


def _repeated(preferences: Sequence[Row]) -> bool:
    """Whether a pair was judged twice by one annotator: of other items, then."""
    names = ("annotator_id", "assignment_id", "criterion", "exposure", "system_x", "system_y")
    judged = {tuple(row[name] for name in names) for row in preferences}
    return len(judged) < len(preferences)
