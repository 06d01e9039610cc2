"""Rankings of systems: how sure each is, how well two agree, and where a difference is supported."""

from analysis.statistics.rank_orders import STRENGTH_TIE, Place, Ranking, kendall_tau, order_systems, ranks

__all__ = ["STRENGTH_TIE", "Place", "Ranking", "kendall_tau", "order_systems", "ranks"]
