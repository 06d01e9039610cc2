"""Ways of asking. To add one: a module here that ends with its ``WAY``, and a line in the tuple.

The order is that of the pages of a form, of the tables of a study and of everything listed by way of asking.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from spa.elicitation import best_worst, categories, choices, continuous, gamble, likert, ranking, spa, spans
from spa.elicitation.way import WayOfAsking as WayOfAsking
from spa.records.form import Judgement
from spa.records.study import Study

WAYS: tuple[WayOfAsking, ...] = (
    spa.WAY,
    likert.WAY,
    continuous.WAY,
    categories.WAY,
    spans.WAY,
    choices.WAY,
    ranking.WAY,
    best_worst.WAY,
    gamble.WAY,
)


def ways() -> Mapping[str, WayOfAsking]:
    """Return the ways of asking by the keys of their tables, in order."""
    return _by_key(WAYS)


@lru_cache(maxsize=8)
def _by_key(members: tuple[WayOfAsking, ...]) -> Mapping[str, WayOfAsking]:
    return {way.key: way for way in members}


def ways_asked(study: Study) -> tuple[str, ...]:
    """Return what tables of answers call the kinds of answers that a study asks for, in order."""
    asked = {name for section in study.sections.values() for name in section.answers()}
    return tuple(way.settings.way for way in WAYS if way.settings.way in asked)


def judgements() -> dict[str, type[Judgement]]:
    """Return what questions of all ways of asking are about, by what the store calls it."""
    return {one.kind: one for way in WAYS for one in way.judgements}


def by_answers() -> dict[str, WayOfAsking]:
    """Return the ways of asking by what tables of answers call them."""
    return {way.settings.way: way for way in WAYS}
