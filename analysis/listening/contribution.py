"""What listening tests contribute."""

from __future__ import annotations

from analysis.answers.exclusions import left_out_by
from analysis.answers.post_screening import (
    BOUND,
    OFTEN,
    P808,
    SHARED,
    ConstantVotes,
    ListenerCheck,
    check_listeners,
    constant_votes,
)
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.listening.section import listening
from analysis.listening.unranked_means import ReferenceDifference, UnrankedMean, reference_differences, unranked_means
from analysis.records.results import rows

UNRANKED_MEANS = rows(
    "unranked_means", UnrankedMean, "Mean ratings of hidden references and anchors, which are in no test or order."
)
REFERENCE_DIFFERENCES = rows(
    "reference_differences", ReferenceDifference, "Ratings less those of the listener's own hidden reference."
)
POST_SCREENING = rows("post_screening", ListenerCheck, "Listeners by the rules of BS.1534-3, whether declared or not.")
CONSTANT_VOTES = rows("constant_votes", ConstantVotes, "Sessions of a listening test whose votes hardly vary.")


def _listening(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    tables, plan, unranked = prepared.tables, prepared.plan, prepared.unranked
    left = left_out_by(prepared.exclusions)
    heard = bool(unranked.systems) or P808 in plan.post_screening
    groups = [group for group, _ in prepared.groups]
    differences = reference_differences(prepared.kept.get("ratings"), unranked, plan, prepared.orders.get("ratings"))
    return {
        "unranked_means": tuple(unranked_means(unranked, plan, groups)),
        "reference_differences": tuple(differences),
        "post_screening": tuple(check_listeners(tables.unranked, left_out=left)),
        "constant_votes": tuple(constant_votes(tables.ratings, tables.unranked, left_out=left)) if heard else (),
    }


CONTRIBUTION = Contribution(
    keys=(UNRANKED_MEANS, REFERENCE_DIFFERENCES, POST_SCREENING, CONSTANT_VOTES),
    compute=_listening,
    words=(
        Words(
            "hidden reference and anchors",
            f"Listeners fail by a hidden reference below {BOUND:g}, or a 7 kHz anchor above it, in more than {OFTEN}% "
            f"of their own items; an anchor that more than {SHARED}% of listeners rate above {BOUND:g}, or that hardly "
            "differs from its reference, does not count (ITU-R BS.1534-3, 4.1.2).",
            lambda results: bool(POST_SCREENING.of(results)),
        ),
    ),
    sections=(
        SectionEntry("listening", UNRANKED_MEANS, listening, (REFERENCE_DIFFERENCES, POST_SCREENING, CONSTANT_VOTES)),
    ),
)
