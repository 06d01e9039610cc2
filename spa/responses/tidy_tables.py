"""The tidy tables and their columns: what collecting hands to analysing."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

WHO = {"annotator_id": pl.String, "annotator_kind": pl.String, "assignment_id": pl.String}
VISIT = {"session": pl.Int64, "visit": pl.String}  # of people; else empty
ASKED = {"variant": pl.String, "repeat": pl.Int64, "readout": pl.String, "form": pl.String}  # of LLMs; else empty
READ = {"mass": pl.Float64, "readings_differ": pl.Int64}  # of an LLM's reply: on its answers; read otherwise
ANSWERED = {  # how a question was answered
    **ASKED,
    **READ,
    "explanation": pl.String,
    "missing_reason": pl.String,
    "missing_level": pl.String,
    **VISIT,
}
OUTPUT = {"item_id": pl.String, "system": pl.String, "criterion": pl.String}
SHOWN = {"elicitation": pl.String, "sample": pl.Int64, "label": pl.String, "position": pl.Int64}  # position: from 1
PREFERENCES = {
    **WHO,
    "system_x": pl.String,
    "system_y": pl.String,
    "preference": pl.Float64,
    "criterion": pl.String,
    "exposure": pl.Int64,
    "asked_first": pl.Int64,
    "elicitation": pl.String,
    "label_x": pl.String,
    "label_y": pl.String,
    **ANSWERED,
}
RATINGS = {**WHO, **OUTPUT, "score": pl.Float64, **SHOWN, **ANSWERED}
SPANS = {  # one row a marked error; an answer without any has one row of its own
    **WHO,
    **OUTPUT,
    "start": pl.Int64,  # code points of the output's text, half-open
    "end": pl.Int64,
    "text": pl.String,
    "severity": pl.String,
    "weight": pl.Float64,
    "category": pl.String,
    "reason": pl.String,  # why an error has no place; "no errors" where none was marked
    "characters": pl.Int64,  # of the output's text
    **SHOWN,
    **ANSWERED,
}
CHOICES = {
    **WHO,
    "item_id": pl.String,
    "system_x": pl.String,
    "system_y": pl.String,
    "criterion": pl.String,
    "winner": pl.String,
    "elicitation": pl.String,
    "sample_x": pl.Int64,
    "sample_y": pl.Int64,
    "label_x": pl.String,
    "label_y": pl.String,
    **ANSWERED,
}
ORDERS = {  # one row an output of an ordering
    **WHO,
    **OUTPUT,
    "rank": pl.Int64,  # 1 = best; tied outputs share the lowest
    **SHOWN,
    **ANSWERED,
}
IDENTICAL_PAIRS = {  # ratings of outputs that equal their source
    **WHO,
    "pair": pl.String,
    "criterion": pl.String,
    "score": pl.Float64,
    "expected": pl.Float64,
    **ASKED,
    "missing_reason": pl.String,
    **VISIT,
}
ANNOTATORS = {
    "annotator_id": pl.String,
    "annotator_kind": pl.String,
    "source": pl.String,
    "submissions": pl.Int64,
    "sessions": pl.Int64,
    "people_group": pl.String,
    "screening_passed": pl.Int64,
    "checks_failed": pl.Int64,
    "checks_total": pl.Int64,
    "seconds": pl.Float64,
}
EXCLUSIONS = {**WHO, "rule": pl.String, "evidence": pl.String}
DECISIONS = {  # of two reviewers, one row an entry of their log
    **WHO,
    "number": pl.Int64,
    "reviewer": pl.String,
    "decided_at": pl.String,
    "action": pl.String,
    "rule": pl.String,
    "note": pl.String,
    "amount": pl.String,
    "undoes": pl.Int64,
    "independent": pl.Int64,
    "stands": pl.Int64,
}
DASHBOARD_LOG = {  # one row a decision, a download, a change of who may review, or a look behind the labels
    **WHO,  # whose submission was decided on
    "noted_at": pl.String,
    "who": pl.String,
    "action": pl.String,
    "decision": pl.Int64,  # its number, where it is one
    "detail": pl.String,
}
READING = {  # one row an output on a page of a person's form; a page without outputs has one row
    **WHO,
    "page": pl.String,
    "page_kind": pl.String,
    "page_seconds": pl.Float64,
    "item_id": pl.String,
    "system": pl.String,
    "sample": pl.Int64,
    "label": pl.String,
    "position": pl.Int64,
    "words": pl.Int64,  # of the output; of an image none
    "first_seen": pl.Float64,
    "seconds": pl.Float64,
    "scrolled": pl.Float64,
    **VISIT,
}
ROWS = {  # tables with a row an answer, or several
    "preferences": PREFERENCES,
    "ratings": RATINGS,
    "choices": CHOICES,
    "orders": ORDERS,
    "spans": SPANS,
    "identical_pairs": IDENTICAL_PAIRS,
    "reading": READING,
}
# an analysis takes these
TABLES = ("preferences", "ratings", "choices", "orders", "spans", "identical_pairs", "annotators", "exclusions")
MORE = ("reading", "decisions", "dashboard_log")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The tidy tables of one store."""

    preferences: pl.DataFrame
    ratings: pl.DataFrame
    choices: pl.DataFrame
    annotators: pl.DataFrame
    exclusions: pl.DataFrame  # decided by reviewers
    identical_pairs: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=IDENTICAL_PAIRS))
    orders: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ORDERS))
    spans: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SPANS))
    reading: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=READING))
    decisions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DECISIONS))
    dashboard_log: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DASHBOARD_LOG))

    @property
    def files(self) -> dict[str, pl.DataFrame]:
        """The tables to write, by name: those of an analysis, and some only where there is anything in them."""
        absent = [name for name in ("orders", "spans", *MORE) if getattr(self, name).is_empty()]
        return {name: getattr(self, name) for name in (*TABLES, *MORE) if name not in absent}
