"""What a live study decides on: criteria, exposures and pairs, and one value on [0, 1] for each from a unit's answers.

A value lies above 0.5 where the first system is better. It follows from the unit's own answers alone, so that it is the
same whoever answers before or after.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.sequential.rule import StoppingRule
from analysis.statistics.coding import Floats
from spa.records.study import Deciding, Study
from spa.study.stopping import (
    criteria_apart,
    deciding_answers,
    deciding_criteria,
    deciding_pairs,
    rating_scale_width,
    stopping_facts,
)

Hypothesis = tuple[str, int | None, str, str]  # criterion, exposure, system_x, system_y
PairAnswer = tuple[str, int | None, str, str, float | None]  # and the share of system_x
RatingAnswer = tuple[str, str, str, float | None]  # criterion, system, item, rating


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypotheses:
    """All that is to be decided, in the order of the study.

    Attributes
    ----------
    answers : {"preferences", "ratings", "choices"}
        What decides.
    criteria : tuple of str
        By which.
    listed : tuple of (criterion, exposure, system_x, system_y)
    places : dict
        Where each stands in ``listed``.
    families : tuple of list of int
        Places of those that share an error rate: all, unless the store keeps criteria apart.
    systems : tuple of str
        In the order of the study.
    lower : frozenset of str
        Criteria on which a low rating is good.
    width : float
        Highest less lowest rating of the scale; of ratings.
    """

    answers: Deciding
    criteria: tuple[str, ...]
    listed: tuple[Hypothesis, ...]
    places: dict[Hypothesis, int]
    families: tuple[list[int], ...]
    systems: tuple[str, ...]
    lower: frozenset[str]
    width: float

    @classmethod
    def of(cls, study: Study, live_rules: int) -> Hypotheses:
        """Return those of a live study, whose store decides by ``live_rules`` (``Store.live_rules``)."""
        answers, criteria = deciding_answers(study), deciding_criteria(study)
        listed = tuple(_listed(study, answers, criteria))
        apart = [[n for n, one in enumerate(listed) if one[0] == criterion] for criterion in criteria]
        return cls(
            answers=answers,
            criteria=criteria,
            listed=listed,
            places={one: place for place, one in enumerate(listed)},
            families=tuple(apart) if criteria_apart(study, live_rules) else (list(range(len(listed))),),
            systems=tuple(system.id for system in study.compared),
            lower=frozenset(one.id for one in study.criteria if one.lower_is_better),
            width=rating_scale_width(study) if answers == "ratings" else 1.0,
        )

    def of_pairs(self, answers: Iterable[PairAnswer]) -> Floats:
        """Return one unit's values from answers about pairs, shape (k,); NaN where it was not asked.

        Of preferences the mean of both directions, each the mean of its answers, or whichever was asked; of choices the
        mean of all, ties half.
        """
        forth: dict[int, list[float]] = {}
        back: dict[int, list[float]] = {}
        for criterion, exposure, x, y, value in answers:
            if value is None:
                continue
            if (place := self.places.get((criterion, exposure, x, y))) is not None:
                forth.setdefault(place, []).append(value)
            elif (place := self.places.get((criterion, exposure, y, x))) is not None:
                into = back if self.answers == "preferences" else forth
                into.setdefault(place, []).append(1 - value)
        values = np.full(len(self.listed), np.nan)
        for place in {**forth, **back}:
            sides = [_mean(side[place]) for side in (back, forth) if place in side]
            values[place] = _mean(sides)
        return values

    def of_ratings(self, answers: Iterable[RatingAnswer]) -> Floats:
        """Return one unit's values from ratings, shape (k,): (mean difference / width + 1) / 2.

        The difference is the mean over items on which the unit rated both systems, or, where there are none, the
        difference of its mean ratings; it is turned where a low rating is good.
        """
        ratings: dict[tuple[str, str], dict[str, list[float]]] = {}
        for criterion, system, item, rating in answers:
            if rating is not None:
                ratings.setdefault((criterion, system), {}).setdefault(item, []).append(rating)
        cells = {key: {item: _mean(found) for item, found in items.items()} for key, items in ratings.items()}
        order = {system: place for place, system in enumerate(self.systems)}
        values = np.full(len(self.listed), np.nan)
        for place, (criterion, _, x, y) in enumerate(self.listed):
            turned = order[x] > order[y]
            first, second = (cells.get((criterion, system)) for system in ((y, x) if turned else (x, y)))
            if first is None or second is None:
                continue
            both = [rating - second[item] for item, rating in first.items() if item in second]
            difference = (_mean(both) if both else _mean([*first.values()]) - _mean([*second.values()])) / self.width
            difference = -difference if criterion in self.lower else difference
            value = min(max((difference + 1) / 2, 0.0), 1.0)
            values[place] = 1 - value if turned else value
        return values


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


def _listed(study: Study, answers: Deciding, criteria: tuple[str, ...]) -> Iterator[Hypothesis]:
    """Yield criterion, exposure and pair of all that is asked, in the order of the study."""
    exposures: tuple[int | None, ...] = (None,)
    if answers == "preferences":
        exposures = study.exposures or exposures
    for criterion in criteria:
        for exposure in exposures:
            for x, y in deciding_pairs(study):
                yield criterion, exposure, x, y


def stopping_rule(study: Study) -> StoppingRule | None:
    """Return the rule of a live study; ``None`` of one of fixed size. Ratings are mapped to [0, 1] by their scale."""
    facts = stopping_facts(study)
    if not facts:
        return None
    return StoppingRule(**{name: facts[name] for name in ("error_rate", "effect", "margin", "least", "most")})
