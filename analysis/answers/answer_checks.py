"""Checks of one table of answers: its columns, each answer, and what all rows together must keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from analysis.answers.answer_words import with_numbers_proposed, with_proposed_numbers, with_ranks_proposed
from analysis.answers.columns import (
    CORPUS_METRIC_COLUMNS,
    KINDS,
    KNOWN,
    LAYOUTS,
    METRIC_COLUMNS,
    OPTIONAL,
    OVERALL,
    READING_COLUMNS,
    REQUIRED_SPANS,
    Check,
    Scale,
    empty_column,
    with_column,
)
from analysis.answers.documents import SEGMENT
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from analysis.answers.rescaling import Rescaled, own_scales, rescale_scores
from analysis.answers.shapes import criteria_proposed
from analysis.answers.turn_means import average_turns
from analysis.statistics.checks import LARGEST
from analysis.statistics.coding import FEW, all_differ, constant, number, translate
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.other_tools import means_of

REQUIRED = {
    **{kind: layout.required for kind, layout in LAYOUTS.items()},
    "metrics": METRIC_COLUMNS,
    "corpus_metrics": CORPUS_METRIC_COLUMNS,
    "identical_pairs": ("annotator_id", "criterion", "score", "expected"),
    "annotators": ("annotator_id",),
    "reading": READING_COLUMNS,
    "spans": REQUIRED_SPANS,
    "exclusions": ("annotator_id", "rule"),
    "outputs": ("item_id", "system"),
}
CODED = ("ratings",)  # tables that may be long: their strings are categories
DOUBLED_SHOWN = 3  # cells answered twice that a check names
PREFERRED_ELICITATIONS = (
    "spa",
    "likert",
    "continuous",
    "category",
    "spans",
    "choice",
)  # the first keeps the criterion's name


def check_part(table: RawTable, kind: str, reading: Reading) -> tuple[Check, tuple[Rescaled, ...]]:
    """Check a part of an answer table by all rules that need no other part; map scores onto declared scales.

    What they leave open: cells answered twice, scales of criteria that no part has, criteria rated in two ways, groups.

    Raises
    ------
    AnalysisError
        A required column is missing. All other mistakes are the ``problems`` of what is returned.
    """
    check = check_columns(table, kind)
    check_answers(check, kind, reading)
    if "turn" in check.frame.columns:
        about = "scores of turns must stand in one file, not in parts (call the column otherwise if it is no turn)"
        check.refuse(pl.col("turn").is_not_null(), "turn", about)
        check.frame = check.frame.drop("turn")
    if kind == "preferences":
        about = "preferences about items must stand in one file, not in parts"
        check.refuse(pl.col("item_id").is_not_null(), "item_id", about)
    rescaled = rescale_scores(check, reading, others=False) if kind == "ratings" and not check.problems else ()
    return check, rescaled


def check_columns(table: RawTable, kind: str) -> Check:
    """Begin the check of a table that has all required columns."""
    absent = [column for column in REQUIRED[kind] if column not in table.frame.columns]
    if absent:
        raise AnalysisError(*table.problems, *_absent_lines(table, absent))
    height, rows = table.frame.height, table.rows
    rows = pl.int_range(height, dtype=pl.UInt32, eager=True) + table.first_row if rows is None else rows
    frame = table.frame.clone().insert_column(0, rows.alias("row"))
    if all(frame[column].has_nulls() for column in frame.columns[1:]):
        frame = frame.filter(pl.any_horizontal(pl.exclude("row").is_not_null()))  # blank lines hold nothing
    check = Check(
        frame,
        table.place,
        named=table.named,
        compared=table.compared,
        parts=table.parts,
        different=table.different,
    )
    check.problems += table.problems
    return check


def check_together(check: Check, kind: str, scales: Sequence[Scale]) -> tuple[str, ...]:
    """Apply the rules for which all rows of a table are needed; return what is said of what was made of them."""
    if kind == "ratings" and scales:
        check.problems += unknown_scales(scales, check.frame["criterion"].unique().to_list(), check.place)
    if not check.problems:
        _check_cells(check, [*LAYOUTS[kind].cell, *({"turn"} & {*check.frame.columns})])
    averaged = average_turns(check) if kind == "ratings" and not check.problems else None
    if kind == "ratings":
        check.frame = named_by_elicitation(check.frame)
    return () if averaged is None else (averaged,)


def _absent_lines(table: RawTable, absent: Sequence[str]) -> list[str]:
    """Say which columns are missing; columns of numbers that may be the scores are proposed in a line of their own."""
    if "annotator_id" in absent and (means := means_of(table.columns)) is not None:
        return [f"{table.place}: expected a row an answer, got {means}"]
    if "score" not in absent or "system" in absent or not table.unread:
        return [_absent(table, absent)]
    others = [column for column in absent if column != "score"]
    there = shortened(", ".join(table.columns), 200)
    line = f"{table.place}: column score is missing (there are: {there}); "
    return [*([_absent(table, others)] if others else []), criteria_proposed(line, table.unread)]


def _absent(table: RawTable, absent: Sequence[str]) -> str:
    """Say which columns are missing; names with spaces around them are shown in quotes."""
    missing = f"column {absent[0]} is" if len(absent) == 1 else f"columns {', '.join(absent)} are"
    there = ", ".join(name if name == name.strip() else repr(name) for name in table.columns)
    rows = f", in {table.height} row{'s' * (table.height > 1)}" if table.height and not table.frame.columns else ""
    line = f"{table.place}: {missing} missing (there are: {shortened(there, 200)}{rows}); "
    if any(name != name.strip() and name.strip() in absent for name in table.columns):
        return line + "take out the spaces around names and values, such as those after a comma"
    return ArgumentProblem(
        "mapping",
        before=line + "name yours with ",
        in_python="=" + repr({"YOURS": absent[0]}),
        in_command=f" YOURS={absent[0]}",
        after=_ways(table, absent),
    )


def _ways(table: RawTable, absent: Sequence[str]) -> str:
    """Say what else may be done about columns that are missing."""
    if table.lists:
        return _lists(table.lists)
    if {"system", "score"} <= {*absent}:
        return ", or make a row of each score where each system has a column (spa import csv)"
    if [*absent] == ["annotator_id"]:
        return "; of one judge say --set annotator_id=NAME, of people whom nobody named --unnamed"
    return ""


def _lists(columns: Sequence[str]) -> str:
    """Say how to reach what stands in lists and objects."""
    if not columns:
        return ""
    hold = "holds" if len(columns) == 1 else "hold"
    return (
        f"; {shortened(', '.join(columns), 60)} {hold} lists or objects: --each {shortened(columns[0], 30)} makes "
        f"their parts rows, --map {shortened(columns[0], 30)}.KEY=NEW (of a list: [0].KEY) names one"
    )


def check_answers(check: Check, kind: str, reading: Reading) -> None:
    """Check the columns and every answer of a table; its frame gets ``value``, ``text`` and all columns of a cell."""
    layout = LAYOUTS[kind]
    absent = KNOWN[kind] - set(check.frame.columns) - set(OPTIONAL)
    strings = pl.Categorical() if kind in CODED else pl.String()
    given = sorted(KNOWN[kind] - set(layout.required) - absent - set(OPTIONAL))
    check.frame = check.frame.hstack([empty_column(name, check.frame.height, strings) for name in sorted(absent)])
    for column in layout.required[:-1]:
        check.names(column)
    check.blank(given)
    if check.frame["criterion"].has_nulls():
        check.frame = check.frame.with_columns(pl.col("criterion").fill_null(OVERALL))
    if "annotator_kind" not in absent:
        check_kind(check)
    if "system_x" in layout.cell:
        check.refuse(
            check.frame["system_x"] == check.frame["system_y"], "system_x", "system_x and system_y must be two systems"
        )
    if kind == "preferences":
        check.whole("exposure")
    if kind == "orders":
        check.whole("position")
    for column in {"mass", "readings_differ"} & set(check.frame.columns):
        check.number(column, column)
    _check_answer(check, kind, reading)


def _check_answer(check: Check, kind: str, reading: Reading) -> None:
    answer = LAYOUTS[kind].answer
    text = pl.col("text")
    check.frame = with_column(check.frame, check.frame[answer].alias("text"))
    if reading.missing:
        check.frame = with_column(check.frame, _without(check.frame[answer], reading.missing))
    if kind == "choices":
        value = pl.col(answer).replace_strict({"x": 1.0, "tie": 0.5, "y": 0.0}, default=None, return_dtype=pl.Float64)
        check.frame = check.frame.with_columns(value.alias("value"))
        if answer in reading.constants:  # each row lists the winner first, or each last, wherever it was shown
            check.frame = check.frame.with_columns(placed=pl.lit(False))
        if "both_bad" in check.frame.columns:
            check.truth("both_bad")
    else:
        there = len(check.problems)
        unread = check.number(answer, "value")
        if len(check.problems) > there and unread is not None:
            check.problems[there] = with_proposed_numbers(check.problems[there], unread)
    if kind == "preferences":
        outside = (check.frame["value"] < 0) | (check.frame["value"] > 1)
        there = len(check.problems)
        check.refuse(outside, answer, "preference must lie in [0, 1] (divide percentages by 100)")
        if len(check.problems) > there:
            proposed = with_numbers_proposed(check.problems[there], check.frame["value"], check.compared)
            check.problems[there] = proposed
    if kind == "orders":
        below = (pl.col("value") < 1) | (pl.col("value") % 1 != 0)
        there = len(check.problems)
        check.refuse(below, answer, "rank must be a whole number from 1, the best")
        if len(check.problems) > there:
            check.problems[there] = with_ranks_proposed(check.problems[there], check.frame["value"])
    if kind == "ratings":
        known = check.different.known(check.frame["value"])
        if known is None or _extreme(known).any():
            rule = "score must be 0 or of a size between 1e-100 and 1e100, to be squared"
            check.refuse(_extreme(check.frame["value"]), answer, rule)
        own_scales(check, reading.rescale)
        _check_scales(check, reading.scales, [*reading.rescale])
    if not check.frame["value"].has_nulls():
        dtype = check.frame.schema["missing_reason"]
        check.frame = with_column(check.frame, empty_column("missing_reason", check.frame.height, dtype))
        return
    given = pl.col("missing_reason")
    reason = pl.when(given.is_not_null()).then(given).when(text.is_null()).then(pl.lit("empty")).otherwise(text)
    check.frame = check.frame.with_columns(
        pl.when(pl.col("value").is_null()).then(reason).otherwise(None).alias("missing_reason")
    )


def _extreme(values: pl.Series) -> pl.Series:
    """Mark the values that no float holds when they are squared."""
    size = values.abs()
    return (size > LARGEST) | ((size > 0) & (size < 1 / LARGEST))


def _without(texts: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Take out what stands for "no answer"."""
    if not isinstance(texts.dtype, pl.Categorical):
        return texts.set(stand_for_nothing(texts, missing).fill_null(False), None)
    none = translate(texts, lambda seen: stand_for_nothing(seen, missing).fill_null(False))
    return texts.set(none, None)


