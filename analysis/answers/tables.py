"""Tidy tables: read, renamed and checked; all mistakes are reported at once."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from analysis.answers.answer_checks import CODED, REQUIRED, check_answers, check_together, named_by_elicitation
from analysis.answers.answer_words import unmet_words
from analysis.answers.checked_tables import CheckedTables, check_tables
from analysis.answers.codes import AnswerCode, find_codes, value_counts
from analysis.answers.columns import ANSWERS, KNOWN, WITH_ITEMS, Check, Scale
from analysis.answers.controls import ControlAnswers, without_controls
from analysis.answers.conversion import Frame, mapping_problems, polars_of
from analysis.answers.documents import GROUPING, Documents, find_documents
from analysis.answers.gamble_tables import with_gambled_choices
from analysis.answers.groups import fill_groups, kinds_by_annotator, with_groups
from analysis.answers.identity import Identified, beside_agreed, identified
from analysis.answers.input_files import InputFile, digest_of, input_files, people_file
from analysis.answers.item_preferences import with_item_preferences
from analysis.answers.joins import check_joins, silent_annotators
from analysis.answers.names_asked import check_and_ask
from analysis.answers.options import Reading, Told, untold
from analysis.answers.orderings import with_implied_choices
from analysis.answers.other_scales import OtherScale, find_other_scales
from analysis.answers.own_items import own_items_words, with_items, without_systems
from analysis.answers.people_columns import people_apart
from analysis.answers.reading import EmptyTable, RawTable, constant_problems, raw_frame, read_raw, tidy_frame
from analysis.answers.rescaling import Rescaled, rescaled_words
from analysis.answers.same_names import NearNames, Renamed, find_near_names
from analysis.answers.shapes import PAGES, WIDE, shaped, wide_columns
from analysis.answers.span_marks import with_places
from analysis.answers.span_tables import SpanDoubts, error_counts
from analysis.answers.unnamed import without_names
from analysis.answers.unranked import UnrankedRatings, recognised_words, without_unranked
from spa.errors import AnalysisError, ArgumentProblem
from spa.tables.selection import chosen_problems

BESIDE_STUDY = ("metrics", "corpus_metrics")  # tables of files, beside those of a store
NO_FILES: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnswerTables:
    """Checked tables. An answer table has ``value`` (null = missing), ``text``, ``group`` and all columns of its cell.

    ``readout``, ``form`` and ``explanation`` are kept where a table has them. ``value`` is a preference
    probability, a score, or 1, 0.5 and 0 where x, neither or y won; of preferences about items, which stand among the
    choices, the share that x won. The strings of ratings are of polars'
    categorical type (equal to strings in comparisons and lists, cast before a join with a table of strings), so
    that ten million rows fit into memory. ``choices`` hold those that ``orders`` and ``gambles`` imply, too.
    """

    preferences: pl.DataFrame | None = None
    ratings: pl.DataFrame | None = None
    choices: pl.DataFrame | None = None
    orders: pl.DataFrame | None = None  # outputs put in order; ``value`` is the rank
    gambles: pl.DataFrame | None = None  # outputs for sure against gambles; ``value`` is the utility
    metrics: pl.DataFrame | None = None
    corpus_metrics: pl.DataFrame | None = None  # of all outputs of a system together
    outputs: pl.DataFrame | None = None  # what is known of each: length, marks, columns of numbers
    outputs_read: pl.DataFrame | None = None  # by whom, before preferences; of a study alone
    identical_pairs: pl.DataFrame | None = None
    annotators: pl.DataFrame | None = None
    spans: pl.DataFrame | None = None  # marked errors, whose counts stand among the ratings
    reading: pl.DataFrame | None = None  # how each output was seen on each page
    seen: pl.DataFrame | None = None  # the same where no rule of the plan asks for it, for signs of careless answering
    item_preferences: pl.DataFrame | None = None  # as they were asked; ``choices`` hold them, too
    exclusions: pl.DataFrame | None = None  # who leaves by a decision taken outside of the plan's rules
    inputs: tuple[InputFile, ...] = ()
    scales: tuple[Scale, ...] = ()
    missing_codes: tuple[str, ...] = ()  # answers that were said to stand for "no answer"
    comparison_ends: tuple[float, float] | None = None  # numbers that say that system_x, or system_y, is better
    rescaled: tuple[Rescaled, ...] = ()  # scores that were mapped onto the scale of the others
    controls: tuple[ControlAnswers, ...] = ()  # systems that left, since they are attention checks
    unranked: UnrankedRatings = field(default_factory=UnrankedRatings)  # hidden references and anchors, which left, too
    documents: tuple[Documents, ...] = ()  # tables whose items look like segments of documents
    codes: tuple[AnswerCode, ...] = ()  # values that may stand for "no answer"
    other_scales: tuple[OtherScale, ...] = ()  # annotators who may have used another scale than the others
    span_doubts: SpanDoubts | None = None
    people: pl.DataFrame | None = None  # what is known of annotators, where the plan compares them by it
    near_names: tuple[NearNames, ...] = ()  # names that are nearly the same and count as different ones
    renamed: Renamed = field(default_factory=dict)  # names that were joined, by their column

    def answers(self) -> dict[str, pl.DataFrame]:
        """Return the answer tables that are there, by name."""
        tables = {"preferences": self.preferences, "ratings": self.ratings, "choices": self.choices}
        return {name: table for name, table in tables.items() if table is not None}


def answered_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of an answer table that hold an answer: the table itself where all do."""
    return table.filter(pl.col("value").is_not_null()) if table["value"].has_nulls() else table


