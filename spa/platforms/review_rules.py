"""What a platform asks of whoever refuses work, and what carries decisions out there, as data that its bridge brings.

A bridge registers a function without arguments under ``spa.review_rules``, named as its visits' source; it
returns :class:`ReviewRules`. The dashboard shows them, and the bridge's own commands check them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

GROUP = "spa.review_rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewRules:
    """When and how a platform lets work be refused.

    ``categories`` are those that a rejection must name one of, ``shortest_message`` is in characters, and
    ``lines`` say in plain words what must be shown. ``commands`` carry out what reviewers decided; in them
    STUDY stands for the study file.
    """

    platform: str
    categories: tuple[str, ...]  # none: the platform has no list of them
    shortest_message: int
    lines: tuple[str, ...]
    commands: tuple[str, ...]


@cache
def rules_for(source: str) -> ReviewRules | None:
    """Return the rules of the platform that visits of a source came from; ``None`` where it has none.

    >>> rules_for("link") is None
    True
    """
    for found in entry_points(group=GROUP):
        if found.name == source:
            rules = found.load()()
            if not isinstance(rules, ReviewRules):
                raise TypeError(f"{found.value}: expected ReviewRules, got {type(rules).__name__}")
            return rules
    return None
