"""What an audit contributes."""

from __future__ import annotations

from analysis.audit.audit_rows import AuditRow, audit_rows
from analysis.audit.section import audit
from analysis.contribution import Analysis, Contribution, Found, SectionEntry, Words
from analysis.records.results import rows

AUDIT = rows(
    "audit", AuditRow, "People's means over all forms, of which a rater answered all and people a part ([audit])."
)


def _audit(analysis: Analysis) -> Found:
    prepared = analysis.prepared
    rater = None if prepared.study is None else prepared.study.audited_by
    if rater is None:
        return {"audit": ()}
    return {"audit": tuple(audit_rows(prepared.kept, prepared.orders, prepared.plan, rater=rater))}


def _of_sums(analysis: Analysis) -> Found:
    return {"audit": ()}


WORDS = (
    Words(
        "audit",
        "A value a form (mean preference, share won, mean difference): offset + lambda times the rater's, and people's "
        "less that over the chance of being drawn (active inference, Zrnic and Candès 2024). Lambda makes the variance "
        "least; HC3, t. Intervals are not corrected for their number.",
        lambda results: bool(AUDIT.of(results)),
    ),
)
CONTRIBUTION = Contribution(
    keys=(AUDIT,),
    compute=_audit,
    of_sums=_of_sums,
    words=WORDS,
    sections=(SectionEntry("audit", AUDIT, audit),),
)
