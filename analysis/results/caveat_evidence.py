"""What caveats of a report are looked up in, and what each yields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from analysis.printing.names import Names
from analysis.records.results import Results
from analysis.results.claim_words import SupportedClaim
from analysis.statistics.record import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What caveats are looked up in: the results, and the claims with their evidence."""

    results: Results
    names: Names
    source: Source | None
    group: str | None
    supported: Sequence[SupportedClaim]

    @property
    def section(self) -> str:
        """Return the section of the source that the headline speaks of."""
        return self.source or "warnings"


Lines: TypeAlias = Iterator[tuple[str, str]]  # texts, each with the section that holds the details
