"""The rule by which a live study decides, from its table [stopping]."""

from __future__ import annotations

from analysis.sequential.rule import StoppingRule
from spa.records.study import Study
from spa.study.stopping import stopping_facts


def stopping_rule(study: Study) -> StoppingRule | None:
    """Return the rule of a live study; ``None`` of one of fixed size. Ratings are mapped to [0, 1] by their scale."""
    facts = stopping_facts(study)
    if not facts:
        return None
    return StoppingRule(**{name: facts[name] for name in ("error_rate", "effect", "margin", "least", "most")})
