"""What a plan takes for granted, and the usual assumptions with their sources."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from analysis.planning.dealt import DealtItems
from analysis.planning.ranked import share_components, share_variance
from analysis.planning.unpaired import OwnItems
from analysis.planning.variance import Components
from analysis.statistics.corrections import Correction

Kind = Literal["spa", "likert", "spans", "ranking", "choices"]
TestUnit = Literal["auto", "annotator", "item"]
MINOR = 0.07  # share of a variance, see Assumptions.even_hands
CHANCE = {"spa": 0.5, "likert": 0.0, "spans": 0.0, "ranking": 0.5, "choices": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What a plan takes for granted.

    Attributes
    ----------
    kind : {"spa", "likert", "spans", "ranking", "choices"}
        SPA: the mean preference against 0.5; Likert, spans: the mean difference of two systems' scores, or of their
        weighted errors an output, against 0; ranking: the share of orders in which one stands before the other against
        0.5; choices: the share that one wins.
    components : Components
        Why contributions differ; ``source`` says where the numbers come from.
    n_items : int
        SPA: outputs of each system read (exposure); Likert, spans: outputs of each system rated, in each session.
        Ranking, choices: see ``judged``.
    directions : int
        Directions of SPA that are asked, 1 or 2.
    n_tests : int
        Size of the family that is corrected.
    pool : int or None
        Items of the study, where known; ``None``: taken as infinitely many.
    dealt : int or None
        Items of a hand, of which ``n_items`` are rated; ``None``: all are.
    per_assignment : int
        Annotators who answer the same assignment.
    points : int
        Points of the Likert scale.
    own_items : OwnItems or None
        Likert, spans: how items are dealt where annotators rate other items of each system, so that nothing pairs.
    same_items : bool
        SPA: whether systems are read on the same items; else their items are taken as infinitely many.
    ties : float
        Choices: share of ties, each half a win.
    errors : float
        Spans: weighted errors that one annotator marks in one output, mean of two systems.
    judged : tuple of (int, float)
        Ranking, choices: how many times an annotator judges a pair, and the share of annotators who do; shares sum
        to 1.
    sessions : int
        Sessions of each annotator; all their answers count, and each session is paid.
    unit : {"auto", "annotator", "item"}
        What the report tests over; "auto" as it chooses: ratings and choices of fewer than ten annotators by item.
    correction : {"holm", "bh"}
        Of the family; the first step of either has the level fwer / n_tests.
    unknown : str or None
        Why the test of this design cannot be planned, so that no figure is given.
    pay : Decimal or None
        For one completed submission, also of those who are excluded from the analysis.
    """

    kind: Kind
    components: Components
    source: str
    n_items: int
    n_tests: int
    fwer: float
    exclusion_rate: float
    directions: int = 1
    pool: int | None = None
    points: int = 5
    own_items: OwnItems | None = None
    same_items: bool = True
    ties: float = 0.0
    errors: float = 4.0
    judged: tuple[tuple[int, float], ...] = ((1, 1.0),)
    sessions: int = 1
    unit: TestUnit = "annotator"
    dealt: int | None = None
    per_assignment: int = 1
    correction: Correction = "holm"
    unknown: str | None = None
    pay: Decimal | None = None
    currency: str = "USD"

    @property
    def sd(self) -> float:
        """SD of one annotator's contribution to a test; of shares, of those who judge the pair."""
        if self.kind not in ("ranking", "choices"):
            share = None if self.even_hands is None else self.even_hands.share
            answers = self.directions * self.sessions
            return self.components.contribution_sd(self.items_judged, answers, item_share=share)
        variances = (share * share_variance(self.components, times, self.pool) for times, share in self.judged if times)
        return math.sqrt(sum(variances) / self.meets)

    @property
    def items_judged(self) -> int:
        """Outputs of each system that an annotator reads or rates in all sessions."""
        return self.n_items * self.sessions

    @property
    def hands(self) -> DealtItems | None:
        """How items come to annotators who judge the systems on the same ones; ``None`` where the pool is unknown."""
        rated: float = self.n_items
        if self.kind in ("ranking", "choices"):
            rated = sum(times * share for times, share in self.judged) / self.sessions
        dealt = max(self.dealt or 0, math.ceil(rated))
        if self.pool is None or not self.same_items or self.own_items is not None or dealt > self.pool:
            return None
        return DealtItems(
            rated=rated, dealt=dealt, pool=self.pool, sessions=self.sessions, per_assignment=self.per_assignment
        )

    @property
    def even_hands(self) -> DealtItems | None:
        """How items come to annotators, where it matters to a test over annotators.

        Of several sessions, together half of the items at most, it does not where items bring ``MINOR`` of the variance
        of a contribution: these are then counted as infinitely many, which asks for a few annotators more.
        """
        hands, made = self.hands, self.components
        if hands is None or not made.item_sd or self.kind in ("ranking", "choices"):
            return None
        whole = made.contribution_sd(self.items_judged, self.directions * self.sessions) ** 2
        minor = made.item_sd**2 / self.items_judged <= MINOR * whole
        return None if self.sessions > 1 and 2 * self.items_judged <= hands.pool and minor else hands

    @property
    def meets(self) -> float:
        """Share of annotators who judge a pair at all."""
        return min(1.0, sum(share for times, share in self.judged if times))

    @property
    def alpha(self) -> float:
        """Level of the first step of Holm or Benjamini-Hochberg, which is Bonferroni's for every test."""
        return self.fwer / self.n_tests

    @property
    def largest(self) -> float:
        """Largest difference that the scale allows; of errors the one where a system has none."""
        return {"likert": self.points - 1.0, "spans": 2 * self.errors}.get(self.kind, 0.5)

    @property
    def in_points(self) -> bool:
        """Whether differences are points, of ratings or of errors' weights, and not shares."""
        return CHANCE[self.kind] == 0

    @property
    def absent(self) -> float:
        """Share of the recruited who contribute nothing to a test: excluded, or asked about other pairs."""
        return self.exclusion_rate + (1 - self.exclusion_rate) * (1 - self.meets)

    def shown(self, difference: float) -> str:
        """Say a difference as a reader of the report would: 60% preferred, or 0.3 points.

        >>> assumed("spa").shown(0.1)
        '60%'
        """
        if not self.in_points:
            return f"{100 * (0.5 + difference):.4g}%"
        return f"{difference:.3g} point{'' if difference == 1 else 's'}"

    def cost(self, annotators: int | None) -> Decimal | None:
        """Pay for so many annotators in all their sessions, without a platform's fee."""
        return None if self.pay is None or annotators is None else self.pay * annotators * self.sessions


