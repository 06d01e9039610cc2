"""When a live study may decide: everything that must be fixed before its first answer."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.statistics.checks import check_finite, check_level, check_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """The decisions of a live study, declared beforehand.

    Values are one number in [0, 1] for each unit (annotator; for an LLM assignment) and hypothesis (pair and
    exposure), 1/2 under no difference, above it where x is better.

    Attributes
    ----------
    effect : float
        Distance abs(mean - 1/2) that the bets are planned for, in (0, 1/2), e.g. 0.10. A wrong one costs units, never
        validity.
    error_rate : float
        Chance of any false decision in the family, at every moment together.
    margin : float or None
        Two systems are equal where abs(mean - 1/2) < margin, in (0, 1/2); ``None``: equality is not decided.
    least : int
        Units of a hypothesis before a decision on it takes effect.
    most : int or None
        Planned most units, from which futility is judged; ``None``: it is not.
    sd : float
        Guess of the standard deviation of a unit's value, in (0, 1/2].
    futility : float
        A hypothesis is futile while the chance of a decision by ``most``, were the effect as planned, is smaller.
    """

    effect: float
    error_rate: float = 0.05
    margin: float | None = None
    least: int = 2
    most: int | None = None
    sd: float = 0.25
    futility: float = 0.2

    def __post_init__(self) -> None:
        for name in ("effect", "sd") if self.margin is None else ("effect", "sd", "margin"):
            check_finite(name, value := getattr(self, name), above=0)
            if value > 0.5 or (value == 0.5 and name != "sd"):
                raise ValueError(f"{name} must lie below 0.5, as values lie in [0, 1], got {value!r}")
        check_level("error_rate", self.error_rate)
        check_level("futility", self.futility)
        check_whole("least", self.least, least=1)
        if self.most is not None:
            check_whole("most", self.most, least=self.least)
