"""What a measure leaves out of a table read in parts: one entry each, beside the measure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from analysis.records.overview import LeftOut
from analysis.records.results import Results


@dataclass(frozen=True, slots=True)
class NeedsSingleAnswers:
    """What does not follow from sums.

    Attributes
    ----------
    name : str
        What results.json calls it.
    keys : tuple of str
        Keys of results.json that lack it: rows that are not there, or fields that are null.
    words : callable
        From the totals and what follows from them to what is left out, in words; ``None``: nothing is.
    """

    name: LeftOut
    keys: tuple[str, ...]
    words: Callable[[Any, Results], str | None]


def left_out_of(entries: Iterable[NeedsSingleAnswers], totals: Any, results: Results) -> dict[LeftOut, str]:
    """Return in words what is left out, by name."""
    found = ((entry.name, entry.words(totals, results)) for entry in entries)
    return {name: text for name, text in found if text is not None}