def stand_for_nothing(texts: pl.Series, missing: Sequence[str]) -> pl.Series:
    """Mark the texts that are one of those that stand for "no answer", as written or as the same number.

    >>> stand_for_nothing(pl.Series(["-1.0", "1", "n/a", None]), ["-1", "n/a"]).to_list()
    [True, False, True, None]
    """
    numbers = pl.Series(missing).cast(pl.Float64, strict=False).drop_nulls()
    same = texts.cast(pl.Float64, strict=False).is_in(numbers.implode()).fill_null(False)
    return texts.cast(pl.String).is_in(missing) | same


def unmet_codes(missing: Sequence[str], texts: Iterable[str]) -> list[str]:
    """Return a problem for each text that should stand for "no answer" and is no answer; ``texts`` are those met."""
    met = pl.Series([*texts], dtype=pl.String)
    return [
        ArgumentProblem(
            "missing", in_python=f"={(code,)!r}", in_command=f" {shortened(code)}", after=": no answer is this"
        )
        for code in missing
        if not stand_for_nothing(met, [code]).any()
    ]


def unknown_scales(scales: Sequence[Scale], criteria: Iterable[str], place: str) -> list[str]:
    """Return a problem for each scale of a criterion that the table at ``place`` lacks."""
    named = {scale.criterion for scale in scales if scale.criterion is not None}
    return [
        ArgumentProblem(
            "scale", in_command=f" {shortened(name)}=...", after=f": {place} has no criterion {shortened(repr(name))}"
        )
        for name in sorted(named - {*criteria})
    ]


