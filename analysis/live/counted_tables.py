"""The tables of the people whom a live study counts, as they were when these had completed their answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import polars as pl

from spa.responses.leases import Lease
from spa.responses.tidy_tables import Tables, row_tables

PERSON, ASSIGNMENT = pl.col("annotator_id").cast(pl.String), pl.col("assignment_id").cast(pl.String)
BY_LLM = pl.col("annotator_kind").cast(pl.String) == "llm"


def of_counted(exported: Tables, counted: Collection[Lease]) -> Tables | None:
    """Return the rows of visits that count, and of LLMs; ``None`` where somebody counted has other visits as well.

    What the table of annotators says of those adds up all their visits, later ones too.
    """
    people = [visit.annotator_id for visit in counted]
    annotators = exported.annotators.filter(BY_LLM | PERSON.is_in(people))
    if not annotators.filter(~BY_LLM, pl.col("submissions") > 1).is_empty():
        return None
    names = {"person": pl.String, "of": pl.String}
    visits = pl.DataFrame([(visit.annotator_id, visit.assignment_id) for visit in counted], names, orient="row")
    found: dict[str, Any] = {}
    for name in row_tables():
        table: pl.DataFrame = exported.more[name] if name in exported.more else getattr(exported, name)
        own = table.filter(~BY_LLM).join(
            visits, left_on=[PERSON, ASSIGNMENT], right_on=["person", "of"], how="semi", maintain_order="left"
        )
        own = own.with_columns(pl.lit("completed").cast(table.schema["visit"]).alias("visit"))
        found[name] = pl.concat([own, table.filter(BY_LLM)])
    more = {name: found.pop(name) for name in exported.more}
    return replace(exported, annotators=annotators, more=more, **found)
