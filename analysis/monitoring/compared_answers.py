"""One form's answers beside what others and the LLMs said about the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from analysis.answers.tables import AnswerTables

Source = Literal["preferences", "ratings", "choices"]
CELLS: dict[Source, tuple[str, ...]] = {
    "preferences": ("criterion", "exposure", "system_x", "system_y"),
    "ratings": ("criterion", "item_id", "sample", "system"),
    "choices": ("criterion", "item_id", "sample", "system_x", "system_y"),
}
SHOWN: dict[Source, tuple[str, ...]] = {
    "preferences": ("label_x", "label_y"),
    "ratings": ("label",),
    "choices": ("label_x", "label_y"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """One answer, and the means of others who were asked the same.

    ``own`` is a probability, a score, or 1, 0.5 and 0 where the first, neither or the second won; ``None`` where it is
    missing for ``reason``. People are all other people, raters all LLMs, each annotator counted once.
    """

    source: Source
    criterion: str
    exposure: str | None
    item_id: str | None
    systems: tuple[str, ...]
    labels: tuple[str, ...]
    own: float | None
    reason: str | None
    people: float | None
    n_people: int
    raters: float | None
    n_raters: int
    explanation: str | None


def compare_answers(tables: AnswerTables, annotator_id: str, assignment_id: str | None) -> list[ComparedAnswer]:
    """Return what one annotator answered on one form, beside the others.

    Parameters
    ----------
    tables : AnswerTables
        Checked tables.
    annotator_id, assignment_id : str
        Whose form; ``None`` for all forms of the annotator.

    Returns
    -------
    list of ComparedAnswer
        In the order of the tables; empty where the annotator answered nothing.
    """
    found: list[ComparedAnswer] = []
    for source, table in tables.answers().items():
        assert source in CELLS
        found += _of(source, table, annotator_id, assignment_id)
    return found


def _of(source: Source, table: pl.DataFrame, annotator_id: str, assignment_id: str | None) -> list[ComparedAnswer]:
    cell, labels = CELLS[source], SHOWN[source]
    names = [*dict.fromkeys((*cell, *labels)), "annotator_id", "annotator_kind", "assignment_id", "missing_reason"]
    texts = [pl.col(name).cast(pl.String) for name in (*names, "explanation") if name in table.columns]
    rows = table.select(*texts, "value")
    here = pl.col("annotator_id") == annotator_id
    own = rows.filter(here if assignment_id is None else here & (pl.col("assignment_id") == assignment_id))
    if own.is_empty():
        return []
    same = rows.filter(~here & pl.col("value").is_not_null()).join(
        own.select(cell).unique(), on=cell, how="semi", nulls_equal=True
    )
    each = same.group_by(*cell, "annotator_id", "annotator_kind").agg(pl.col("value").mean())
    llm = pl.col("annotator_kind") == "llm"
    means = each.group_by(cell).agg(
        people=pl.col("value").filter(~llm).mean(),
        n_people=(~llm).sum(),
        raters=pl.col("value").filter(llm).mean(),
        n_raters=llm.sum(),
    )
    joined = own.join(means, on=cell, how="left", nulls_equal=True, maintain_order="left")
    return [_compared(source, row) for row in joined.to_dicts()]


def _compared(source: Source, row: dict[str, Any]) -> ComparedAnswer:
    systems = ("system",) if source == "ratings" else ("system_x", "system_y")

    def texts(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(row[name] for name in names if row.get(name) is not None)

    return ComparedAnswer(
        source=source,
        criterion=row["criterion"],
        exposure=row.get("exposure"),
        item_id=row.get("item_id"),
        systems=texts(systems),
        labels=texts(SHOWN[source]),
        own=row["value"],
        reason=row["missing_reason"],
        people=row["people"],
        n_people=row["n_people"] or 0,
        raters=row["raters"],
        n_raters=row["n_raters"] or 0,
        explanation=row.get("explanation"),
    )
