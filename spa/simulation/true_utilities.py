"""True utilities: how good each output is, chosen for a simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from statistics import NormalDist
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from spa.errors import StudyError
from spa.records.study import OVERALL, Study

STANDARD = NormalDist()
Spread = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]


class SimulationTable(BaseModel):
    """Numbers that a simulation is given: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Camp(SimulationTable):
    """People of one taste (``[[camps]]``)."""

    share: Share  # of all people
    liking: dict[str, float]  # what they find each system better than its utility, or worse
    answers: dict[str, str] = {}  # screening question -> their answer


class TrueUtilities(SimulationTable):
    """How good every output is, on one scale of utility from ``low`` to ``high``.

    The utility of an output is its system's, plus an effect of the item, plus an effect of the
    output itself. Both effects are normal and come from a hash of the seed and the names, so
    that an output is as good as it is whoever reads it, in whatever order.

    Examples
    --------
    >>> truth = TrueUtilities(utilities={"ada": -0.5, "davinci": 0.5}, item_sd=0, output_sd=0)
    >>> truth.utility("davinci", "story 1", 1)
    0.5
    """

    utilities: dict[str, float]  # expected utility of each system
    item_sd: Spread = 0.5  # how much better the outputs of all systems are on one item than on another
    output_sd: Spread = 0.7  # how unequal the outputs of one system are beyond that
    turn_sd: Spread = 0.4  # how unequal the turns of one output are, where they are rated one by one
    criterion_sd: Spread = 0.5  # how far one criterion departs from the overall utility of an output
    error_rate: Share = 0.1  # share of words in error in an output of middling utility
    low: float = -2.5  # utilities from here ...
    high: float = 2.5  # ... to here fill a rating scale from end to end
    lower_is_better: frozenset[str] = frozenset()  # criteria rated by how much there is of something bad
    output_utilities: dict[str, dict[str, tuple[float, ...]]] = {}  # system -> item -> one number a sample; exact
    camps: tuple[Camp, ...] = ()  # into which people fall; none: all are of one taste
    seed: int = 0

    @model_validator(mode="after")
    def check(self) -> TrueUtilities:
        """Refuse an empty scale or no systems."""
        if not self.low < self.high:
            raise ValueError(f"low must be below high, got {self.low:g} and {self.high:g}")
        if not self.utilities:
            raise ValueError("utilities must name at least one system")
        if self.camps and not math.isclose(sum(camp.share for camp in self.camps), 1):
            raise ValueError(f"shares of camps must add up to 1, got {sum(camp.share for camp in self.camps):g}")
        strangers = sorted({name for camp in self.camps for name in camp.liking} - self.utilities.keys())
        if strangers:
            raise ValueError(f"camps like systems without a utility: {', '.join(strangers)}")
        return self

    def utility(self, system: str, item_id: str, sample: int, criterion: str = OVERALL) -> float:
        """Return how good one output is with regard to one criterion."""
        explicit = self.output_utilities.get(system, {}).get(item_id)
        if explicit is not None:
            if not 1 <= sample <= len(explicit):
                raise StudyError(
                    f"truth: {system!r}, item {item_id!r}: expected a utility for sample {sample}, "
                    f"got {len(explicit)} numbers; give one a sample"
                )
            value = explicit[sample - 1]
        elif system in self.utilities:
            value = self.utilities[system]
            value += self.item_sd * drawn(self.seed, "item", item_id)
            value += self.output_sd * drawn(self.seed, "output", item_id, system, str(sample))
        else:
            known = ", ".join(sorted(self.utilities))
            raise StudyError(f"truth: expected a utility for the system {system!r}, got only {known}; add it")
        if criterion != OVERALL:
            value += self.criterion_sd * drawn(self.seed, "criterion", criterion, item_id, system, str(sample))
        return value

    def turn_effect(self, system: str, item_id: str, sample: int, turn: int) -> float:
        """Return how much better one turn of an output is than the output."""
        return self.turn_sd * drawn(self.seed, "turn", item_id, system, str(sample), str(turn))

    def normalised(self, utility: float) -> float:
        """Return where a utility lies between ``low`` (0) and ``high`` (1); outside of them beyond."""
        return (utility - self.low) / (self.high - self.low)


