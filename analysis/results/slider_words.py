"""Sliders that perhaps nobody moved: answers in the middle, and pages of equal ones, in tables that do not say so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from analysis.answers.tables import AnswerTables
from analysis.records.overview import WarningRow

LONG = 50  # from the lowest to the highest answer: a scale with a slider, if nothing says what it is
MANY = 0.1  # share of answers in the middle
STEPS = 11  # values at most that buttons offer
PAGE = ("annotator_id", "assignment_id", "item_id", "criterion", "elicitation")
SHOWN = 3  # values
FEWEST = 3  # ratings of a page, before equal ones look like sliders where they stood


def about_sliders(tables: AnswerTables) -> Iterator[WarningRow]:
    """Say where many answers of people stand where sliders usually begin, and no file tells whether these were moved.

    A form of a study has an answer only where its slider was touched, which exported tables show by the outcome of the
    visit; importers that know where a slider began say themselves how many stand there.
    """
    middle = n = 0
    if tables.preferences is not None:
        stated = _of_people(tables.preferences)["value"]
        middle, n = int((stated == 0.5).sum()), len(stated)
    if tables.ratings is not None and _perhaps_long(tables, [tables.ratings]):
        for (criterion, way), rows in _of_people(tables.ratings).group_by(
            "criterion", "elicitation", maintain_order=True
        ):
            scale = next((one for one in tables.scales if one.criterion in (criterion, None)), None)
            value = rows["value"].cast(pl.Float64)
            low, high = (value.min(), value.max()) if scale is None else (scale.low, scale.high)
            if not isinstance(low, float) or not isinstance(high, float):
                continue
            if way == "continuous" or (way is None and high - low >= LONG and value.n_unique() > STEPS):
                middle, n = middle + int((value == (low + high) / 2).sum()), n + len(value)
    if n and middle >= MANY * n:
        text = (
            f"{middle:,} of {n:,} percentages and answers on long scales stand in the middle, where sliders usually "
            "begin; the tables do not tell whether those were moved (a form of spa-eval has no answer until then)."
        )
        yield WarningRow(kind="untouched_sliders", group=None, text=text)
    yield from _equal_pages(tables)


def _equal_pages(tables: AnswerTables) -> Iterator[WarningRow]:
    """Count the pages on which every rating of a long scale is one and the same, hidden references among them."""
    given = [table for table in (tables.ratings, tables.unranked.ratings) if table is not None]
    if not given or not _perhaps_long(tables, given):
        return
    rows = pl.concat([_of_people(table, "annotator_id", "assignment_id", "item_id") for table in given])
    spread = pl.col("value").max() - pl.col("value").min()
    scale = rows.group_by("criterion", "elicitation").agg(spread=spread, values=pl.col("value").n_unique())
    long = scale.filter(
        (pl.col("elicitation") == "continuous")
        | (pl.col("elicitation").is_null() & (pl.col("spread") >= LONG) & (pl.col("values") > STEPS))
        | any(one.high - one.low >= LONG for one in tables.scales)
    )
    rows = rows.join(long, on=["criterion", "elicitation"], how="semi", nulls_equal=True)
    pages = rows.group_by(PAGE).agg(n=pl.len(), low=pl.col("value").min(), high=pl.col("value").max())
    pages = pages.filter(pl.col("n") >= FEWEST)
    equal = pages.filter(pl.col("low") == pl.col("high"))
    if equal.is_empty():
        return
    starts = equal["low"].value_counts(sort=True).sort("count", "low", descending=[True, False])
    shown = ", ".join(f"{value:g} on {count:,}" for value, count in starts.head(SHOWN).iter_rows())
    n = equal["annotator_id"].n_unique()
    people = f"{n:,} {'person' if n == 1 else 'people'}"
    yield WarningRow(
        kind="untouched_sliders",
        group=None,
        text=f"{equal.height:,} of {pages.height:,} pages, of {people}, have one and the same rating "
        f"throughout ({shown}): perhaps untouched, as sliders stand at one value first; they count.",
    )


def _perhaps_long(tables: AnswerTables, given: Sequence[pl.DataFrame]) -> bool:
    """Tell whether some ratings may be on a scale with a slider; of most tables the ends show that none are."""
    values = [own["value"].drop_nulls().to_numpy() for own in given]
    values = [own for own in values if len(own)]
    spread = max(own.max() for own in values) - min(own.min() for own in values) if values else 0.0
    sliders = any("elicitation" in own.columns and (own["elicitation"] == "continuous").any() for own in given)
    return sliders or bool(spread >= LONG) or any(one.high - one.low >= LONG for one in tables.scales)


def _of_people(table: pl.DataFrame, *more: str) -> pl.DataFrame:
    """Return the answers of people that no form of a study asked for."""
    own = pl.col("visit").is_not_null() if "visit" in table.columns else pl.lit(value=False)
    way = pl.col("elicitation") if "elicitation" in table.columns else pl.lit(None, dtype=pl.String)
    kept = table.filter(pl.col("annotator_kind") == "human", pl.col("value").is_not_null(), ~own)
    texts = pl.col("criterion", *more).cast(pl.String)
    return kept.select(texts, way.cast(pl.String).alias("elicitation"), pl.col("value").cast(pl.Float64))
