"""How tables from elsewhere are read as answers."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.answers.columns import Scale
from spa.tables.options import TableOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading(TableOptions):
    """How files from elsewhere are read: their columns and rows, annotators that are LLMs, scales."""

    llms: tuple[str, ...] = ()
    scales: tuple[Scale, ...] = ()
