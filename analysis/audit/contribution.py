"""What an audit contributes."""

from __future__ import annotations

from analysis.audit.audit_rows import AuditRow, audit_rows
from analysis.audit.section import audit
from analysis.contribution import Analysis, Contribution, KeyValues, SectionEntry, Words
from analysis.records.results import rows

AUDIT = rows(
    "audit", AuditRow, "People's means over all forms, of which a rater answered all and people a part ([audit])."
)


def _audit(analysis: Analysis) -> KeyValues:
    prepared = analysis.prepared
    study = prepared.study
    if study is None or study.audited_by is None:
        return {"audit": ()}
    found = audit_rows(prepared.kept, prepared.orders, prepared.plan, rater=study.audited_by, audited=study.audited)
    return {"audit": tuple(found)}


def _of_sums(analysis: Analysis) -> KeyValues:
    return {"audit": ()}


WORDS = (
    Words(
        "audit",
        "A value a form (mean preference, share won, mean difference): offset + lambda times the rater's, and people's "
        "less that over the chance of being drawn (active inference, Zrnic and Candès 2024). Lambda makes the variance "
        "least; HC3, t. Intervals are not corrected for their number.",
        lambda results: any(row.error_rate is None for row in AUDIT.of(results)),
    ),
    Words(
        "waves of an audit",
        "People's forms were drawn in waves, with chances by the spread of the rater's repeats or the entropy of its "
        "chances, as errors of earlier waves grew with it; each is in the store as it was fixed.",
        lambda results: any(row.drawn_by_doubt for row in AUDIT.of(results)),
    ),
    Words(
        "decisions of an audit",
        "Bets on offset + lambda times the rater's answer, and people's less that over the chance of being drawn, all "
        "fixed before each wave (Csillag et al. 2025; Waudby-Smith and Ramdas 2024), decide in a closed test of all "
        "rows with the error rate named; intervals hold at every look.",
        lambda results: any(row.error_rate is not None for row in AUDIT.of(results)),
    ),
)
CONTRIBUTION = Contribution(
    keys=(AUDIT,),
    compute=_audit,
    of_sums=_of_sums,
    words=WORDS,
    sections=(SectionEntry("audit", AUDIT, audit),),
)
