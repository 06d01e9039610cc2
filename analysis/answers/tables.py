"""Tidy tables: read, renamed and checked; all mistakes are reported at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import polars as pl

from analysis.answers.careless import CARELESS_RULES
from analysis.answers.columns import (
    ANNOTATOR_COLUMNS,
    CORPUS_METRIC_COLUMNS,
    KINDS,
    KNOWN,
    LAYOUTS,
    METRIC_COLUMNS,
    MISSING,
    OPTIONAL,
    OVERALL,
    READING_COLUMNS,
    REQUIRED_SPANS,
    Check,
    Scale,
    rows_named,
)
from analysis.answers.conversion import Frame, mapping_problems, polars_of
from analysis.answers.groups import with_groups
from analysis.answers.orderings import with_implied_choices
from analysis.answers.reading import RawTable, read_raw, tidy_frame
from analysis.answers.span_tables import check_spans, error_counts
from analysis.statistics.checks import LARGEST
from analysis.statistics.coding import code, fold
from analysis.statistics.record import Record
from spa.errors import AnalysisError, ArgumentProblem, shortened

REQUIRED = {
    **{kind: layout.required for kind, layout in LAYOUTS.items()},
    "metrics": METRIC_COLUMNS,
    "corpus_metrics": CORPUS_METRIC_COLUMNS,
    "identical_pairs": ("annotator_id", "criterion", "score", "expected"),
    "annotators": ("annotator_id",),
    "reading": READING_COLUMNS,
    "spans": REQUIRED_SPANS,
    "exclusions": ("annotator_id", "rule"),
}
CODED = ("ratings",)  # tables that may be long: their strings are categories
ANSWERS = ("preferences", "ratings", "choices", "orders")
DOUBLED_SHOWN = 3  # cells answered twice that a check names
NO_FILES: Mapping[str, Path] = MappingProxyType({})
PLANNED_RULES = (  # the plan's own; no table may name one
    "self_consistency",
    "screening",
    "attention_checks",
    "repeat_submissions",
    "extra_answers",
    "incomplete_answers",
    "ended_early",
    *CARELESS_RULES,
)
PREFERRED_ELICITATIONS = (
    "spa",
    "likert",
    "continuous",
    "category",
    "spans",
    "choice",
)  # the first keeps the criterion's name


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile(Record):
    """A file that was read, by its name and the hash of its bytes."""

    table: str
    file: str
    sha256: str | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerTables:
    """Checked tables. An answer table has ``value`` (null = missing), ``text``, ``group`` and all columns of its cell.

    ``readout``, ``form`` and ``explanation`` are kept where a table has them. ``value`` is a preference
    probability, a score, or 1, 0.5 and 0 where x, neither or y won. The strings of ratings are of polars'
    categorical type (equal to strings in comparisons and lists, cast before a join with a table of strings), so
    that ten million rows fit into memory. ``choices`` hold those that ``orders`` imply, too.
    """

    preferences: pl.DataFrame | None = None
    ratings: pl.DataFrame | None = None
    choices: pl.DataFrame | None = None
    orders: pl.DataFrame | None = None  # outputs put in order; ``value`` is the rank
    metrics: pl.DataFrame | None = None
    corpus_metrics: pl.DataFrame | None = None  # of all outputs of a system together
    identical_pairs: pl.DataFrame | None = None
    annotators: pl.DataFrame | None = None
    spans: pl.DataFrame | None = None  # marked errors, whose counts stand among the ratings
    reading: pl.DataFrame | None = None  # how each output was seen on each page
    exclusions: pl.DataFrame | None = None  # who leaves by a decision taken outside of the plan's rules
    inputs: tuple[InputFile, ...] = ()
    scales: tuple[Scale, ...] = ()

    def answers(self) -> dict[str, pl.DataFrame]:
        """Return the answer tables that are there, by name."""
        tables = {"preferences": self.preferences, "ratings": self.ratings, "choices": self.choices}
        return {name: table for name, table in tables.items() if table is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How files from elsewhere are read: columns renamed (old -> new), annotators that are LLMs, scales."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    llms: tuple[str, ...] = ()
    scales: tuple[Scale, ...] = ()


def answered_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of an answer table that hold an answer: the table itself where all do."""
    return table.filter(pl.col("value").is_not_null()) if table["value"].has_nulls() else table


