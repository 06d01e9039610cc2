"""What the answers behind means contribute."""

from __future__ import annotations

from typing import Any

from analysis.contribution import Analysis, Contribution, KeyValues
from analysis.records.results import Results, rows
from analysis.single_answers.answers import SingleAnswers, single_answers
from analysis.sums.left_out import NeedsSingleAnswers

SINGLE_ANSWERS = rows(
    "single_answers",
    SingleAnswers,
    "Answers behind means, after exclusions, as figures show them: up to 60 of each mean, of the first 24 criteria; "
    "none of a criterion with more than 60 means, and none of tables in parts.",
)


def _answers(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    return {"single_answers": tuple(single_answers(prepared.kept, prepared.orders, prepared.groups))}


def _lost(totals: Any, results: Results) -> str | None:
    return "single answers behind the means of figures" if results.preferences or results.ratings.means else None


SINGLE = NeedsSingleAnswers("single_answers", ("single_answers",), _lost)
CONTRIBUTION = Contribution(
    keys=(SINGLE_ANSWERS,),
    compute=_answers,
    left_out=(SINGLE,),
    tables={SINGLE_ANSWERS: lambda value: {}},  # the tables of answers themselves have them all
)