def read_tables(paths: Mapping[str, Path | Sequence[Path]], reading: Reading, *, told: Told = untold) -> AnswerTables:
    """Read and check files.

    Parameters
    ----------
    paths : mapping of str to Path or sequence of Path
        Files by kind of table: preferences, ratings, choices, orders, gambles, spans, metrics, corpus_metrics,
        outputs, identical_pairs, annotators, reading, exclusions. Several files of answers of a kind are one table.
    reading : Reading
        What columns are called, which rows stay, LLMs, scales.
    told : callable, optional
        Is told what is done now.

    Raises
    ------
    AnalysisError
        With every mistake of every file, one line each.
    """
    raw: dict[str, list[RawTable]] = {}
    problems: list[str] = []
    empty: list[str] = []
    told("reading the answers")
    for kind, given in paths.items():
        for path in [given] if isinstance(given, Path) else given:
            try:
                table = read_raw(path, _options(reading, kind), _columns_read(kind, reading), coded=kind in CODED)
            except AnalysisError as error:
                without_rows = exported_empty(kind, error)
                problems += () if without_rows else error.problems
                empty += error.problems if without_rows and kind in WITH_ITEMS else ()
            else:
                raw.setdefault(kind, []).append(table)
    told("checking the answers")
    problems += () if {*WITH_ITEMS} & {*raw} else empty
    if raw:
        given_columns = {column for parts in raw.values() for table in parts for column in table.columns}
        problems += mapping_problems(given_columns, reading.mapping)
        problems += chosen_problems(reading, (one for parts in raw.values() for table in parts for one in table.chosen))
        problems += _constant_problems(raw, reading)
    return _check_all(raw, reading, problems)


def exported_empty(kind: str, error: AnalysisError) -> bool:
    """Whether a table has all columns of an export and no row, as of a way in which nobody was asked.

    Exclusions of nobody need no more than the columns that every table of them has.
    """
    columns = {*REQUIRED.get(kind, ()), *(() if kind == "exclusions" else ("annotator_kind",))}
    return isinstance(error, EmptyTable) and not error.chosen and columns <= {*error.columns}


