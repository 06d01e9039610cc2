"""What a study can and cannot answer, known before it is run.

The analysis knows; a package that does registers a function of study and outputs as ``reachable`` under
``spa.conclusions``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spa.records.outputs import Outputs
    from spa.records.study import Study

GROUP = "spa.conclusions"


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    """A question, whether the planned study can answer it, the reason, and what would change a no."""

    question: str
    answerable: bool
    reason: str
    change: str | None = None


def conclusions_of(study: Study, outputs: Outputs) -> tuple[Conclusion, ...]:
    """Return what the study can and cannot answer."""
    return tuple(one for point in registered_conclusions("reachable") for one in point.load()(study, outputs))


@cache
def registered_conclusions(name: str) -> EntryPoints:
    """Look up once who registered something by this name: that reads a file of every package that is installed."""
    return entry_points(group=GROUP, name=name)
