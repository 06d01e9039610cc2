"""Files to frames of strings: CSV, Parquet or JSONL, each id as it is written ("001" stays "001")."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from analysis.answers.columns import KNOWN, NAMED, NUMBERS, VERBATIM
from analysis.answers.conversion import tidy_names
from analysis.answers.documents import GROUPING
from analysis.statistics.coding import FEW, Different, translate
from spa.errors import AnalysisError, ArgumentProblem, NoRows, TableError, shortened
from spa.tables.addresses import address_of, at_hand
from spa.tables.options import TableOptions
from spa.tables.paths import json_text
from spa.tables.reading import open_slices, open_table, reading
from spa.tables.scale_words import LEVELS, MISSING, sounds_bad
from spa.tables.selection import arranged, named_columns, nested
from spa.tables.source import RowsChosen, Source, Wanted, added, in_memory
from spa.tables.typed_columns import as_texts

WHITE = (  # of Unicode, as polars strips it
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
LISTED = "shown"  # the column of best-worst answers that may hold lists of names
WIDE_COLUMN, WIDE = "score", 65_536  # a column of answers, and how many different ones are kept as categories

LOOKED_AT, MOST_STEPS, HIGHEST = 100_000, 101, 100.0  # rows, different values and size of what may be scores
NO_SCORE = re.compile(
    r"(?i)(?:^|[\W_])(?:id|ids|idx|index|no|nr|num|number|time|timestamp|ts|secs?|seconds|minutes|ms|duration|date|day"
    r"|month|year|age|len|length|words|tokens|chars|seed|turn|step|rank|order|position|page|row|line|fold|split|batch"
    r"|temperature|top_p|top_k|cost|price|round|session|segment|doc|document|sample|repeat|version|weight|n|count|counts"
    r"|runtime|elapsed|rt|hour|hours|gpu|cpu|gpus|memory|fps|width|height|bytes|click|clicks|keystrokes|scroll|scrolled"
    r"|retry|retries|attempt|attempts|epoch|epochs|iteration|iterations|logprob|logprobs|views|phone|zip"
    r"|annotator|rater|worker|judge|participant|subject|user|person|item|question|prompt|system|model|task|hit|group)(?:$|[\W_\d])"
)

ANY_TABLE = GROUPING.union(*KNOWN.values())  # columns that one or another has


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """A file's rows as strings.

    ``first_row`` is what a reader calls the first row of answers: 2 under a CSV header, else 1; ``rows`` are what each
    is called where some were left out or taken apart; ``height`` is how many there are, also without a known column.
    """

    place: str
    columns: tuple[str, ...]  # as the file names them
    fractional: frozenset[str] = frozenset()  # renamed, stored as fractional numbers
    frame: pl.DataFrame
    height: int | None = None
    first_row: int
    rows: pl.Series | None = None
    notes: tuple[str, ...] = ()  # what is to be said of how it was read
    chosen: tuple[RowsChosen, ...] = ()  # rows left out by the options
    constants: frozenset[str] = frozenset()  # columns that the file lacks
    sha256: str | None
    lists: tuple[str, ...] = ()  # columns of the file that hold lists or objects
    parts: tuple[str, ...] = ()  # columns by which items of one id are several, such as document
    unread: tuple[str, ...] = ()  # columns of the file that look like scores, and are not known
    compared: tuple[str, str] = ("system_x", "system_y")  # what the file calls them
    named: tuple[str, ...] = ()  # words such as NA that are names
    problems: tuple[str, ...] = ()  # found before the table was checked
    counted: tuple[tuple[str, str, int], ...] = ()  # words that a reader explained, what each counts, in how many rows
    different: Different = field(default_factory=Different, compare=False)  # of the columns of the frame

    def all_notes(self) -> tuple[str, ...]:
        """Return all that is to be said of how it was read."""
        words = ", ".join(f"{word} counts {value} ({n}x)" for word, value, n in self.counted)
        told = (shortened(words, 300),) if words else ()
        return (*self.notes, *told, *(one.note() for one in self.chosen if one.left_out))

    def numbers(self) -> Sequence[int]:
        """Return what a reader calls each row."""
        if self.rows is not None:
            return self.rows.to_list()
        return range(self.first_row, self.first_row + self.frame.height)


def read_raw(path: Path, options: TableOptions, known: frozenset[str], *, coded: bool = False) -> RawTable:
    """Read one file as strings, rename columns by ``options`` and keep the ``known`` ones.

    Parameters
    ----------
    path : Path
        A file of a format in :mod:`spa.tables.reading`, here or at an address.
    options : TableOptions
        What the columns are called (names that this file lacks are left alone), which rows stay.
    known : frozenset of str
        Columns that the table may have; others are ignored.
    coded : bool
        Keep the strings as :func:`tidy_frame` does with ``coded``.

    Raises
    ------
    AnalysisError
        When the file cannot be read, has no rows, or a column twice.
    """
    try:
        with at_hand(path) as file, reading(file):  # columns are read on demand
            source = open_table(file, _wanted(known, coded), options)
            table = _raw_table(source, options, known, sha256=_digest(file), coded=coded)
            return table if file == path else replace(table, place=address_of(path) or str(path))
    except TableError as error:
        raise _translated(error) from error


def read_slices(
    path: Path | str, options: TableOptions, known: frozenset[str], *, rows: int, coded: bool
) -> Iterator[RawTable]:
    """Yield a file as :func:`read_raw` reads it, about ``rows`` rows at a time."""
    try:
        with at_hand(path) as file, reading(file):
            chosen: tuple[RowsChosen, ...] = ()
            sha256, some = None, False
            for source in open_slices(file, _wanted(known, coded), options, rows=rows):
                sha256 = sha256 or _digest(file)
                chosen = added(chosen, source.chosen)  # of this slice and those before
                if source.height or not source.chosen:
                    some = True
                    yield _raw_table(replace(source, chosen=chosen), options, known, sha256=sha256, coded=coded)
            if not some and chosen:
                raise _no_row_stays(str(path), chosen)
    except TableError as error:
        raise _translated(error) from error


def constant_problems(
    constants: Mapping[str, str], taken: Iterable[frozenset[str]], known: frozenset[str]
) -> list[str]:
    """Return a problem for each constant that no table took, of those whose columns are ``known``."""
    there = frozenset().union(*taken)
    return [
        ArgumentProblem(
            "constants",
            in_python="=" + shortened(repr({name: value})),
            in_command=" " + shortened(f"{name}={value}"),
            after=": expected a column that a table of answers lacks, but "
            + ("every table has it" if name in known else "there is no column of that name"),
        )
        for name, value in constants.items()
        if name not in there
    ]


def _wanted(known: frozenset[str], coded: bool) -> Wanted:
    numbers = known & NUMBERS | known - ANY_TABLE  # which none has are criteria, named by the options
    return Wanted(columns=known, coded=known - {WIDE_COLUMN} if coded else frozenset(), numbers=numbers)


def _translated(error: TableError) -> AnalysisError:
    return EmptyTable(*error.problems) if isinstance(error, NoRows) else AnalysisError(*error.problems)


class EmptyTable(AnalysisError):
    """A table has no row: as a part of a larger one it may be left out.

    ``chosen`` says which rows it had, ``columns`` which known ones it has above none.
    """

    chosen: tuple[RowsChosen, ...] = ()
    columns: tuple[str, ...] = ()


def _no_row_stays(place: str, chosen: tuple[RowsChosen, ...]) -> EmptyTable:
    there = "; ".join(f"{one.column}: {', '.join(one.others)}" for one in chosen if one.keeps and one.others)
    error = EmptyTable(
        f"{place}: no row stays ({'; '.join(one.note() for one in chosen)})"
        + (f"; there are: {shortened(there, 200)}" if there else "")
    )
    error.chosen = chosen
    return error


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _nested(source: Source) -> list[str]:
    return [name for name, kind in source.schema.items() if nested(kind)]


def raw_frame(
    frame: pl.DataFrame,
    place: str,
    options: TableOptions,
    known: frozenset[str],
    *,
    coded: bool = False,
    categories: bool = False,
) -> RawTable:
    """Return a frame in memory as :func:`read_raw` returns a file, without a hash.

    ``categories`` leaves columns of categories as they are, without looking at other columns as ``coded`` does.
    """
    try:
        source = arranged(in_memory(frame, place), _wanted(known, coded), options)
        return _raw_table(source, options, known, sha256=None, coded=coded, categories=categories)
    except TableError as error:
        raise _translated(error) from error


def _raw_table(
    source: Source,
    options: TableOptions,
    known: frozenset[str],
    *,
    sha256: str | None,
    coded: bool,
    categories: bool = False,
) -> RawTable:
    names = tidy_names(source.schema, options.mapping, source.place)
    for place in sorted(source.places):
        if names.get(place) == "annotator_id":
            raise AnalysisError(
                f"{source.place}: expected who answered in {place}, got places in a list of values, which are no "
                "people: leave that name out and say --unnamed"
            )
    rated = {WIDE_COLUMN, "annotator_id"} <= known
    used = named_columns(options)
    others = {old for old, new in names.items() if new not in known and old not in used}
    unread = unread_scores(source, others, names) if rated else ()
    padded, different = set[str](), Different()
    frame = _tidy(
        source, options.mapping, known, coded=coded, categories=categories, padded=padded, different=different
    )
    spaces = (f"{', '.join(sorted(padded))}: spaces around names are not read",) if padded else ()
    return RawTable(
        place=source.place,
        columns=tuple(source.schema),
        fractional=frozenset(names[old] for old, kind in source.schema.items() if kind.is_float()),
        frame=frame,
        height=source.height,
        first_row=source.first_row,
        rows=source.rows,
        lists=tuple(sorted(_nested(source), key=lambda name: isinstance(source.schema[name], pl.Struct))),
        notes=source.notes + spaces,
        chosen=source.chosen,
        constants=source.constants,
        sha256=sha256,
        unread=unread,
        different=different,
    )


def unread_scores(source: Source, columns: Container[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Return those of some columns that look like scores: numbers up to 100, or words of a scale.

    Names of other quantities ("seconds", "turn") are left out.

    Where there is a score beside them, texts of long tables are not looked at.
    """
    found = []
    for name, kind in source.schema.items():
        if name not in columns or not (kind.is_numeric() or kind == pl.String):
            continue
        if NO_SCORE.search(name) and not sounds_bad(name):  # as "number of errors" does
            continue
        if kind == pl.String and source.height > LOOKED_AT and WIDE_COLUMN in names.values():
            continue
        values = (source.sampled or source.column)(name).head(LOOKED_AT)
        texts = values.cast(pl.String).str.strip_chars()
        given = texts.filter((texts.str.len_bytes() > 0) & ~texts.str.contains(MISSING)).unique()
        if 0 < len(given) <= MOST_STEPS and _may_be_scores(given):
            found.append(name)
    return tuple(found)


