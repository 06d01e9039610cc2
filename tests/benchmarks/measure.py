"""What a benchmark returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured number with its unit."""

    name: str
    value: float
    unit: str
    peak_mib: float | None = None  # peak of the memory that the work itself allocated
    note: str = ""
