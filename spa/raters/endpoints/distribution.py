"""Probabilities of the answers to a question, as a model on this machine records them and as any reply is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from spa.records.form import Question
from spa.widgets import widget_of

EQUAL = 1e-9  # probabilities closer than this are a tie


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How probable each answer is.

    ``probabilities`` maps the value of an option to its probability among the options (they sum to
    1); ``mass`` is the probability that the reply begins with any of them, in [0, 1].
    """

    probabilities: Mapping[str, float]
    mass: float

    def __post_init__(self) -> None:
        total = math.fsum(self.probabilities.values())
        if not self.probabilities or not all(0 <= one <= 1 for one in self.probabilities.values()):
            raise ValueError("expected probabilities from 0 to 1")
        if abs(total - 1) > 1e-6 or not 0 <= self.mass <= 1 + 1e-6:
            raise ValueError(f"expected probabilities that sum to 1, a mass from 0 to 1, got {total} and {self.mass}")

    @property
    def most_probable(self) -> tuple[str, ...]:
        """The values of the most probable options: one, or several that are equally probable."""
        most = max(self.probabilities.values())
        return tuple(value for value, one in self.probabilities.items() if most - one <= EQUAL)

    def mean(self, scores: Mapping[str, float]) -> float:
        """Return the expected score, given the score of each option."""
        return math.fsum(scores[value] * one for value, one in self.probabilities.items())


def answer_values(question: Question) -> tuple[str, ...]:
    """Return the values of the answers that a question takes, in its order; none where they cannot be counted."""
    return widget_of(question.answer).values(question.answer)