def _may_be_scores(texts: pl.Series) -> bool:
    """Whether different texts are numbers of a usual size, or words of one scale."""
    numbers = texts.cast(pl.Float64, strict=False)
    largest = numbers.abs().max()
    words = {" ".join(word.casefold().split()) for word in texts.filter(numbers.is_null()).to_list()}
    small = not isinstance(largest, float) or largest <= HIGHEST
    return small and any(words <= {*scale} for scale in LEVELS)


def tidy_frame(
    frame: pl.DataFrame, place: str, mapping: Mapping[str, str], known: frozenset[str], *, coded: bool = False
) -> pl.DataFrame:
    """Rename and keep the known columns as strings; refuse a frame without rows.

    With ``coded`` the strings are of polars' categorical type, four bytes a row however long they are; a column of
    answers that holds too many different ones stays of strings.

    >>> tidy_frame(pl.DataFrame({"rater": ["001"], "x": [1]}), "f", {"rater": "id"}, frozenset({"id"})).to_dicts()
    [{'id': '001'}]
    """
    return _tidy(in_memory(frame, place), mapping, known, coded=coded)


def _tidy(
    source: Source,
    mapping: Mapping[str, str],
    known: frozenset[str],
    *,
    coded: bool,
    categories: bool = False,
    padded: set[str] | None = None,
    different: Different | None = None,
) -> pl.DataFrame:
    place = source.place
    names = tidy_names(source.schema, mapping, place)
    kept = {old: new for old, new in names.items() if new in known}
    kept = {old: new for old, new in kept.items() if new not in GROUPING or not nested(source.schema[old])}
    inside = {old for old in kept if nested(source.schema[old]) and any(own.startswith(f"{old}.") for own in kept)}
    kept = {old: new for old, new in kept.items() if old not in inside}  # whose parts are named
    listed = {old for old, new in kept.items() if new == LISTED and nested(source.schema[old])}
    for old, new in kept.items():
        if old in listed:
            continue
        if source.schema[old].is_nested() or isinstance(source.schema[old], pl.Duration):
            got = "lists or objects" if source.schema[old].is_nested() else "durations"
            raise AnalysisError(f"{place}: expected one text or number a cell, got {got} in column {new}")
    if not source.height and source.chosen:
        raise _no_row_stays(place, source.chosen)
    if not source.height:
        empty = EmptyTable(f"{place}: a header without rows; expected at least one answer")
        empty.columns = tuple(kept.values())
        raise empty
    padded = set() if padded is None else padded
    different = different or Different()
    cells = {}
    for old, new in kept.items():
        column = _as_lists(source, old) if old in listed else source.column(old)
        own = coded or (categories and isinstance(column.dtype, pl.Categorical))
        cells[new] = _cells(column, new, padded, different, coded=own)
    return pl.DataFrame([own.alias(name) for name, own in cells.items()])