def _check_scales(check: Check, scales: Sequence[Scale], rescaled: Sequence[str]) -> None:
    """Refuse scores off a declared scale, but of those who used another."""
    named = [scale.criterion for scale in scales if scale.criterion is not None]
    for scale in scales:
        concerned = pl.col("criterion") == scale.criterion if scale.criterion else ~pl.col("criterion").is_in(named)
        concerned = concerned & ~pl.col("annotator_id").is_in(rescaled) if rescaled else concerned
        outside = concerned & ((pl.col("value") < scale.low) | (pl.col("value") > scale.high))
        of = f" of {scale.criterion}" if scale.criterion else ""
        check.refuse(outside, "score", f"score{of} must lie in [{scale.low:g}, {scale.high:g}]")


def _check_cells(check: Check, cell: Sequence[str]) -> None:
    """Refuse a cell answered twice; a missing answer beside an accepted one is not a second answer."""
    key = [*cell, "repeat"]
    answered = check.frame
    if answered["value"].has_nulls():
        answered = answered.filter(pl.col("value").is_not_null())
    varied = [answered[name] for name in key if not constant(answered[name])]
    if all_differ(*map(number, varied)) if varied else answered.height < 2:
        return
    doubled = answered.group_by(key).len().filter(pl.col("len") > 1)
    if doubled.is_empty():
        return
    answered = check.frame.with_row_index("at").filter(pl.col("value").is_not_null())
    twice = answered.join(doubled, on=key, how="semi", nulls_equal=True, maintain_order="left")
    twice = twice.group_by(key, maintain_order=True).agg("row", "at", alike=pl.col("value").n_unique() == 1)
    if twice.height > DOUBLED_SHOWN and twice["alike"].all():
        check.problems.append(_said_again(check, twice))
        return
    for found in twice.head(DOUBLED_SHOWN).to_dicts():
        place = f"{check.place}, {check.rows_named(found['row'], found['at'])}"
        own = {name: found[name] for name in cell}
        check.problems.append(answered_twice(place, len(found["row"]), own, parts=check.parts))
    if twice.height > DOUBLED_SHOWN:
        check.problems.append(f"{check.place}: {twice.height - DOUBLED_SHOWN} more cells are answered twice")


