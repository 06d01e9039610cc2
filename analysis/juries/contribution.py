"""What juries of LLMs contribute."""

from __future__ import annotations

from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.juries.jury_tables import (
    JuryAgreement,
    JuryFacts,
    JuryWithout,
    jury_agreement,
    jury_facts,
    jury_without,
)
from analysis.juries.section import juries
from analysis.records.results import rows

JURIES = rows("juries", JuryFacts, "LLMs whose answers are put together into those of one more group.")
JURY_AGREEMENT = rows("jury_agreement", JuryAgreement, "How far the members of a jury agree, and it with people.")
JURY_WITHOUT = rows("jury_without", JuryWithout, "Each jury without each of its members.")


def _juries(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    if not prepared.plan.juries:
        return {"juries": (), "jury_agreement": (), "jury_without": ()}
    costs = prepared.study.rater_costs if prepared.study else {}
    return {
        "juries": tuple(jury_facts(prepared, costs)),
        "jury_agreement": tuple(jury_agreement(prepared)),
        "jury_without": tuple(jury_without(prepared)),
    }


WORDS = (
    Words(
        "juries",
        "A jury answers as one more LLM: its answer to a question of a form is made of its members' answers after "
        "exclusions, each member's repeats first put together. Its answers are no independent evidence beside theirs.",
        lambda results: bool(JURIES.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=(JURIES, JURY_AGREEMENT, JURY_WITHOUT),
    compute=_juries,
    sections=(SectionEntry("juries", JURIES, juries, (JURY_AGREEMENT, JURY_WITHOUT)),),
    words=WORDS,
)