# Their sources and reasons stand in docs/planning.md.
DEFAULTS: dict[Kind, tuple[Components, str]] = {
    "spa": (
        Components(annotator_sd=0.3),
        "Table 1 of Ethayarajh & Jurafsky (2022) allows SDs from about 0.2 to 0.4; not split by exposure",
    ),
    "likert": (
        Components(annotator_sd=0.5, item_sd=0.8, residual_sd=1.25),
        "Table 1 of Ethayarajh & Jurafsky (2022) allows about 1.5 to 1.7 for one output; split as in the "
        "ratings of Sottana et al. (2023)",
    ),
    "spans": (
        Components(annotator_sd=2.2, item_sd=3.6, residual_sd=5.6),
        "one annotator of Kocmi et al. (2024) has a mean of 4.2 and an SD of 5.7 an output; split as ratings",
    ),
    "ranking": (share_components(0.1), "ratings of Sottana et al. (2023), read as orders, have 0.07"),
    "choices": (share_components(0.1), "ratings of Sottana et al. (2023), read as choices, have 0.07"),
}


def assumed(kind: Kind, **changes: Any) -> Assumptions:
    """Return the usual assumptions about an elicitation, with changes."""
    components, source = DEFAULTS[kind]
    usual: dict[str, Any] = {
        "kind": kind,
        "components": components,
        "source": source,
        "n_items": 5 if kind == "spa" else 1,
        "n_tests": 1,
        "fwer": 0.05,
        "exclusion_rate": 0.1,
    }
    return Assumptions(**{**usual, **changes})