def _said_again(check: Check, twice: pl.DataFrame) -> str:
    """Return the problem of many cells with several answers that are all the same, as in an export given twice."""
    first = twice.row(0, named=True)
    return (
        f"{check.place}: {twice.height:,} cells are answered twice, always alike (the first: "
        f"{check.rows_named(first['row'], first['at'])}), as where an export is given or saved twice: leave one "
        "out; where they were indeed asked twice, take each as given again (--set repeat={row})"
    )


def answered_twice(place: str, times: int, cell: Mapping[str, str | None], *, parts: Sequence[str] = ()) -> str:
    """Return the problem of a cell with several answers; ``cell`` is its columns, ``parts`` those that name items."""
    if parts:
        both = f"item_id+{parts[0]}" if parts[0] == SEGMENT else f"{parts[0]}+item_id"  # the larger unit first
        do = f"if {parts[0]} and item_id name the item together, say --map {both}=item_id; else "
    else:
        do = ""
    where = ", ".join(f"{name} {shortened(value, 40)}" for name, value in cell.items() if value is not None)
    return (
        f"{place}: expected one answer a cell, got {times} for {shortened(where, 200)}; "
        f"{do}take each as given again (--set repeat={{row}}), or remove all but one"
        + ("; of several people whom nobody named say --unnamed" if cell.get("item_id") and not parts else "")
    )


def check_kind(check: Check) -> None:
    """Require a known kind in every row of ``annotator_kind``."""
    if check.frame.height <= FEW and {*check.frame["annotator_kind"].to_list()} <= {*KINDS}:
        return
    wrong = ~pl.col("annotator_kind").is_in(KINDS).fill_null(False)
    check.refuse(wrong, "annotator_kind", "annotator_kind must be human, llm or simulated")


def named_by_elicitation(frame: pl.DataFrame) -> pl.DataFrame:
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