@lru_cache(maxsize=65536)
def drawn(seed: int, *names: str) -> float:
    """Return a standard normal number that belongs to these names, the same on every machine."""
    digest = sha256("\x1f".join((str(seed), *names)).encode("utf-8", "surrogatepass")).digest()
    uniform = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    return STANDARD.inv_cdf(min(max(uniform, 1e-12), 1 - 1e-12))


def likert_reversal_truth(
    steady: str,
    uneven: str,
    item_ids: Sequence[str],
    *,
    others: Sequence[str] = (),
    points: int = 5,
    margin: float = 0.1,
    samples: int = 1,
) -> TrueUtilities:
    """Construct two systems whose averaged Likert ratings reverse the true preference.

    Every output of ``steady`` lies ``margin`` below a whole number of the scale, so that rounding
    up gives it almost nothing. The outputs of ``uneven`` lie ``margin`` above that number and the
    one below it, half of the items each, so that rounding up gives it almost a whole point. The
    expected utility of ``steady`` is higher by ``0.5 - 2 margin``; its mean rating is lower by 0.5.

    ``others`` are systems that have no part in the reversal; they are worse than both. The utility scale is as long
    as the Likert scale of so many ``points``. An even number of items makes the halves equal. ``margin``, the distance
    from the whole number, is between 0 and 0.25: annotators whose noise is well below it round as the construction
    requires. ``samples`` are the outputs that each system has for an item.

    References
    ----------
    Ethayarajh and Jurafsky (2022), section 3, Propositions 1 and 2.

    Examples
    --------
    >>> truth = likert_reversal_truth("x", "y", ["i1", "i2"])
    >>> truth.utilities
    {'x': 2.9, 'y': 2.6}
    >>> [truth.utility("y", item, 1) for item in ("i1", "i2")]
    [3.1, 2.1]
    """
    if not 0 < margin < 0.25 or points < 2:
        raise ValueError("a reversal needs a margin between 0 and 0.25 and a scale of two points or more")
    middle = (points + 1) // 2
    just_below = middle - margin
    just_above = (middle + margin, middle - 1 + margin)
    return TrueUtilities(
        utilities={steady: just_below, uneven: sum(just_above) / 2, **dict.fromkeys(others, 0.3 * points)},
        item_sd=0,
        output_sd=0,
        low=0,
        high=points,
        output_utilities={
            steady: {item: (just_below,) * samples for item in item_ids},
            uneven: {item: (just_above[place % 2],) * samples for place, item in enumerate(item_ids)},
        },
    )


def even_truth(
    systems: Sequence[str], *, seed: int = 0, best: Sequence[str] = (), worst: Sequence[str] = ()
) -> TrueUtilities:
    """Return a truth in which every system is a little better than the one listed before it.

    ``best`` are at the top of any scale, as hidden references are; ``worst`` below all systems, as anchors are, each a
    little better than the one before it.

    >>> even_truth(["a", "b", "c"]).utilities
    {'a': -0.8, 'b': 0.0, 'c': 0.8}
    >>> even_truth(["a"], best=["studio"], worst=["low", "mid"]).utilities
    {'a': -0.8, 'studio': 5.0, 'low': -2.4, 'mid': -1.6}
    """
    step = 1.6 / max(len(systems) - 1, 1)
    evenly = {system: round(place * step - 0.8, 6) for place, system in enumerate(systems)}
    below = {system: round(-0.8 * (len(worst) - place) - 0.8, 6) for place, system in enumerate(worst)}
    return TrueUtilities(utilities={**evenly, **dict.fromkeys(best, 5.0), **below}, seed=seed)


def truth_of(study: Study) -> TrueUtilities:
    """Return the even truth of a study's systems, with its hidden references and anchors where they belong."""
    anchors = sorted((one for one in study.systems if one.role == "anchor"), key=lambda one: one.low_pass or 0.0)
    return even_truth(
        [one.id for one in study.ranked],
        seed=study.seed,
        best=[one.id for one in study.systems if one.role == "hidden_reference"],
        worst=[one.id for one in anchors],
    )
