"""What serial context contributes."""

from __future__ import annotations

from typing import Any

import polars as pl

from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import Results, rows
from analysis.serial_context.claims import claims
from analysis.serial_context.contexts import SerialArms, SerialContext, serial_contexts
from analysis.serial_context.section import serial_context
from analysis.serial_context.thirds import FEWEST, ThirdSystem, third_systems
from analysis.serial_context.thirds_section import third_systems as section
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import TableTotals

SERIAL_CONTEXT = rows(
    "serial_context",
    SerialContext,
    "Whether people\u2019s ratings depend on their place on the form or on the output before; exploratory, empty where "
    "no place is known.",
)
SERIAL_ARMS = rows("serial_arms", SerialArms, "Differences between systems in blocks and mixed; exploratory.")

THIRD_SYSTEMS = rows(
    "third_systems",
    ThirdSystem,
    "Whether people\u2019s choices between two systems follow from a third one; exploratory, empty where all forms "
    "show the same systems together.",
)


def _contexts(analysis: Analysis) -> KeyValues:
    return _of_ratings(analysis) | _of_choices(analysis)


def _of_choices(analysis: Analysis) -> dict[str, Any]:
    prepared = analysis.prepared
    if "choices" not in prepared.kept:
        return {"third_systems": ()}
    choices, order = prepared.kept["choices"], prepared.orders["choices"]
    return {"third_systems": tuple(third_systems(choices, _reading(analysis), prepared.groups, order, prepared.plan))}


def _of_ratings(analysis: Analysis) -> dict[str, Any]:
    prepared = analysis.prepared
    if "ratings" not in prepared.kept:
        return {"serial_context": (), "serial_arms": ()}
    ratings, order = prepared.kept["ratings"], prepared.orders["ratings"]
    contexts, arms = serial_contexts(ratings, _reading(analysis), prepared.groups, order, prepared.plan)
    return {"serial_context": tuple(contexts), "serial_arms": tuple(arms)}


def _reading(analysis: Analysis) -> pl.DataFrame | None:
    """Return on which page each output was read, whether or not a declared rule is about reading."""
    tables = analysis.prepared.tables
    return tables.seen if tables.reading is None else tables.reading


def _left_out(totals: TableTotals, results: Results) -> str | None:
    return "what ratings owe to their place" if totals.kind == "ratings" else None


def _thirds_left_out(totals: TableTotals, results: Results) -> str | None:
    return "what choices owe to a third system" if totals.kind == "choices" and len(totals.order.systems) > 2 else None


WORDS = (
    Words(
        "serial context",
        "Exploratory. Least squares with a mean for each annotator and output; errors clustered by annotator (CR1, t "
        "with annotators minus 1 degrees of freedom, from 10 annotators on). Quality of the output before: others' "
        "answers, each from the annotator\u2019s own mean. Only where forms differ in their order.",
        lambda results: bool(SERIAL_CONTEXT.of(results)) or bool(SERIAL_ARMS.of(results)),
    ),
    Words(
        "third systems",
        "Exploratory. Share of choices of x over y where a third system was judged on the same item, or on the item "
        "before, less that where it was not; errors clustered by annotator (CR1, t with one less than the annotators "
        f"of the smaller side, from {FEWEST} on); corrected over all such tests of a group of annotators. Where "
        "everybody reads all systems together, as for stated preferences, nothing varies.",
        lambda results: bool(THIRD_SYSTEMS.of(results)),
    ),
)
CONTRIBUTION = Contribution(
    keys=(SERIAL_CONTEXT, SERIAL_ARMS, THIRD_SYSTEMS),
    compute=_contexts,
    left_out=(
        NeedsSingleAnswers("serial_context", ("serial_context", "serial_arms"), _left_out),
        NeedsSingleAnswers("third_systems", ("third_systems",), _thirds_left_out),
    ),
    words=WORDS,
    claims=claims,
    sections=(
        SectionEntry("serial-context", SERIAL_CONTEXT, serial_context, (SERIAL_ARMS,)),
        SectionEntry("third-systems", THIRD_SYSTEMS, section),
    ),
)
