"""What the look for circles contributes."""

from __future__ import annotations

from analysis.circles.circles import FEWEST, CircleRow, CircleTriple, circles
from analysis.circles.claims import claims
from analysis.circles.flows import DRAWS
from analysis.circles.section import circles as section
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.ranking.contribution import SOURCES
from analysis.records.results import rows

CIRCLES = rows(
    "circles",
    CircleRow,
    "Whether one order explains the pairs of a source, group and criterion, where three systems were compared.",
)
CIRCLE_TRIPLES = rows("circle_triples", CircleTriple, "The triples that go round most, up to 100 a row of circles.")


def _circles(analysis: Analysis) -> KeyValues:
    found, triples = circles(analysis.of(SOURCES).sums, analysis.plan)
    return {"circles": tuple(found), "circle_triples": tuple(triples)}


WORDS = (
    Words(
        "circles",
        "Log odds of pairs (of preferences the mean of each annotator's own, at least 0.5% from 0 and 1; else of the "
        "mean share, half an answer from them), weighted by units, less what one value for each system explains "
        f"(HodgeRank). Against the fitted order: {DRAWS} wild bootstraps by unit, from {FEWEST} units a pair on. Each "
        "step of a circle must be clear by a t-test; those of all pairs are corrected together.",
        lambda results: any(row.share_gradient is not None for row in CIRCLES.of(results)),
    ),
)
CONTRIBUTION = Contribution(
    keys=(CIRCLES, CIRCLE_TRIPLES),
    compute=_circles,
    of_sums=_circles,
    words=WORDS,
    claims=claims,
    sections=(SectionEntry("circles", CIRCLES, section, (CIRCLE_TRIPLES,)),),
)