def read_tables(paths: Mapping[str, Path], reading: Reading) -> AnswerTables:
    """Read and check files.

    Parameters
    ----------
    paths : mapping of str to Path
        Files by kind of table: preferences, ratings, choices, orders, spans, metrics, corpus_metrics, identical_pairs,
        annotators, reading, exclusions.
    reading : Reading
        Renamed columns, LLMs, scales.

    Raises
    ------
    AnalysisError
        With every mistake of every file, one line each.
    """
    raw: dict[str, RawTable] = {}
    problems: list[str] = []
    for kind, path in paths.items():
        try:
            raw[kind] = read_raw(path, reading.mapping, KNOWN[kind], coded=kind in CODED)
        except AnalysisError as error:
            problems += error.problems
    if raw:
        problems += mapping_problems({column for table in raw.values() for column in table.columns}, reading.mapping)
    return _check_all(raw, reading, problems)


def check_frames(
    frames: Mapping[str, Frame], reading: Reading, *, files: Mapping[str, Path] = NO_FILES
) -> AnswerTables:
    """Check frames (polars or pandas) that are in memory already, by the same rules as files, and ``files`` with them.

    Empty frames are left out: a study need not ask in every way. The hash kept is that of the rows as CSV.
    """
    unknown = [kind for kind in frames if kind not in KNOWN]
    if unknown:
        raise ValueError(f"expected tables {', '.join(KNOWN)}, got {', '.join(unknown)}")
    raw: dict[str, RawTable] = {}
    problems: list[str] = []
    seen: set[str] = set()
    for kind, given in frames.items():
        place = f"{kind} table"
        try:
            frame = polars_of(given, place=place)
            seen |= {*frame.columns}
            if frame.is_empty():
                continue
            tidy = tidy_frame(frame, place, reading.mapping, KNOWN[kind], coded=kind in CODED)
        except AnalysisError as error:
            problems += error.problems
            continue
        columns, sha256 = tuple(frame.columns), hashlib.sha256(tidy.write_csv().encode()).hexdigest()
        raw[kind] = RawTable(place=place, columns=columns, frame=tidy, first_row=1, sha256=sha256)
    for kind, path in files.items():
        try:
            raw[kind] = read_raw(path, reading.mapping, KNOWN[kind])
        except AnalysisError as error:
            problems += error.problems
    return _check_all(raw, reading, problems + mapping_problems(seen, reading.mapping))


def _absent(place: str, absent: Sequence[str], columns: Sequence[str]) -> str:
    """Say which columns are missing; names with spaces around them are shown in quotes."""
    missing = f"column {absent[0]} is" if len(absent) == 1 else f"columns {', '.join(absent)} are"
    there = ", ".join(name if name == name.strip() else repr(name) for name in columns)
    line = f"{place}: {missing} missing (there are: {shortened(there, 200)}); "
    if any(name != name.strip() and name.strip() in absent for name in columns):
        return line + "take out the spaces around names and values, such as those after a comma"
    return ArgumentProblem(
        "mapping",
        before=line + "name yours with ",
        in_python="=" + repr({"YOURS": absent[0]}),
        in_command=f" YOURS={absent[0]}",
    )


def _check_all(raw: Mapping[str, RawTable], reading: Reading, problems: list[str]) -> AnswerTables:
    checked: dict[str, pl.DataFrame] = {}
    for kind, table in raw.items():
        try:
            check = _check_columns(table, kind)
        except AnalysisError as error:
            problems += error.problems
            continue
        if kind in LAYOUTS:
            _check_answers(check, kind, reading.scales)
            _check_together(check, kind, reading.scales)
        elif kind == "metrics":
            _check_metrics(check, METRIC_COLUMNS, "output (item and system)")
        elif kind == "corpus_metrics":
            _check_metrics(check, CORPUS_METRIC_COLUMNS, "system")
        elif kind == "identical_pairs":
            _check_identical_pairs(check)
        elif kind == "spans":
            check_spans(check)
        elif kind == "reading":
            _check_reading(check)
        elif kind == "exclusions":
            _check_exclusions(check)
        else:
            _check_annotators(check)
        problems += check.problems
        checked[kind] = check.frame
    if problems:
        raise AnalysisError(*problems)
    if "spans" in checked:
        checked["ratings"] = _with_counts(checked.get("ratings"), checked["spans"])
    if not any(kind in checked for kind in ANSWERS):
        expected = "at least one table of preferences, ratings, choices, orders or spans"
        raise AnalysisError(f"no answers: expected {expected}")
    grouped = with_implied_choices(with_groups(checked, reading.llms))
    inputs = [InputFile(table=kind, file=Path(raw[kind].place).name, sha256=raw[kind].sha256) for kind in sorted(raw)]
    return AnswerTables(**grouped, inputs=tuple(inputs), scales=reading.scales)