def _as_lists(source: Source, name: str) -> pl.Series:
    """Return a column of lists as texts of JSON."""
    cells = [None if value is None else json_text(value) for value in source.values(name)]
    return pl.Series(name, cells, dtype=pl.String)


def _cells(column: pl.Series, name: str, padded: set[str], different: Different, *, coded: bool) -> pl.Series:
    """Return the strings of a column; names with spaces around them are added to ``padded``."""
    if name in VERBATIM:
        return as_texts(column)
    cells, spaces = _coded(column, different, several=name == WIDE_COLUMN) if coded else _plain(column)
    if spaces and name in NAMED:
        padded.add(name)
    return cells


def _plain(column: pl.Series) -> tuple[pl.Series, bool]:
    """Return the strings of a column without spaces around them, and whether there were some."""
    given = as_texts(column)
    if given.null_count() == len(given):
        return given, False
    if len(given) <= FEW:
        texts = given.to_list()
        stripped = [None if text is None else text.strip(WHITE) for text in texts]
        if stripped == texts and "" not in texts:
            return given, False
        return pl.Series(given.name, [text or None for text in stripped], dtype=pl.String), stripped != texts
    strings = given.str.strip_chars()
    size, left = pl.col("given").str.len_bytes(), pl.col("strings").str.len_bytes()
    both = pl.DataFrame({"given": given, "strings": strings})
    spaces, empty = both.select((size.sum() != left.sum()).alias("spaces"), (left == 0).any().alias("empty")).row(0)
    return strings.set(strings.str.len_bytes() == 0, None) if empty else strings, spaces


