"""The tidy tables and their columns: what collecting hands to analysing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from spa.elicitation import judgements

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
    "usual_seconds": pl.Float64,  # of people: that the words shown usually take to read silently, by their script
    "passed_seconds": pl.Float64,  # and those that passed on the server's clock meanwhile
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
EXPOSED = {  # how an output was seen on a page; a page without outputs has one row
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
    "turn": pl.Int64,
    "usual_seconds": pl.Float64,  # that the words usually take to read silently, by their script
    "length": pl.Float64,  # of a clip, in seconds
    "played": pl.Float64,  # seconds of it, at normal speed and to be heard
    "unplayable": pl.Int64,  # 1 where somebody said that it does not play
    "clip": pl.String,  # of a screening question or an attention check, which show no output: screening/ID, check/ID
    "known_by": pl.String,  # script, server, or refuted by the server's clock
}
READING = {**WHO, **EXPOSED, **VISIT}  # one row an output on a page of a person's form
CONDUCT = {  # one row a page that a person sent
    **WHO,
    "page": pl.String,
    "page_kind": pl.String,
    "known_by": pl.String,  # script, none, unreadable, or refuted by the server's clock
    "clock_seconds": pl.Float64,  # by the server's clock
    "pastes": pl.Int64,
    "pasted_letters": pl.Int64,
    "away": pl.Int64,
    "away_seconds": pl.Float64,
    "moves": pl.Int64,
    "touches": pl.Int64,
    "keys": pl.Int64,
    "answers": pl.Int64,
    "unprompted": pl.Int64,
    "timed": pl.Int64,
    "fast": pl.Int64,
    "automated": pl.Int64,
    "honeypot": pl.Int64,  # 1 where the box for programs is ticked
    "injected": pl.Int64,  # 1 where the word for programs is written
    **VISIT,
}
# columns that tables have only where something stands in them
RARE = ("turn", "honeypot", "injected", "usual_seconds", "passed_seconds", "length", "played", "unplayable", "clip")
TYPES = {"String": pl.String, "Int64": pl.Int64, "Float64": pl.Float64}


def answer_tables() -> dict[str, dict[str, Any]]:
    """Return the tables with a row an answer, or several, and their columns: those that ways of asking bring."""
    made = {}
    for judgement in judgements().values():
        own = {name: TYPES[kind] for name, kind in judgement.columns.items()}
        made[judgement.table] = {**WHO, **own, **ANSWERED}
    return made


def row_tables() -> dict[str, dict[str, Any]]:
    """Return the tables that are gathered row by row, and their columns."""
    return {**answer_tables(), "identical_pairs": IDENTICAL_PAIRS, "reading": READING, "conduct": CONDUCT}


PREFERENCES, RATINGS, CHOICES, ORDERS, SPANS = (
    answer_tables()[name] for name in ("preferences", "ratings", "choices", "orders", "spans")
)
# an analysis takes these
TABLES = ("preferences", "ratings", "choices", "orders", "spans", "identical_pairs", "annotators", "exclusions")
MORE = ("reading", "conduct", "decisions", "dashboard_log")


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
    conduct: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=CONDUCT))
    decisions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DECISIONS))
    dashboard_log: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DASHBOARD_LOG))
    more: Mapping[str, pl.DataFrame] = field(default_factory=dict)  # of ways of asking with a table of their own

    @property
    def files(self) -> dict[str, pl.DataFrame]:
        """The tables to write, by name: those of an analysis, and some only where there is anything in them."""
        absent = [name for name in ("orders", "spans", *MORE) if getattr(self, name).is_empty()]
        own = {name: frame for name, frame in self.more.items() if not frame.is_empty()}
        return {name: getattr(self, name) for name in (*TABLES, *MORE) if name not in absent} | own
