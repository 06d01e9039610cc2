"""Orders as texts, "A > B = C": the value of an answered ranking, best first, "=" between tied labels."""

from __future__ import annotations

import re
from collections.abc import Mapping

from spa.forms.form import Question

SIGN = re.compile(r"\s*([>=])\s*")


def order_fields(question: Question, order: str) -> dict[str, str]:
    """Return what a page sends for an order such as "A > B = C"; "" sends nothing but empty fields."""
    ranks = ranks_of(order) if order else {}
    return {field: str(ranks.get(label, "")) for label, field in question.fields.items()}


def order_of(ranks: Mapping[str, int]) -> str:
    """Write ranks as an order; tied labels stand in the order given.

    >>> order_of({"A": 2, "B": 1, "C": 2})
    'B > A = C'
    """
    places = sorted(set(ranks.values()))
    return " > ".join(" = ".join(label for label, rank in ranks.items() if rank == place) for place in places)


def ranks_of(order: str) -> dict[str, int]:
    """Return the rank of each name of an order, 1 = best; tied names share the lowest rank.

    >>> ranks_of("B > A = C > D")
    {'B': 1, 'A': 2, 'C': 2, 'D': 4}
    """
    first, *rest = SIGN.split(order.strip())
    ranks = {first: 1}
    for sign, name in zip(rest[::2], rest[1::2], strict=True):
        ranks[name] = ranks[list(ranks)[-1]] if sign == "=" else len(ranks) + 1
    return ranks
