"""Preference probabilities about single items: analysed as choices are, a probability standing for a share won."""

from __future__ import annotations

import polars as pl

from analysis.answers.columns import KNOWN, LAYOUTS, OPTIONAL, Check
from analysis.answers.unnamed import toward_first
from spa.errors import AnalysisError, shortened

CERTAIN = (0.0, 0.5, 1.0)  # what a choice can be: lost, neither, won
WHO = ("annotator_id", "variant")


def about_items(table: pl.DataFrame) -> bool:
    """Tell whether a checked table of preferences names items."""
    return "item_id" in table.columns and table["item_id"].null_count() < table.height


def check_items(check: Check) -> None:
    """Refuse tables of which some rows name an item and others do not, or that tell exposures of one item apart."""
    if not about_items(check.frame):
        return
    check.refuse(pl.col("item_id").is_null(), "item_id", "item_id must stand in every row, or in none")
    several = check.frame["exposure"].drop_nulls().n_unique() > 1
    if several:
        rule = "exposure must be empty beside item_id (a preference about one item has seen no more)"
        check.refuse(pl.col("exposure").is_not_null(), "exposure", rule)


def with_item_preferences(tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Put preferences about items among the choices, and keep them as they were asked as ``item_preferences``.

    Raises
    ------
    AnalysisError
        When somebody both chose and gave probabilities.
    """
    asked = tables.get("preferences")
    if asked is None or not about_items(asked):
        return tables
    asked = _in_forms(asked)
    others = {name: table for name, table in tables.items() if name != "preferences"}
    soft, choices = as_choices(asked), tables.get("choices")
    if choices is not None:
        both = choices.select(WHO).unique().join(soft.select(WHO).unique(), on=WHO, how="semi", nulls_equal=True)
        if both.height:
            who = shortened(repr(sorted(both["annotator_id"].to_list())[0]))
            raise AnalysisError(
                f"annotator {who} both chose and gave preferences about items; tell the two apart by a column variant "
                "or group"
            )
        soft = pl.concat([choices, soft], how="diagonal_relaxed")
    return others | {"choices": soft, "item_preferences": asked}


def as_choices(asked: pl.DataFrame) -> pl.DataFrame:
    """Return preferences about items as choices: ``value`` is the share that ``system_x`` won.

    Both directions of a pair are averaged within the cell (and repeat), toward the one that the table asks first;
    whichever was asked stands alone. Answers that are missing keep their rows.
    """
    layout = LAYOUTS["choices"]
    rows = toward_first(asked.with_row_index("place"))  # rows are numbered by file
    missing = rows.filter(pl.col("value").is_null())
    answered = rows.filter(pl.col("value").is_not_null())
    cell = ["group", *(name for name in layout.cell if name in rows.columns), "repeat"]
    others = [pl.col(name).first() for name in rows.columns if name not in (*cell, "value")]
    met = answered.group_by(*cell, maintain_order=True).agg(pl.col("value").mean(), *others)
    kept = pl.concat([met.select(rows.columns), missing]).sort("place").drop("place")
    absent = sorted(KNOWN["choices"] - set(OPTIONAL) - set(rows.columns))
    left = [name for name in ("preference", "asked_first", "exposure") if name in kept.columns]
    return kept.drop(left).with_columns(pl.lit(None, dtype=pl.String).alias(name) for name in absent)


def is_soft(table: pl.DataFrame) -> pl.DataFrame:
    """Return the groups and criteria of choices that hold probabilities, not choices alone."""
    soft = table.filter(pl.col("value").is_not_null() & ~pl.col("value").is_in(CERTAIN))
    return soft.select(pl.col("group", "criterion").cast(pl.String)).unique()


def as_chosen(llms: pl.DataFrame, people: pl.DataFrame) -> pl.DataFrame:
    """Return an LLM's answers to pairs as the choices that they imply, by criteria on which people chose.

    Beside a person's choice a probability of 0.9 would count as further off than another person's choice. Where people
    gave probabilities, too, the LLM's stay.
    """
    by_people = is_soft(people)["criterion"].unique().to_list()
    stated = is_soft(llms).filter(~pl.col("criterion").is_in(by_people)).with_columns(stated=True)
    if stated.is_empty():
        return llms
    both = llms.join(stated, on=("group", "criterion"), how="left", maintain_order="left")
    chosen = 0.5 + (pl.col("value") - 0.5).sign() / 2
    return both.with_columns(value=pl.when("stated").then(chosen).otherwise("value")).drop("stated")


def _in_forms(asked: pl.DataFrame) -> pl.DataFrame:
    """Take what an LLM that names no assignment said of one item as one, where it was asked in both directions.

    Then a contradiction about one item leaves out what it said of that item, not all that it ever said.
    """
    low, high = pl.min_horizontal("system_x", "system_y"), pl.max_horizontal("system_x", "system_y")
    llm = (pl.col("annotator_kind") == "llm").fill_null(False)
    told = asked.filter(llm, pl.col("value").is_not_null()).with_columns(low=low, high=high)
    bare = pl.col("assignment_id").is_null().all().over("annotator_id")
    about = ("annotator_id", "variant", "item_id", "sample", "criterion", "low", "high")
    both = told.filter(bare).group_by(about).agg(pl.col("system_x").n_unique() > 1)
    named = both.filter("system_x")["annotator_id"].unique().to_list()
    own = llm & pl.col("annotator_id").is_in(named)
    return asked.with_columns(pl.when(own).then("item_id").otherwise("assignment_id").alias("assignment_id"))