def _coded(column: pl.Series, different: Different, *, several: bool) -> tuple[pl.Series, bool]:
    """Return the strings of a column as categories, each different one cast and stripped once.

    ``several``: where these are many, all are stripped as strings.
    """
    given, few = column, not several or isinstance(column.dtype, pl.Categorical)
    if not isinstance(column.dtype, pl.Categorical):
        if len(column) <= (min(FEW, WIDE) if several else FEW):
            strings, spaces = _plain(column)
            return strings.cast(pl.Categorical), spaces
        if (close := _of_close_numbers(column)) is not None:
            return close, False
        some = column.head(LOOKED_AT) if column.dtype == pl.String else column  # as categories, texts are told apart
        if not few and some.n_unique() > WIDE:
            return _plain(column)
        if column.dtype == pl.String or isinstance(column.dtype, pl.Enum):
            column = column.cast(pl.Categorical)
        else:
            seen = column.unique()
            column = column.replace_strict(seen, as_texts(seen).cast(pl.Categorical), return_dtype=pl.Categorical)
    column = column.rechunk()  # what lies together is looked through once
    seen = different.of(column).cast(pl.String)
    if not few and len(seen) > WIDE:
        return _plain(given)
    plain, spaces = _plain(seen)
    if seen.equals(plain):
        return column, False
    return translate(column, lambda strings: _plain(strings)[0].cast(pl.Categorical), different), spaces


def _of_close_numbers(column: pl.Series) -> pl.Series | None:
    """Return whole numbers that lie close together as categories; of others nothing."""
    if not column.dtype.is_integer() or column.null_count():
        return None
    low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
    if high - low >= min(len(column), WIDE):
        return None
    place = column.to_numpy().astype(np.int64) - low
    there = np.flatnonzero(np.bincount(place))
    texts = as_texts(pl.Series(there + low, dtype=column.dtype)).cast(pl.Categorical)
    if len(there) <= high - low:  # only what occurs becomes a category
        number = np.zeros(high - low + 1, dtype=np.int64)
        number[there] = np.arange(len(there))
        place = number[place]
    return texts.gather(place).alias(column.name)
