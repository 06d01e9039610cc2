"""Answers in the middle of long scales, in tables that do not say whether anybody moved a slider."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from analysis.answers.tables import AnswerTables
from analysis.records.overview import WarningRow

LONG = 50  # from the lowest to the highest answer: a scale with a slider, if nothing says what it is
MANY = 0.1  # share of answers in the middle
STEPS = 11  # values at most that buttons offer


def about_sliders(tables: AnswerTables) -> Iterator[WarningRow]:
    """Say where many answers of people stand where sliders usually begin, and no file tells whether these were moved.

    A form of a study has an answer only where its slider was touched, which exported tables show by the outcome of the
    visit; importers that know where a slider began say themselves how many stand there.
    """
    given = {name: _of_people(table) for name, table in tables.answers().items() if name != "choices"}
    middle = n = 0
    if "preferences" in given:
        stated = given["preferences"]["value"]
        middle, n = int((stated == 0.5).sum()), len(stated)
    if "ratings" in given:
        for (criterion, way), rows in given["ratings"].group_by("criterion", "elicitation", maintain_order=True):
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


def _of_people(table: pl.DataFrame) -> pl.DataFrame:
    """Return the answers of people that no form of a study asked for."""
    own = pl.col("visit").is_not_null() if "visit" in table.columns else pl.lit(value=False)
    way = pl.col("elicitation") if "elicitation" in table.columns else pl.lit(None, dtype=pl.String)
    kept = table.filter(pl.col("annotator_kind") == "human", pl.col("value").is_not_null(), ~own)
    return kept.select(pl.col("criterion").cast(pl.String), way.cast(pl.String).alias("elicitation"), "value")