def _options(reading: Reading, kind: str) -> Reading:
    """Return how a table is read: constants and records taken apart are for tables of answers."""
    return reading if kind in WITH_ITEMS else replace(reading, constants={}, each=None)


def _constant_problems(raw: Mapping[str, Sequence[RawTable]], reading: Reading) -> list[str]:
    """Return a problem for each constant that no table of answers took."""
    tables = [table for kind, parts in raw.items() if kind in WITH_ITEMS for table in parts]
    known = [_columns_read(kind, reading) for kind in raw if kind in WITH_ITEMS]
    taken = (table.constants for table in tables)
    return constant_problems(reading.constants, taken, frozenset().union(*known)) if tables else []


def check_frames(
    frames: Mapping[str, Frame], reading: Reading, *, files: Mapping[str, Path] = NO_FILES, agreed: bool = False
) -> AnswerTables:
    """Check frames (polars or pandas) that are in memory already, by the same rules as files, and ``files`` with them.

    Empty frames are left out: a study need not ask in every way. The hash kept is that of the rows as CSV. Tables that
    are ``agreed`` come from one study, whose ids are one way written and need not all have answers.
    """
    unknown = [kind for kind in frames if kind not in KNOWN]
    if unknown:
        raise ValueError(f"expected tables {', '.join(KNOWN)}, got {', '.join(unknown)}")
    raw: dict[str, list[RawTable]] = {}
    problems: list[str] = []
    seen: set[str] = set()
    for kind, given in frames.items():
        place = f"{kind} table"
        try:
            frame = polars_of(given, place=place)
            seen |= {*frame.columns}
            if frame.is_empty():
                continue
            columns = _columns_read(kind, reading)
            table = raw_frame(
                frame, place, _options(reading, kind), columns, coded=kind in CODED, categories=kind == "reading"
            )
        except AnalysisError as error:
            problems += error.problems
            continue
        seen |= {*table.columns}
        raw[kind] = [replace(table, sha256=digest_of(_ungrouped(table.frame)))]
    for kind, path in files.items():
        try:
            raw[kind] = [read_raw(path, _options(reading, kind), _columns_read(kind, reading))]
        except AnalysisError as error:
            problems += error.problems
    problems += mapping_problems(seen, reading.mapping)
    problems += chosen_problems(reading, (one for parts in raw.values() for table in parts for one in table.chosen))
    return _check_all(raw, reading, problems + _constant_problems(raw, reading), agreed=agreed)


def _columns_read(kind: str, reading: Reading) -> frozenset[str]:
    """Return the columns that a table may have, those that tell what items belong together, and those of scores."""
    known = KNOWN[kind] | GROUPING if kind in WITH_ITEMS else KNOWN[kind]
    if kind in WITH_ITEMS or kind == "annotators":
        known |= {*reading.people_columns}
    if kind == "outputs":
        return known | {*reading.output_columns}
    return known | wide_columns(kind, reading)


def _grouping(frame: pl.DataFrame) -> list[str]:
    return [name for name in frame.columns if name in GROUPING]


def _ungrouped(frame: pl.DataFrame) -> pl.DataFrame:
    names = _grouping(frame)
    return frame.drop(names) if names else frame