def _with_counts(ratings: pl.DataFrame | None, spans: pl.DataFrame) -> pl.DataFrame:
    """Add to the ratings the counts of marked errors."""
    frame = tidy_frame(error_counts(spans), "spans table", {}, KNOWN["ratings"], coded=True)
    check = Check(frame.with_row_index("row", offset=1), "spans table")
    _check_answers(check, "ratings", ())
    _check_together(check, "ratings", ())
    counts = check.frame
    return counts if ratings is None else _named_by_elicitation(pl.concat([ratings, counts], how="diagonal_relaxed"))


def check_part(table: RawTable, kind: str, scales: Sequence[Scale]) -> Check:
    """Check a part of an answer table by all rules that need no other part.

    What they leave open: cells answered twice, scales of criteria that no part has, criteria rated in two ways, groups.

    Raises
    ------
    AnalysisError
        A required column is missing. All other mistakes are the ``problems`` of what is returned.
    """
    check = _check_columns(table, kind)
    _check_answers(check, kind, scales)
    return check


def _check_columns(table: RawTable, kind: str) -> Check:
    """Begin the check of a table that has all required columns."""
    absent = [column for column in REQUIRED[kind] if column not in table.frame.columns]
    if absent:
        raise AnalysisError(_absent(table.place, absent, table.columns))
    frame = table.frame.with_row_index("row", offset=table.first_row)
    if all(frame[column].has_nulls() for column in frame.columns[1:]):
        frame = frame.filter(pl.any_horizontal(pl.exclude("row").is_not_null()))  # blank lines hold nothing
    return Check(frame, table.place)


def _check_together(check: Check, kind: str, scales: Sequence[Scale]) -> None:
    """Apply the rules for which all rows of a table are needed."""
    if kind == "ratings":
        check.problems += unknown_scales(scales, check.frame["criterion"].unique().to_list(), check.place)
    if not check.problems:
        _check_cells(check, LAYOUTS[kind].cell)
    if kind == "ratings":
        check.frame = _named_by_elicitation(check.frame)


def _check_answers(check: Check, kind: str, scales: Sequence[Scale]) -> None:
    layout = LAYOUTS[kind]
    absent = KNOWN[kind] - set(check.frame.columns) - set(OPTIONAL)
    strings = pl.Categorical() if kind in CODED else pl.String()
    given = sorted(KNOWN[kind] - set(layout.required) - absent - set(OPTIONAL))
    check.frame = check.frame.with_columns(pl.lit(None, dtype=strings).alias(column) for column in sorted(absent))
    for column in layout.required[:-1]:
        check.names(column)
    check.blank(given)
    check.frame = check.frame.with_columns(pl.col("criterion").fill_null(OVERALL))
    if "annotator_kind" not in absent:
        _check_kind(check)
    if "system_x" in layout.cell:
        same = pl.col("system_x") == pl.col("system_y")
        check.refuse(same, "system_x", "system_x and system_y must be two systems")
    if kind == "preferences":
        check.whole("exposure")
    if kind == "orders":
        check.whole("position")
    for column in {"mass", "readings_differ"} & set(check.frame.columns):
        check.number(column, column)
    _check_answer(check, kind, scales)


