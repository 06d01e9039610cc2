"""Whose answers leave the analysis, each with the rule and the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.consistency import Failure, find_failures
from analysis.plan import Plan
from analysis.tables import AnswerTables
from spa.errors import AnalysisError

CONSISTENCY = "self_consistency"
LISTED = 3  # failing comparisons that the evidence spells out


@dataclass(frozen=True, slots=True, kw_only=True)
class Exclusion:
    """One annotator (``assignment_id`` is ``None``) or one assignment that leaves, by which rule and why.

    An LLM's assignment leaves for one ``variant`` of asking.
    """

    annotator_id: str
    assignment_id: str | None
    group: str
    rule: str
    evidence: str
    variant: str | None = None


def find_exclusions(tables: AnswerTables, plan: Plan) -> list[Exclusion]:
    """Apply the rules of the plan.

    Rules
    -----
    ``screening``, ``attention_checks``, ``repeat_submissions``
        For people (and simulated annotators, who stand for people), from the annotators table.
    ``self_consistency``
        For everybody, from preferences asked in both directions. A failing person leaves entirely;
        of an LLM the failing assignment leaves.

    Returns
    -------
    list of Exclusion
        One row an annotator (or assignment) and rule.
    """
    found = _by_annotators_table(tables, plan)
    if tables.preferences is not None and plan.consistency_tau is not None:
        found += _by_consistency(find_failures(tables.preferences, plan.consistency_tau))
    return found


def apply_exclusions(table: pl.DataFrame, exclusions: Sequence[Exclusion]) -> pl.DataFrame:
    """Return the rows of an answer table that no exclusion concerns."""
    whole = sorted({row.annotator_id for row in exclusions if row.assignment_id is None and row.variant is None})
    kept = table.filter(~pl.col("annotator_id").is_in(whole))
    parts = [row for row in exclusions if row.assignment_id is not None or row.variant is not None]
    visit, asking = ("annotator_id", "assignment_id"), ("annotator_id", "assignment_id", "variant")
    for columns, of_llm in ((visit, False), (asking, True)):  # a person's visit, an LLM's way of being asked
        keys = {tuple(getattr(row, name) for name in columns) for row in parts if (row.rule == CONSISTENCY) == of_llm}
        if keys:
            wrong = pl.DataFrame(list(keys), dict.fromkeys(columns, pl.String), orient="row")
            kept = kept.join(wrong, on=columns, how="anti", nulls_equal=True, maintain_order="left")
    return kept


def _by_annotators_table(tables: AnswerTables, plan: Plan) -> list[Exclusion]:
    if tables.annotators is None:
        return []
    found = []
    for row in tables.annotators.filter(pl.col("annotator_kind") != "llm").iter_rows(named=True):
        whole = Exclusion(
            annotator_id=row["annotator_id"], assignment_id=None, group=row["group"], rule="", evidence=""
        )
        if row.get("screening_passed") is False:
            found.append(replace(whole, rule="screening", evidence="gave no eligible answer to a screening question"))
        failed = row.get("checks_failed") or 0
        if failed > plan.max_failed_checks:
            of = "" if row.get("checks_total") is None else f" of {row['checks_total']}"
            evidence = f"failed {failed}{of} attention checks, {plan.max_failed_checks} allowed"
            found.append(replace(whole, rule="attention_checks", evidence=evidence))
        submissions = row.get("submissions") or 0
        if submissions > 1:
            repeated = replace(whole, rule="repeat_submissions", evidence=f"{submissions} submissions, one allowed")
            found += [repeated] if plan.repeat_submissions == "exclude" else _later_assignments(tables, repeated)
    return found


def _later_assignments(tables: AnswerTables, repeated: Exclusion) -> list[Exclusion]:
    """Exclude all but the assignment that appears first in the tables."""
    order: dict[str | None, None] = {}
    for table in tables.answers().values():
        own = table.filter(pl.col("annotator_id") == repeated.annotator_id)
        order |= dict.fromkeys(own["assignment_id"].unique(maintain_order=True).to_list())
    if None in order:
        raise AnalysisError(
            f'repeat_submissions = "first": annotator {repeated.annotator_id!r} has answers without assignment_id, '
            'so the first submission cannot be told; add the column or choose "exclude"'
        )
    first, *later = order or [None]
    evidence = f"{repeated.evidence}; {first} came first"
    return [replace(repeated, assignment_id=assignment_id, evidence=evidence) for assignment_id in later]


def _by_consistency(failures: Sequence[Failure]) -> list[Exclusion]:
    grouped: dict[tuple[str, str | None, str | None], list[Failure]] = {}
    for failure in failures:
        llm = failure.annotator_kind == "llm"
        part = (failure.assignment_id, failure.variant) if llm else (None, None)
        grouped.setdefault((failure.annotator_id, *part), []).append(failure)
    return [
        Exclusion(
            annotator_id=annotator_id,
            assignment_id=assignment_id,
            group=found[0].group,
            rule=CONSISTENCY,
            evidence=_evidence([failure.evidence for failure in found]),
            variant=variant,
        )
        for (annotator_id, assignment_id, variant), found in grouped.items()
    ]


def _evidence(lines: Sequence[str]) -> str:
    more = len(lines) - LISTED
    return "; ".join(lines[:LISTED]) + (f"; and {more} more" if more > 0 else "")


def excluded_counts(exclusions: Sequence[Exclusion]) -> tuple[Counter[str], Counter[str]]:
    """Count, by group, the annotators that leave entirely and the single assignments that leave."""
    annotators = {(row.group, row.annotator_id) for row in exclusions if row.assignment_id is None}
    assignments = {
        (row.group, row.annotator_id, row.assignment_id, row.variant)
        for row in exclusions
        if row.assignment_id is not None
    }
    return Counter(key[0] for key in annotators), Counter(key[0] for key in assignments)
