"""What the texts of explanations contribute."""

from __future__ import annotations

from analysis.answers.sidecars import read_record
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry
from analysis.descriptives.contribution import EXPLANATIONS
from analysis.explanations.exploration import ExplorationResults
from analysis.explanations.section import exploration
from analysis.explanations.texts import explained_texts, hash_of
from analysis.records.results import one

EXPLORATION = one(
    "exploration",
    ExplorationResults,
    "What spa explanations found in these explanations and comments; null where it was not run.",
)


def _exploration(analysis: Analysis) -> KeyValues:
    """Return what was found in the texts that there are now."""
    study = analysis.prepared.study
    if study is None or study.exploration is None:
        return {"exploration": None}
    found = read_record(study.exploration, ExplorationResults)
    explanations = analysis.of(EXPLANATIONS)
    now = hash_of(explained_texts(explanations, study.interview))
    return {"exploration": found if found.texts == now else None}


def _tables(found: ExplorationResults) -> KeyValues:
    return {f"exploration_{name}": getattr(found, name) for name in ("keywords", "separations", "points")}


CONTRIBUTION = Contribution(
    keys=(EXPLORATION,),
    compute=_exploration,
    sections=(SectionEntry("exploration", EXPLORATION, exploration),),
    tables={EXPLORATION: _tables},
)
