"""What LLMs that judge systems of their own maker contribute."""

from __future__ import annotations

from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import rows
from analysis.self_preference.own_maker import SelfPreference, self_preferences
from analysis.self_preference.section import self_preference

SELF_PREFERENCE = rows(
    "self_preference", SelfPreference, "LLMs on systems of their own maker against others, beside people."
)


def _own_maker(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    return {"self_preference": tuple(self_preferences(prepared)) if prepared.plan.makers else ()}


WORDS = (
    Words(
        "self-preference",
        "How much more than people an LLM favours the systems of its own maker: a difference of differences, for these "
        "systems, each of them (of comparisons: each pair) counting the same. A system that people undervalue gives "
        "one, too.",
        lambda results: bool(SELF_PREFERENCE.of(results)),
    ),
)

CONTRIBUTION = Contribution(
    keys=(SELF_PREFERENCE,),
    compute=_own_maker,
    sections=(SectionEntry("self-preference", SELF_PREFERENCE, self_preference),),
    words=WORDS,
)
