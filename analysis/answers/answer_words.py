"""Words in a column of answers: what each counts, by what a reader said and by :mod:`spa.tables.verdicts`.

Nothing is guessed: a word that may mean two things is refused, with a mapping ready to paste.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import polars as pl

from analysis.answers.columns import LAYOUTS, rows_named
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from spa.errors import ArgumentProblem, shortened
from spa.tables.paths import inside
from spa.tables.scale_words import MISSING, proposed_numbers
from spa.tables.verdicts import (
    COLUMNS,
    Outcome,
    Sides,
    one_way,
    orientation,
    outcome,
    proposals,
    says_nothing_of_sides,
)
from spa.tables.verdicts import MISSING as NO_ANSWER

NUMBERS = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
WINNERS = ("x", "y", "tie")
ROWS = ("winner", "system_x", "system_y")
PERCENT, OF_MOST = re.compile(r"[+-]?\d+([.,]\d+)?\s*%"), re.compile(r"(\d+)\s*(/\s*\d+)")  # 87 %, 3/5
DATE = re.compile(r"\d{1,2}[-/ ](?:\d{1,2}|[A-Z][a-z]{2})(?:[-/ ]\d{2,4})?|[A-Z][a-z]{2}[- ]\d{1,2}")  # 3-4, Mar-04
STARS, EMPTY_STARS = re.compile("[★⭐*]+☆*|☆+"), "☆|️"
PROPOSED_LENGTH, MOST_PROPOSED = 260, 12  # characters and words of a mapping that a message proposes


def with_counted_words(table: RawTable, kind: str, reading: Reading) -> RawTable:
    """Return an answer table in which each word counts what the reader said, and winners are x, y or tie."""
    answer = LAYOUTS[kind].answer
    table = replace(table, compared=compared_columns(table, reading))
    if answer not in table.frame.columns:
        return table
    fitting = {word: value for word, value in reading.values.items() if _fits(value, kind)}
    table = _with_values(table, answer, fitting)
    if kind == "preferences" and reading.numbers is not None:
        return _between(table, reading.numbers)
    if kind == "choices" and {*ROWS} <= {*table.frame.columns}:
        return _with_winners(table, reading)
    return table


def _fits(value: str, kind: str) -> bool:
    """Whether what a word counts is an answer of this kind of table."""
    number = re.fullmatch(NUMBERS, value) is not None
    return value == NO_ANSWER or number == (kind != "choices")


def compared_columns(table: RawTable, reading: Reading) -> tuple[str, str]:
    """Return what the columns of the two systems are called in the file."""
    names = dict.fromkeys(COLUMNS, "")
    for old, new in reading.mapping.items():
        if new in names and (old in table.columns or not names[new]):
            names[new] = old
    first, second = (
        name if column in table.columns or not names[column] else names[column]
        for column, name in zip(COLUMNS, COLUMNS, strict=True)
    )
    return first, second


def _with_values(table: RawTable, answer: str, values: Mapping[str, str]) -> RawTable:
    """Put what words count in their place; "missing" is no answer, for the reason that the word is."""
    texts = table.frame[answer]
    if not values:
        return table
    if NO_ANSWER in values.values() and "missing_reason" not in table.frame.columns:
        table = replace(table, frame=table.frame.with_columns(missing_reason=pl.lit(None, dtype=_strings(texts))))
    folded = {one_way(word).casefold(): value for word, value in values.items()}
    seen = texts.unique().drop_nulls().cast(pl.String).to_list()
    told = {word: values.get(word, folded.get(one_way(word).casefold())) for word in seen}
    counts = {word: value for word, value in told.items() if value is not None}
    if not counts:
        return table
    cells = table.frame.select(pl.col(answer).cast(pl.String)).group_by(answer).len()
    n_rows = dict(cells.iter_rows())
    table = replace(table, counted=tuple((word, counts[word], n_rows[word]) for word in sorted(counts)))
    gone = [word for word, value in counts.items() if value == NO_ANSWER]
    kept = {word: value for word, value in counts.items() if value != NO_ANSWER}
    plain = pl.col(answer).cast(pl.String)
    frame = table.frame
    if gone:
        given = pl.col("missing_reason").cast(pl.String)
        why = pl.when(plain.is_in(gone)).then(pl.coalesce(given, plain)).otherwise(given)
        frame = frame.with_columns(why.cast(_strings(texts)).alias("missing_reason"))
    counted = pl.when(~plain.is_in(gone)).then(plain.replace(kept))
    return replace(table, frame=frame.with_columns(counted.cast(_strings(texts)).alias(answer)))


def unmet_words(values: Mapping[str, str], tables: Iterable[RawTable]) -> list[str]:
    """Return a problem for each word that a reader explained and no answer is."""
    met = {one_way(word).casefold() for table in tables for word, _, _ in table.counted}
    return [
        ArgumentProblem(
            "values",
            in_python=f"={dict([(word, value)])!r}",
            in_command=f" {shlex.quote(f'{word}={value}')}",
            after=": no answer is this word",
        )
        for word, value in values.items()
        if one_way(word).casefold() not in met
    ]


def _strings(texts: pl.Series) -> pl.DataType:
    return pl.Categorical() if isinstance(texts.dtype, pl.Categorical) else pl.String()


def _between(table: RawTable, ends: tuple[float, float]) -> RawTable:
    """Turn numbers between that of a certain system_x and that of a certain system_y into probabilities of x."""
    first, second = ends
    text = pl.col("preference")
    number = text.cast(pl.Float64, strict=False)
    low, high = min(ends), max(ends)
    outside = number.is_not_nan() & ~number.is_between(low, high)
    problems = table.problems
    if (rows := _rows(table, outside)).len():
        got = shortened(repr(table.frame.filter(outside)["preference"][0]))
        line = f"{table.place}, {rows_named(rows)}: preference must lie between {low:g} and {high:g}, got {got}; see "
        problems = (
            *problems,
            ArgumentProblem("numbers", before=line, in_python=f"={ends}", in_command=f" {first:g}:{second:g}"),
        )
    share = ((number - second) / (first - second)).cast(pl.String)
    inside = number.is_not_nan() & ~outside
    kept = pl.when(inside).then(share).when(~outside.fill_null(False)).then(text)
    return replace(table, frame=table.frame.with_columns(kept.alias("preference")), problems=problems)


def _rows(table: RawTable, concerned: pl.Expr | pl.Series) -> pl.Series:
    """Return what a reader calls the rows in which something holds."""
    frame = table.frame
    rows = table.rows if table.rows is not None else pl.Series(range(table.first_row, table.first_row + frame.height))
    mask = concerned if isinstance(concerned, pl.Series) else frame.select(concerned.alias("wrong"))["wrong"]
    return rows.filter(mask.fill_null(False))


def _with_winners(table: RawTable, reading: Reading) -> RawTable:
    """Write every winner as x, y or tie; ``both_bad`` marks the ties of two bad ones. What is not told is refused."""
    frame = table.frame
    words = {*frame["winner"].unique().to_list()} - {None}
    if words <= {*WINNERS} and table.compared == COLUMNS and reading.sides != "names":
        if not any((frame[column] == "tie").any() for column in COLUMNS):
            return table
    systems = {*frame["system_x"].unique().to_list(), *frame["system_y"].unique().to_list()}
    sides = reading.sides or ("places" if "label_x" in frame.columns else None)  # a study's own table
    named = not systems.isdisjoint(words - {*WINNERS})  # winners are written as systems
    told = frame.select(ROWS).unique(maintain_order=True).drop_nulls("winner")
    found = [
        _outcome(word, first or "", second or "", table.compared, reading.numbers, sides, named)
        for word, first, second in told.iter_rows()
    ]
    told = told.with_columns(
        pl.Series("won", [one.winner for one in found], dtype=pl.String),
        pl.Series("bad", [one.both_bad for one in found], dtype=pl.Boolean),
        pl.Series("reading_status", [one.status for one in found], dtype=pl.String),
    )
    frame = frame.join(told, on=ROWS, how="left", nulls_equal=True, maintain_order="left")
    problems = list(table.problems)
    missing = pl.col("winner").str.contains(MISSING) | pl.col("winner").is_in(reading.missing)
    unread = frame.select(pl.col("reading_status").is_in(["proposed", "unknown"]) & ~missing)["reading_status"]
    differs = frame["reading_status"] == "differs"
    if unread.any():
        near = {one.casefold(): one for one in sorted(systems - {None})}
        problems.append(
            _unread_problem(table, unread, frame.filter(unread)["winner"].unique(maintain_order=True), near)
        )
    if differs.any():
        problems.append(_differs_problem(table, differs, frame.filter(differs)))
    columns = [pl.when(pl.col("reading_status") == "read").then("won").when(missing).then("winner").alias("winner")]
    if frame["bad"].any():
        both_bad = pl.col("bad") & (pl.col("reading_status") == "read")
        columns.append(pl.when(both_bad).then(pl.lit("true")).alias("both_bad"))
    frame = frame.with_columns(columns).drop("won", "bad", "reading_status")
    return replace(table, frame=frame, problems=tuple(problems))


def _outcome(
    word: str,
    first: str,
    second: str,
    columns: tuple[str, str],
    numbers: tuple[float, float] | None,
    sides: Sides | None,
    named: bool,
) -> Outcome:
    if numbers is not None and word not in (first, second) and re.fullmatch(NUMBERS, word):
        of_x = (float(word) - numbers[1]) / (numbers[0] - numbers[1])
        if 0 <= of_x <= 1:
            return Outcome(winner="x" if of_x > 0.5 else "tie" if of_x == 0.5 else "y")
    return outcome(word, first, second, columns=columns, sides=sides, named=named)


def _unread_problem(table: RawTable, unread: pl.Series, words: pl.Series, near: Mapping[str, str]) -> str:
    got = shortened(repr(words[0]))
    line = (
        f"{table.place}, {rows_named(_rows(table, unread))}: winner must be x, y or tie (x stands for system_x), or a "
        f"system of its row, got {got}"
    )
    seen = words.to_list()
    numeric = all(re.fullmatch(NUMBERS, word) for word in seen)
    if numeric and (len(seen) > 3 or any(float(word) % 1 or float(word) < 0 for word in seen)):
        ends = f"{max(map(float, seen)):g}:{min(map(float, seen)):g}"
        return ArgumentProblem(
            "numbers",
            before=f"{line}; give the numbers of a win of system_x and of system_y: ",
            in_python=f"=({ends.replace(':', ', ')})",
            in_command=f" {ends}",
            after=", or the other way round",
        )
    first = shortened(table.compared[0], 30)
    only = f", if {first} always stood first" if says_nothing_of_sides(seen, table.compared) else ""
    counted = proposals(seen, table.compared)
    named = {word: near[word.casefold()] for word, value in counted.items() if value == "?" and word.casefold() in near}
    return with_proposal(line, {**counted, **named}, only)


def _differs_problem(table: RawTable, differs: pl.Series, rows: pl.DataFrame) -> str:
    word, first, second = (shortened(name, 30) for name in rows.select(ROWS).row(0))
    return ArgumentProblem(
        "sides",
        before=(
            f"{table.place}, {rows_named(_rows(table, differs))}: the winner {word!r} of {first} and {second} is a "
            f"system's name, and a word for {_place_words(word, table.compared)}, too; say which it is: "
        ),
        in_python="='names' or 'places'",
        in_command=" names or places",
    )


def _place_words(word: str, columns: tuple[str, str]) -> str:
    placed = outcome(word, "\0", "\0\0", columns=columns)
    return {"x": "system_x", "y": "system_y"}.get(placed.winner or "", placed.word)


def with_proposal(line: str, counted: Mapping[str, str], only: str = "") -> str:
    """Return a problem with a mapping of words that is ready to paste, as far as a line can hold it."""
    kept: dict[str, str] = {}
    for word, value in counted.items():
        if len(kept) < MOST_PROPOSED and sum(len(one) + 12 for one in (*kept, word)) < PROPOSED_LENGTH:
            kept[word] = value
    command = [shlex.quote(f"{word}={value}") for word, value in kept.items()]
    more = len(counted) - len(kept)
    unknown = "?" in kept.values()
    return ArgumentProblem(
        "values",
        before=f"{line}; say what each word counts: ",
        in_python=f"={kept}",
        in_command=" " + " --value ".join(command),
        after=only + (f" and {more} more" if more else "") + (" (write a value for each ?)" if unknown else ""),
    )


def _way_inside(words: Sequence[str]) -> str:
    """Say how to reach what stands in cells that hold JSON; nothing where they hold none."""
    found = inside(words[0]) if words else None
    if isinstance(found, list) and not any(isinstance(one, list | dict) for one in found):
        return "such a cell holds a list: --each COLUMN makes a row of each (several of equal length: --each 'A, B')"
    first, place = (found[0], "[0]") if isinstance(found, list) else (found, "")
    key = next(iter(first), None) if isinstance(first, dict) else None
    return (
        ""
        if key is None
        else f"such a cell holds JSON: name what is inside, such as COLUMN{place}.{shortened(key, 30)}"
    )


def with_proposed_numbers(problem: str, words: pl.Series) -> str:
    """Add to the problem of a column of numbers what its words may count, where they are words and few."""
    seen = [word for word in words.cast(pl.String).to_list() if word is not None]
    if way := _way_inside(seen):
        return f"{problem}; {way}"
    if seen and all(PERCENT.fullmatch(word) for word in seen):
        return f"{problem}; write it without percent signs"
    if not seen:
        return problem
    if len(seen) > MOST_PROPOSED and not all(DATE.fullmatch(word) for word in seen):
        return f"{problem}; write numbers there, or name another column as the score"
    parts = [OF_MOST.fullmatch(word) for word in seen]
    if len({part[2] if part else "" for part in parts}) == 1 and parts[0]:
        return with_proposal(problem, {part[0]: part[1] for part in parts if part})
    if all(DATE.fullmatch(word) for word in seen):
        return f"{problem}; spreadsheets make dates of such numbers: set the column to text and write them again"
    if all(re.fullmatch(r"\d+,\d+", word) for word in seen):
        return problem
    if all(STARS.fullmatch(word) for word in seen):
        return with_proposal(problem, {word: str(len(re.sub(EMPTY_STARS, "", word))) for word in seen})
    letters = any(re.search(r"[^\W\d_]", word) for word in seen)  # else signs, such as thumbs
    short = not all(re.search(r"[^\W\d_]{2}", word) for word in seen)
    if letters and short and not any(re.search(r"\d", word) for word in seen):
        return with_proposal(problem, dict.fromkeys(seen, "?"))
    return with_proposal(problem, proposed_numbers(seen))


def with_ranks_proposed(problem: str, values: pl.Series) -> str:
    """Add to the problem of ranks that begin at 0 the mapping that lets them begin at 1."""
    given = values.drop_nulls()
    ranks = given.unique().sort().to_list()
    if not ranks or ranks[0] != 0 or any(rank % 1 for rank in ranks):
        return problem
    return with_proposal(problem, {f"{rank:g}": f"{rank + 1:g}" for rank in ranks})


def with_numbers_proposed(problem: str, values: pl.Series, columns: tuple[str, str]) -> str:
    """Add to the problem of preferences outside of [0, 1] the option that reads them.

    Those of 1 to 2, and 0, a tie, are known by their columns; of others the ends of their scale are proposed, as far as
    they are seen: 100 and 0, 3 and -3, 7 and 1.
    """
    given = values.drop_nulls()
    if not given.filter(given != 0).is_between(1, 2).all():
        low, high = float(given.min() or 0), float(given.max() or 0)  # type: ignore[arg-type]
        if low < 0:
            low, high = -max(-low, high), max(-low, high)
        elif 10 < high <= 100:
            low, high = 0.0, 100.0
        return ArgumentProblem(
            "numbers",
            before=f"{problem}; if {high:g} says that {columns[0]} is better, and {low:g} {columns[1]}: ",
            in_python=f"=({high:g}, {low:g})",
            in_command=f" {high:g}:{low:g}",
            after=", else the other way round",
        )
    ends = (2, 1) if orientation(columns)[1] else (1, 2)
    return ArgumentProblem(
        "numbers",
        before=f"{problem}; where {ends[0]} says that {columns[0]} is better, and {ends[1]} {columns[1]}: ",
        in_python=f"={ends}",
        in_command=f" {ends[0]}:{ends[1]}",
        after=", and 1.5 as the value of 0, if that is a tie" if (given == 0).any() else "",
    )