def _check_answer(check: Check, kind: str, scales: Sequence[Scale]) -> None:
    answer = LAYOUTS[kind].answer
    text = pl.col(answer)
    check.frame = check.frame.with_columns(text.alias("text"))
    if kind == "choices":
        value = text.replace_strict({"x": 1.0, "tie": 0.5, "y": 0.0}, default=None, return_dtype=pl.Float64)
        check.frame = check.frame.with_columns(value.alias("value"))
        invalid = text.is_not_null() & ~text.str.contains(MISSING) & pl.col("value").is_null()
        check.refuse(invalid, answer, "winner must be x, y or tie (x stands for system_x)")
    else:
        check.number(answer, "value")
    if kind == "preferences":
        outside = (pl.col("value") < 0) | (pl.col("value") > 1)
        check.refuse(outside, answer, "preference must lie in [0, 1] (divide percentages by 100)")
    if kind == "orders":
        below = (pl.col("value") < 1) | (pl.col("value") % 1 != 0)
        check.refuse(below, answer, "rank must be a whole number from 1, the best")
    if kind == "ratings":
        size = pl.col("value").abs()
        extreme = (size > LARGEST) | ((size > 0) & (size < 1 / LARGEST))
        check.refuse(extreme, answer, "score must be 0 or of a size between 1e-100 and 1e100, to be squared")
        _check_scales(check, scales)
    if not check.frame["value"].has_nulls():
        dtype = check.frame.schema["missing_reason"]
        check.frame = check.frame.with_columns(pl.lit(None, dtype=dtype).alias("missing_reason"))
        return
    given = pl.col("missing_reason")
    reason = pl.when(given.is_not_null()).then(given).when(text.is_null()).then(pl.lit("empty")).otherwise(text)
    check.frame = check.frame.with_columns(
        pl.when(pl.col("value").is_null()).then(reason).otherwise(None).alias("missing_reason")
    )


def unknown_scales(scales: Sequence[Scale], criteria: Iterable[str], place: str) -> list[str]:
    """Return a problem for each scale of a criterion that the table at ``place`` lacks."""
    named = {scale.criterion for scale in scales if scale.criterion is not None}
    return [
        ArgumentProblem(
            "scale", in_command=f" {shortened(name)}=...", after=f": {place} has no criterion {shortened(repr(name))}"
        )
        for name in sorted(named - {*criteria})
    ]


def _check_scales(check: Check, scales: Sequence[Scale]) -> None:
    named = [scale.criterion for scale in scales if scale.criterion is not None]
    for scale in scales:
        concerned = pl.col("criterion") == scale.criterion if scale.criterion else ~pl.col("criterion").is_in(named)
        outside = concerned & ((pl.col("value") < scale.low) | (pl.col("value") > scale.high))
        of = f" of {scale.criterion}" if scale.criterion else ""
        check.refuse(outside, "score", f"score{of} must lie in [{scale.low:g}, {scale.high:g}]")


def _check_cells(check: Check, cell: Sequence[str]) -> None:
    """Refuse a cell answered twice; a missing answer beside an accepted one is not a second answer."""
    key = [*cell, "repeat"]
    answered = answered_rows(check.frame).select("row", *key)
    if len(fold(*(code(answered[name]).of for name in key))) == answered.height:
        return
    doubled = answered.group_by(key).len().filter(pl.col("len") > 1)
    if doubled.is_empty():
        return
    twice = answered.join(doubled, on=key, how="semi", nulls_equal=True, maintain_order="left")
    twice = twice.group_by(key, maintain_order=True).agg(pl.col("row"))
    for found in twice.head(DOUBLED_SHOWN).to_dicts():
        place = f"{check.place}, {rows_named(pl.Series(found['row']))}"
        check.problems.append(answered_twice(place, len(found["row"]), {name: found[name] for name in cell}))
    if twice.height > DOUBLED_SHOWN:
        check.problems.append(f"{check.place}: {twice.height - DOUBLED_SHOWN} more cells are answered twice")


def answered_twice(place: str, times: int, cell: Mapping[str, str | None]) -> str:
    """Return the problem of a cell with several answers; ``cell`` is its columns."""
    where = ", ".join(f"{name} {shortened(value, 40)}" for name, value in cell.items() if value is not None)
    return (
        f"{place}: expected one answer a cell, got {times} for {shortened(where, 200)}; "
        "number them in a column repeat or remove all but one"
    )


def _check_kind(check: Check) -> None:
    wrong = ~pl.col("annotator_kind").is_in(KINDS).fill_null(False)
    check.refuse(wrong, "annotator_kind", "annotator_kind must be human, llm or simulated")


