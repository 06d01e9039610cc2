"""What subgroups and camps of people contribute."""

from __future__ import annotations

from typing import Final

from analysis.answers.plan import Plan
from analysis.camps.claims import claims
from analysis.camps.mixtures import DRAWS, HOPELESS
from analysis.camps.own_answers import OWN_ANSWERS, own_answers
from analysis.camps.people_differ import CampsRow, OwnPreference, PeopleDiffer, people_differ
from analysis.camps.section import camps as section
from analysis.camps.subgroups import PeopleColumn, SubgroupMean, Subgroups, SubgroupTest, subgroups
from analysis.camps.true_preferences import FEWEST
from analysis.comparisons.contribution import TESTS
from analysis.comparisons.sides import PEOPLE
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import Results, rows
from analysis.sums.left_out import NeedsSingleAnswers
from analysis.sums.totals import TableTotals

PEOPLE_COLUMNS = rows(
    "people_columns",
    PeopleColumn,
    "Columns by which people are compared, a row a group of them; empty where the plan names none.",
)
PEOPLE_BY = rows("people_by", SubgroupMean, "What subgroups of people prefer, by these columns.")
PEOPLE_BY_TESTS = rows("people_by_tests", SubgroupTest, "Whether they prefer differently.")
PEOPLE_DIFFER = rows(
    "people_differ",
    PeopleDiffer,
    "How much true preferences of people differ, where at least 20 answered twice about separate outputs.",
)
OWN_PREFERENCES = rows("own_preferences", OwnPreference, "People's own preferences about these pairs, sorted.")
CAMPS = rows("camps", CampsRow, "Whether people fall into two camps; empty where the plan does not ask.")


def _people(analysis: Analysis) -> KeyValues:
    prepared, plan = analysis.prepared, analysis.plan
    found = Subgroups(columns=[], means=[], tests=[])
    if plan.compare_people_by:
        answers = analysis.of(OWN_ANSWERS)
        members: dict[str, dict[str, None]] = {}
        for pair in answers:
            members.setdefault(pair.group, {}).update(dict.fromkeys(pair.names))
        frozen = None if prepared.study is None else prepared.study.preregistration
        found = subgroups(
            answers,
            prepared.tables.people,
            {group: tuple(names) for group, names in members.items()},
            plan,
            declared=frozenset() if frozen is None else frozenset(frozen.people_by),
        )
    differing = people_differ(analysis.of(OWN_ANSWERS), plan)
    return {
        "people_differ": tuple(differing.rows),
        "own_preferences": tuple(differing.own),
        "camps": tuple(differing.camps),
        "people_columns": tuple(found.columns),
        "people_by": tuple(found.means),
        "people_by_tests": tuple(found.tests),
    }


def _own(analysis: Analysis) -> KeyValues:
    return {"own_answers": tuple(own_answers(analysis.prepared, analysis.of(TESTS)))}


def _subgroup_words(plan: Plan) -> str:
    return (
        "Each person's mean over separate outputs (both directions of one are one answer) is one value. Brown-Forsythe "
        "test with Mehrotra's degrees of freedom (of two subgroups Welch's t), of a small subgroup beside a large one "
        "at most the small one's, corrected over all such tests of a "
        f"group of annotators ({plan.correction}). Subgroups of fewer than {plan.compare_people_least} people are "
        "withheld, and the smallest others while all withheld hold fewer together. Who says nothing is no subgroup."
    )


WORDS: Final = (
    Words("subgroups of people", _subgroup_words, lambda results: bool(results.people_columns)),
    Words(
        "how people differ",
        "An answer is its person's true preference and noise; both directions about the same outputs are one answer. "
        "Of preferences and differences of ratings: normal, variances by REML, the share on the side of the loser "
        "by the profile likelihood of mean / spread. Of choices: beta-binomial, ties left out. Intervals by t with one "
        f"less than the people; from {FEWEST} people on who answered twice.",
        lambda results: any(row.share_loser is not None for row in results.people_differ),
    ),
    Words(
        "two camps",
        "Likelihood ratio of two beta distributions of one precision, at least two of their standard deviations apart, "
        f"and of one with one peak, against {DRAWS} sets of answers drawn from the likeliest of the latter, and from "
        "the widest that is nearly as likely, of which the larger p-value holds; fewer sets where it is beyond "
        f"{HOPELESS:g}. Corrected over all such tests of a group of annotators.",
        lambda results: bool(results.camps),
    ),
)


def _lost(totals: TableTotals, results: Results) -> str | None:
    asked = any(kind in PEOPLE for _, kind in totals.groups) and len(totals.order.systems) > 1
    return "how much people\u2019s true preferences differ" if asked else None


DIFFER_LEFT_OUT: Final = NeedsSingleAnswers("people_differ", ("people_differ", "own_preferences"), _lost)
OWN = Contribution(keys=(), between=(OWN_ANSWERS,), compute=_own)
CONTRIBUTION = Contribution(
    keys=(PEOPLE_COLUMNS, PEOPLE_BY, PEOPLE_BY_TESTS, PEOPLE_DIFFER, OWN_PREFERENCES, CAMPS),
    compute=_people,
    left_out=(DIFFER_LEFT_OUT,),
    words=WORDS,
    claims=claims,
    sections=(
        SectionEntry(
            "camps", PEOPLE_COLUMNS, section, (PEOPLE_BY, PEOPLE_BY_TESTS, PEOPLE_DIFFER, OWN_PREFERENCES, CAMPS)
        ),
    ),
)
