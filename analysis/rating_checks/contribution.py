"""What the other tests of ratings contribute."""

from __future__ import annotations

from analysis.comparisons.contribution import CHOICE_PAIRS, RATING_PAIRS, TESTS
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.rating_checks.claims import claims
from analysis.rating_checks.other_tests import OtherTests, RespacingRow, RobustnessRow
from analysis.rating_checks.part_sums import CROSSED_SAMPLES, ORDINAL_MODEL, Z_SCORES
from analysis.rating_checks.section import robustness
from analysis.records.results import Key, rows

ROBUSTNESS = rows("ratings.robustness", RobustnessRow)
RESPACING = rows("ratings.respacing", RespacingRow)

OTHER_TESTS: Key[OtherTests] = Key("other_tests", OtherTests)


def _checks(analysis: Analysis) -> KeyValues:
    pairs, robustness, respacing = analysis.of(OTHER_TESTS).rating_rows(analysis.of(TESTS).ratings)
    return {
        "ratings.pairs": tuple(pairs),
        "ratings.robustness": tuple(robustness),
        "ratings.respacing": tuple(respacing),
    }


WORDS = (
    Words(
        "other tests of ratings",
        "Wilcoxon's signed ranks over the same units (zeros after Pratt, exact up to 50 "
        "units), a paired t of z-scores (each annotator's scores standardised by their own spread) and a cumulative "
        "logit model (clustered by unit), each with a family of its own. None replaces the verdict.",
        lambda results: bool(results.ratings.robustness),
    ),
    Words(
        "spacing of the scale",
        "An order of two mean ratings that holds on every spacing of the scale is marked "
        "always or never, else depends, with the largest ratio of two steps up to which it holds; about the ratings "
        "given, without a test.",
        lambda results: bool(results.ratings.respacing),
    ),
)
CONTRIBUTION = Contribution(
    keys=(RATING_PAIRS, ROBUSTNESS, RESPACING),
    compute=_checks,
    of_sums=_checks,
    left_out=(ORDINAL_MODEL, CROSSED_SAMPLES, Z_SCORES),
    words=WORDS,
    claims=claims,
    sections=(SectionEntry("robustness", ROBUSTNESS, robustness, (RESPACING, RATING_PAIRS, CHOICE_PAIRS)),),
)
