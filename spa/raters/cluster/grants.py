"""The budget of a run on a cluster: each batch gets a share, and all shares together never pass the whole."""

from __future__ import annotations

from spa.raters.budget import RaterBudget
from spa.raters.cluster.batches import VisitBatch

MARGIN = 1.5  # times the cost expected; what is not used comes back


class BudgetGrants:
    """Hands out shares of a rater's budget.

    Parameters
    ----------
    rater_budget : RaterBudget
        What may be spent, and what is; its ``spent`` grows with what batches report.
    cost : float
        Expected of one visit; corrected by what visits turn out to cost.
    """

    def __init__(self, rater_budget: RaterBudget, cost: float) -> None:
        self._budget = rater_budget
        self._cost = cost
        self._visits = 0  # that were paid in this run
        self._paid = 0.0
        self._granted: dict[int, float] = {}  # by the number of the batch
        self.lost: dict[int, float] = {}  # of batches whose worker may still be at work

    @property
    def available(self) -> float | None:
        """What is neither spent nor granted; ``None`` without a budget."""
        if self._budget.limit is None:
            return None
        promised = sum(self._granted.values()) + sum(self.lost.values())
        return max(0.0, self._budget.limit - self._budget.spent - promised)

    @property
    def expected(self) -> float:
        """The expected cost of one visit."""
        return self._paid / self._visits if self._visits else self._cost

    def grant(self, batch: VisitBatch, *, least: float = 0.0) -> float | None:
        """Return what a batch may spend, more each time that it stopped; ``None`` without a budget."""
        if (available := self.available) is None:
            return None
        wanted = MARGIN * max(self.expected, self._cost) * len(batch.visits) * 2**batch.stopped or available
        self._granted[batch.number] = min(max(wanted, least), available)
        return self._granted[batch.number]

    def settle(self, batch: VisitBatch, cost: float, *, finished: int = 0) -> None:
        """Count what a batch has cost; the rest of its grant is available again."""
        self._granted.pop(batch.number, None)
        self._pay(cost)
        if finished:
            self._paid, self._visits = self._paid + cost, self._visits + finished

    def lose(self, batch: VisitBatch) -> None:
        """Keep the grant of a batch whose worker is not heard of: it may spend it still."""
        grant = self._granted.pop(batch.number, 0.0)
        self.lost[batch.number] = self.lost.get(batch.number, 0.0) + grant

    def reclaim(self, spent: float) -> None:
        """Make the grants of lost batches available, once no worker is at work: ``spent`` is what the journal says."""
        self.lost.clear()
        self._pay(max(0.0, spent - self._budget.spent))

    def _pay(self, cost: float) -> None:
        self._budget.spent += cost
        self._budget.spent_now += cost
