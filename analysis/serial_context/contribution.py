"""What serial context contributes."""

from __future__ import annotations

from analysis.contribution import Analysis, Contribution, Found, SectionEntry, Words
from analysis.records.results import Results, rows
from analysis.serial_context.claims import claims
from analysis.serial_context.contexts import SerialArms, SerialContext, serial_contexts
from analysis.serial_context.section import serial_context
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import TableTotals

SERIAL_CONTEXT = rows(
    "serial_context",
    SerialContext,
    "Whether people\u2019s ratings depend on their place on the form or on the output before; exploratory, empty where "
    "no place is known.",
)
SERIAL_ARMS = rows("serial_arms", SerialArms, "Differences between systems in blocks and mixed; exploratory.")


def _contexts(analysis: Analysis) -> Found:
    prepared = analysis.prepared
    if "ratings" not in prepared.kept:
        return {"serial_context": (), "serial_arms": ()}
    contexts, arms = serial_contexts(
        prepared.kept["ratings"], prepared.tables.reading, prepared.groups, prepared.orders["ratings"], prepared.plan
    )
    return {"serial_context": tuple(contexts), "serial_arms": tuple(arms)}


def _left_out(totals: TableTotals, results: Results) -> str | None:
    return "what ratings owe to their place" if totals.kind == "ratings" else None


WORDS = (
    Words(
        "serial context",
        "Exploratory. Least squares with a mean for each annotator and output; errors clustered by annotator (CR1, t "
        "with annotators minus 1 degrees of freedom, from 10 annotators on). Quality of the output before: others' "
        "answers, each from the annotator\u2019s own mean. Only where forms differ in their order.",
        lambda results: bool(SERIAL_CONTEXT.of(results)) or bool(SERIAL_ARMS.of(results)),
    ),
)
CONTRIBUTION = Contribution(
    keys=(SERIAL_CONTEXT, SERIAL_ARMS),
    compute=_contexts,
    left_out=(NeedsSingleAnswers("serial_context", ("serial_context", "serial_arms"), _left_out),),
    words=WORDS,
    claims=claims,
    sections=(SectionEntry("serial-context", SERIAL_CONTEXT, serial_context, (SERIAL_ARMS,)),),
)