def _parts(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return the columns by which items of one id are several."""
    if "item_id" not in frame.columns:
        return ()
    there = _grouping(frame)
    n_items = frame["item_id"].n_unique() if there else 0
    return tuple(name for name in there if frame.select("item_id", name).n_unique() > n_items)


def read_annotator_tables(paths: Mapping[str, Path], reading: Reading) -> AnswerTables:
    """Read and check tables that stand beside answers which are read in parts: of annotators and exclusions.

    Raises
    ------
    AnalysisError
        With every mistake of every file.
    """
    raw: dict[str, list[RawTable]] = {}
    for kind, path in paths.items():
        try:
            raw[kind] = [shaped(read_raw(path, _options(reading, kind), KNOWN[kind]), kind, reading)]
        except EmptyTable as error:
            if not exported_empty(kind, error):
                raise
    known = identified(raw, reading, complete=False)
    checked = check_tables(known.tables, replace(known.reading, missing=(), rescale={}), []).tables
    filled: dict[str, Any] = fill_groups(checked, known.reading.llms, kinds_by_annotator(checked))
    return AnswerTables(**filled, inputs=input_files(known.tables), scales=reading.scales)


def _check_all(
    raw: Mapping[str, Sequence[RawTable]], reading: Reading, problems: list[str], *, agreed: bool = False
) -> AnswerTables:
    """Check all tables together: brought into one shape, each by itself, then what only all of them tell.

    The ids of a study, ``agreed``, are one way written already, and need not all have answers.
    """
    raw = _shaped(raw, reading, problems)
    raw = without_systems(raw) if reading.cut_system else raw
    raw = with_items(raw, reading.item_from) if reading.item_from is not None else raw
    if agreed and not problems and not {*BESIDE_STUDY}.isdisjoint(raw):
        raw = beside_agreed(raw, BESIDE_STUDY)
    known = None if agreed or problems else identified(raw, reading)
    if known is not None:
        raw, reading = known.tables, known.reading
    about_people, raw = people_apart(raw, reading.people_columns, (*WITH_ITEMS, "annotators"))
    seen = [table.frame for kind, parts in raw.items() if kind in WITH_ITEMS for table in parts]
    raw = _with_own_rows(raw, reading)
    asked = check_and_ask(raw, reading, known, problems)
    reading, checked = asked.reading, {**asked.checked.tables}
    if "spans" in checked:
        checked["ratings"] = _with_counts(checked.get("ratings"), checked["spans"])
    if not any(kind in checked for kind in ANSWERS):
        expected = "at least one table of preferences, ratings, choices, orders, gambles or spans"
        raise AnalysisError(f"no answers: expected {expected}")
    unmet: Mapping[str, Sequence[str]] = (
        {"annotators": silent_annotators(checked, WITH_ITEMS)} if known is None else _check_joins(known, checked)
    )
    grouped, controls = without_controls(with_groups(checked, reading.llms), reading.controls)
    grouped, unranked = without_unranked(grouped, reading.system_roles, complete=not agreed)
    complete: dict[str, Any] = with_item_preferences(with_gambled_choices(with_implied_choices(grouped)))
    logins = None if known is None else reading.people
    people = [] if known is None or logins is None else [people_file(logins, known.people)]
    codes, others = _doubtful_scores(complete, reading)
    notes = [unmet, {kind: asked.llms for kind in [*raw][:1]}, _notes(asked.checked)]
    if not agreed:
        notes += [{"ratings": [*recognised_words(unranked.systems, reading.system_roles)]}, own_items_words(raw)]
    return AnswerTables(
        **complete,
        inputs=(*input_files(raw, _together(*notes)), *people),
        scales=reading.scales,
        missing_codes=reading.missing,
        comparison_ends=reading.numbers,
        rescaled=asked.checked.rescaled,
        documents=_documents(seen),
        controls=controls,
        unranked=unranked,
        codes=codes,
        other_scales=others,
        span_doubts=asked.checked.span_doubts,
        people=about_people,
        near_names=() if known is None else find_near_names(known.own_names),
        renamed={} if known is None else known.renamed,
    )


def _with_own_rows(raw: Mapping[str, Sequence[RawTable]], reading: Reading) -> Mapping[str, Sequence[RawTable]]:
    """Return tables whose rows can be checked: without columns that group items, with names and places of marks."""
    ungrouped = {
        kind: [replace(table, frame=_ungrouped(table.frame), parts=_parts(table.frame)) for table in parts]
        if kind in WITH_ITEMS
        else parts
        for kind, parts in raw.items()
    }
    named = without_names(ungrouped, reading)
    return {**named, "spans": [with_places(table) for table in named["spans"]]} if "spans" in named else named


def _documents(frames: Sequence[pl.DataFrame]) -> tuple[Documents, ...]:
    """Return the tables of answers whose items look like segments of documents, each once."""
    found = (find_documents(frame, {name: frame[name] for name in _grouping(frame)}) for frame in frames)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _notes(checked: CheckedTables) -> dict[str, Sequence[str]]:
    """Return what is to be said of what was made of scores and marks, by table."""
    return {
        "ratings": (*checked.averaged, *rescaled_words(checked.rescaled)),
        "spans": () if checked.span_doubts is None else checked.span_doubts.notes,
    }


def _together(*said: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    kinds = dict.fromkeys(kind for one in said for kind in one)
    return {kind: [line for one in said for line in one.get(kind, ())] for kind in kinds}


def _shaped(raw: Mapping[str, Sequence[RawTable]], reading: Reading, problems: list[str]) -> dict[str, list[RawTable]]:
    """Return the tables with one row an answer; what stands in the way is added to ``problems``."""
    found: dict[str, list[RawTable]] = {}
    for kind, parts in raw.items():
        for table in parts:
            try:
                one = shaped(table, kind, reading)
            except AnalysisError as error:
                problems += error.problems
            else:
                found.setdefault(kind, []).append(one)
    if not problems:
        problems += unmet_words(reading.values, (table for parts in found.values() for table in parts))
        problems += _idle_options(reading, found)
    return found


def _idle_options(reading: Reading, there: Collection[str]) -> Iterator[str]:
    """Yield a problem for each option that is about tables which are not there."""
    about = {
        "criteria": (reading.criteria, WIDE["criterion"]),
        "systems": (reading.systems, WIDE["system"] | PAGES),
        "annotator_columns": (reading.annotator_columns, WIDE["annotator_id"]),
        "numbers": (reading.numbers, ("choices", "preferences")),
        "sides": (reading.sides, ("choices",)),
        "ends": (reading.ends, ("spans",)),
        "clean_outputs": (reading.clean_outputs, ("spans",)),
        "weights": (reading.weights, ("spans",)),
    }
    for name, (given, kinds) in about.items():
        if given and not {*kinds} & {*there}:
            yield ArgumentProblem(name, after=f": expected a table of {' or '.join(sorted(kinds))}, got none")


def _doubtful_scores(
    tables: Mapping[str, pl.DataFrame], reading: Reading
) -> tuple[tuple[AnswerCode, ...], tuple[OtherScale, ...]]:
    """Return what may be no score, or a score on another scale; where annotators have no names all have one scale."""
    codes: tuple[AnswerCode, ...] = ()
    others: tuple[OtherScale, ...] = ()
    if "ratings" in tables:
        counts = value_counts(tables["ratings"])
        codes = find_codes(counts, reading.scales)
        if not (reading.unnamed or reading.means):
            others = find_other_scales(tables["ratings"], counts, reading.scales, codes, reading.rescale)
    if "preferences" in tables:
        codes += find_codes(value_counts(tables["preferences"]), (), "preferences")
    return codes, others


def _check_joins(known: Identified, checked: Mapping[str, pl.DataFrame]) -> dict[str, list[str]]:
    """Refuse ids that must meet answers and do not; of several files of a table the first is named."""
    places = {kind: tables[0].place for kind, tables in known.tables.items()}
    return check_joins(known.names, checked, places, known.reading.llms, WITH_ITEMS)


def _with_counts(ratings: pl.DataFrame | None, spans: pl.DataFrame) -> pl.DataFrame:
    frame = tidy_frame(error_counts(spans), "spans table", {}, KNOWN["ratings"], coded=True)
    check = Check(frame.with_row_index("row", offset=1), "spans table")
    check_answers(check, "ratings", Reading())
    check_together(check, "ratings", ())
    counts = check.frame
    return counts if ratings is None else named_by_elicitation(pl.concat([ratings, counts], how="diagonal_relaxed"))