def _named_by_elicitation(frame: pl.DataFrame) -> pl.DataFrame:
    """Split a criterion that was rated in two ways: scores on different scales are never pooled."""
    if frame["elicitation"].null_count() == frame.height:
        return frame
    asked = frame.select("criterion", "elicitation").drop_nulls().unique()
    for (criterion, way), name in names_by_elicitation(asked.iter_rows()).items():
        concerned = (pl.col("criterion") == criterion) & (pl.col("elicitation") == way)
        frame = frame.with_columns(pl.when(concerned).then(pl.lit(name)).otherwise("criterion").alias("criterion"))
    return frame


def names_by_elicitation(asked: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the names of criteria and elicitations that stand beside another elicitation of the same criterion.

    >>> names_by_elicitation([("fluency", "likert"), ("fluency", "continuous")])
    {('fluency', 'continuous'): 'fluency (continuous)'}
    """
    ways: dict[str, list[str]] = {}
    for criterion, way in asked:
        ways.setdefault(criterion, []).append(way)
    return {
        (criterion, other): f"{criterion} ({other})"
        for criterion, own in ways.items()
        for other in sorted(own, key=lambda way: (_preferred(way), way))[1:]
    }


def _preferred(way: str) -> int:
    known = PREFERRED_ELICITATIONS
    return known.index(way) if way in known else len(known)


def _check_metrics(check: Check, columns: Sequence[str], scored: str) -> None:
    for column in columns[:-1]:
        check.names(column)
    check.number("score", "value")
    doubled = pl.struct(columns[:-1]).is_duplicated() & pl.col("value").is_not_null()
    check.refuse(doubled, "metric", f"expected one score of a metric for each {scored}")
    check.refuse(pl.col("value").abs() > LARGEST, "score", "score must be of a size up to 1e100, to be squared")
    if "higher_is_better" in check.frame.columns:
        check.truth("higher_is_better")
        both = pl.col("higher_is_better").drop_nulls().n_unique().over("metric") > 1
        check.refuse(both, "metric", "higher_is_better must be the same in all rows of a metric")


def _check_identical_pairs(check: Check) -> None:
    for column in ("annotator_id", "criterion", "expected"):
        check.names(column)
    check.blank(column for column in ("variant", "group") if column in check.frame.columns)
    if "annotator_kind" in check.frame.columns:
        _check_kind(check)
    check.number("expected", "expected")
    check.number("score", "value")


def _check_annotators(check: Check) -> None:
    check.names("annotator_id")
    check.blank(column for column in ANNOTATOR_COLUMNS[1:] if column in check.frame.columns)
    if "annotator_kind" in check.frame.columns:
        _check_kind(check)
    for column in ("submissions", "sessions", "checks_failed", "checks_total"):
        if column in check.frame.columns:
            check.whole(column)
    if "screening_passed" in check.frame.columns:
        check.truth("screening_passed")
    if "seconds" in check.frame.columns:
        check.number("seconds", "seconds")
    doubled = pl.col("annotator_id").is_duplicated() & pl.col("annotator_id").is_not_null()
    check.refuse(doubled, "annotator_id", "expected one row an annotator")


def _check_reading(check: Check) -> None:
    check.names("annotator_id")
    check.blank(column for column in check.frame.columns if column not in ("row", "annotator_id"))
    if "annotator_kind" in check.frame.columns:
        _check_kind(check)
    check.whole("words")
    for column in ("page_seconds", "seconds", "scrolled"):
        check.number(column, column)
        check.refuse(pl.col(column) < 0, column, f"{column} must be 0 or more")
    check.refuse(pl.col("scrolled") > 1, "scrolled", "scrolled must be a share of the output's height, at most 1")
    if "variant" not in check.frame.columns:
        check.frame = check.frame.with_columns(variant=pl.lit(None, dtype=pl.String))


def _check_exclusions(check: Check) -> None:
    for column in ("annotator_id", "rule"):
        check.names(column)
    absent = [column for column in ("assignment_id", "evidence") if column not in check.frame.columns]
    check.frame = check.frame.with_columns(pl.lit(None, dtype=pl.String).alias(column) for column in absent)
    check.blank(column for column in ("assignment_id", "evidence") if column not in absent)
    if "annotator_kind" in check.frame.columns:
        _check_kind(check)
    taken = pl.col("rule").is_in(PLANNED_RULES)
    check.refuse(taken, "rule", f"rule must be a name of your own, not one of the plan's ({', '.join(PLANNED_RULES)})")
