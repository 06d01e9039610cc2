"""What the search for texts that models may have seen contributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.answers.sidecars import read_record
from analysis.contamination.results import Contamination
from analysis.contamination.section import contamination
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry
from analysis.records.results import Results, one, rows
from analysis.statistics.record import fields_of

CONTAMINATION = one(
    "contamination", Contamination, "What spa contamination found in the study's texts; null where it was not run."
)
CONTAMINATION_OF_OTHERS = rows("contamination_of_others", Contamination, "What it found of further models.")


def _contamination(analysis: Analysis) -> KeyValues:
    """Return what was found in the texts that the study has now, model by model."""
    study = analysis.prepared.study
    found = [read_record(file, Contamination) for file in (study.contamination if study else ())]
    known = tuple(one for one in found if study and one.texts == study.texts)
    return {"contamination": next(iter(known), None), "contamination_of_others": known[1:]}


def _tables(models: Sequence[Contamination]) -> dict[str, list[dict[str, Any]]]:
    return {
        "contamination_sources": [
            {"model": one.model, **{name: value for name, value in fields_of(row).items() if name != "histogram"}}
            for one in models
            for row in one.sources
        ],
        "contamination_predicted": [
            {"model": one.model, **fields_of(row), "threshold": one.thresholds[row.measure]}
            for one in models
            for row in one.predicted
        ],
        "contamination_aucs": [
            {"model": one.model, "measure": name, **fields_of(row)} for one in models for name, row in one.aucs.items()
        ],
    }


CONTRIBUTION = Contribution(
    keys=(CONTAMINATION, CONTAMINATION_OF_OTHERS),
    compute=_contamination,
    sections=(SectionEntry("contamination", CONTAMINATION, contamination, (CONTAMINATION_OF_OTHERS,)),),
    tables={CONTAMINATION: lambda first: _tables((first,)), CONTAMINATION_OF_OTHERS: _tables},
)


def contaminations(results: Results) -> tuple[Contamination, ...]:
    """Return what was found, model by model."""
    first = CONTAMINATION.of(results)
    return (*(() if first is None else (first,)), *CONTAMINATION_OF_OTHERS.of(results))
