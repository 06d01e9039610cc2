"""Each annotator beside the others: how consistent, how severe, how fast, how much of one mind, and which habits.

Nothing here excludes anybody; it tells a reviewer where to look.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from analysis.answers.both_orders import is_placed
from analysis.answers.careless import seen_of_outputs
from analysis.answers.consistency import direction_sums
from analysis.answers.tables import AnswerTables

CELL = ("criterion", "item_id", "sample", "system")
PAIR = ("criterion", "exposure", "system_x", "system_y")
FEWEST = 3  # cells shared with others, before a correlation says anything


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatorProfile:
    """What one annotator's answers look like; ``None`` where it cannot be said.

    Attributes
    ----------
    answers, missing : int
        Usable answers, and questions without one.
    seconds : float or None
        From taking the assignment to the last answer.
    largest_sum : float or None
        Largest P(x > y) + P(y > x) of this annotator; 1 is coherent.
    severity : float or None
        Mean of own score minus the mean score of the others in the same cell, in points; negative is severe.
    correlation : float or None
        Pearson's r of own scores with the mean scores of the others, over cells that others rated too.
    distance : float or None
        Mean absolute difference of own preferences from the mean of the others', in shares of 1.
    same_answer : float or None
        Share of ratings and preferences that are the annotator's most frequent one of their kind; 1 is straight-lining.
    first_column : float or None
        Mean score of outputs in the first column minus that of the others, in points.
    left_share : float or None
        Share of choices, ties half, that the output shown first won.
    outputs_seen : float or None
        Share of the outputs on the measured pages that were seen, as the rule of careless answering counts it.
    seconds_per_output : float or None
        Median time that an output was on screen, over all pages that show it.
    """

    annotator_id: str
    group: str
    answers: int
    missing: int
    seconds: float | None
    largest_sum: float | None
    severity: float | None
    correlation: float | None
    distance: float | None
    same_answer: float | None
    first_column: float | None
    left_share: float | None
    outputs_seen: float | None = None
    seconds_per_output: float | None = None


def annotator_profiles(tables: AnswerTables, reading: pl.DataFrame | None = None) -> list[AnnotatorProfile]:
    """Describe every annotator, LLMs included, in the order in which they first answer.

    ``reading`` is the table of that name, which :func:`spa.responses.export.export_tables` returns.
    Annotators are compared with the others of their own group. The cost grows with the answers, not with pairs
    of annotators: the mean of the others is the sum of all without one's own.
    """
    counted = _counted(tables)
    parts = [
        _seconds(tables),
        _largest_sums(tables.preferences),
        _compared_with_others(tables.ratings),
        _distances(tables.preferences),
        _same_answers(tables),
        _first_columns(tables.ratings),
        _left_shares(tables.choices),
        *([] if reading is None else [_seen(reading)]),
    ]
    for part in parts:
        counted = counted.join(part, on="annotator_id", how="left", maintain_order="left")
    return [AnnotatorProfile(**row) for row in counted.to_dicts()]


def _counted(tables: AnswerTables) -> pl.DataFrame:
    each = [
        table.select(pl.col("annotator_id", "group").cast(pl.String), pl.col("value").is_null().alias("none"))
        for table in tables.answers().values()
    ]
    return (
        pl.concat(each)
        .group_by("annotator_id", maintain_order=True)
        .agg(pl.col("group").first(), answers=(~pl.col("none")).sum(), missing=pl.col("none").sum())
    )


def _seconds(tables: AnswerTables) -> pl.DataFrame:
    empty = pl.DataFrame(schema={"annotator_id": pl.String, "seconds": pl.Float64})
    table = tables.annotators
    if table is None or "seconds" not in table.columns:
        return empty
    return table.select(pl.col("annotator_id").cast(pl.String), "seconds")


def _answered(table: pl.DataFrame | None, *columns: str) -> pl.DataFrame:
    """Return the usable answers of a table; no rows where there is no table."""
    names = ("annotator_id", "group", *columns)
    if table is None:
        return pl.DataFrame(schema={**dict.fromkeys(names, pl.String), "value": pl.Float64})
    kept = table.filter(pl.col("value").is_not_null())
    return kept.select(pl.col(names).cast(pl.String), pl.col("value").cast(pl.Float64))


def _largest_sums(table: pl.DataFrame | None) -> pl.DataFrame:
    if table is None:
        return pl.DataFrame(schema={"annotator_id": pl.String, "largest_sum": pl.Float64})
    sums = direction_sums(table.filter(pl.col("value").is_not_null()))
    if sums.is_empty():
        return pl.DataFrame(schema={"annotator_id": pl.String, "largest_sum": pl.Float64})
    return sums.group_by(pl.col("annotator_id").cast(pl.String)).agg(largest_sum=pl.col("sum").max())


def _with_others(rows: pl.DataFrame, cell: tuple[str, ...]) -> pl.DataFrame:
    """Add ``own``, the annotator's mean in a cell, and ``others``, the mean of the other annotators' means."""
    own = rows.group_by("group", *cell, "annotator_id", maintain_order=True).agg(own=pl.col("value").mean())
    everybody = [pl.col("own").sum().over("group", *cell), pl.len().over("group", *cell)]
    others = (everybody[0] - pl.col("own")) / (everybody[1] - 1)
    return own.with_columns(others=pl.when(everybody[1] > 1).then(others)).filter(pl.col("others").is_not_null())


def _compared_with_others(table: pl.DataFrame | None) -> pl.DataFrame:
    shared = _with_others(_answered(table, *CELL), CELL)
    varied = (pl.len() >= FEWEST) & (pl.col("own").n_unique() > 1) & (pl.col("others").n_unique() > 1)
    return shared.group_by("annotator_id").agg(
        severity=(pl.col("own") - pl.col("others")).mean(),
        correlation=pl.when(varied).then(pl.corr("own", "others")),
    )


def _distances(table: pl.DataFrame | None) -> pl.DataFrame:
    shared = _with_others(_answered(table, *PAIR), PAIR)
    return shared.group_by("annotator_id").agg(distance=(pl.col("own") - pl.col("others")).abs().mean())


def _same_answers(tables: AnswerTables) -> pl.DataFrame:
    """Return the share of the most frequent answer, of the kind in which it is largest."""
    found = []
    for table in (tables.ratings, tables.preferences):
        rows = _answered(table)
        counts = rows.group_by("annotator_id", "value").len()
        each = counts.group_by("annotator_id").agg(
            same_answer=pl.col("len").max() / pl.col("len").sum(), n=pl.col("len").sum()
        )
        found.append(each.filter(pl.col("n") >= FEWEST).drop("n"))
    return pl.concat(found).group_by("annotator_id").agg(pl.col("same_answer").max())


def _first_columns(table: pl.DataFrame | None) -> pl.DataFrame:
    rows = _answered(table, "position").filter(pl.col("position").is_not_null())
    first = pl.col("position").cast(pl.Float64, strict=False) == 1
    means = pl.col("value").filter(first).mean() - pl.col("value").filter(~first).mean()
    return rows.group_by("annotator_id").agg(first_column=means)


def _left_shares(table: pl.DataFrame | None) -> pl.DataFrame:
    placed = None if table is None else table.filter(is_placed(table))
    return _answered(placed).group_by("annotator_id").agg(left_share=pl.col("value").mean())


def _seen(reading: pl.DataFrame) -> pl.DataFrame:
    each = seen_of_outputs(reading)
    return each.group_by("annotator_id").agg(
        outputs_seen=pl.col("seen").mean(), seconds_per_output=pl.col("seconds").median()
    )
