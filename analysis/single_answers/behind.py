"""Which answers a figure shows behind its means, and what its caption says of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from analysis.printing.names import Names
from analysis.records.results import Results
from analysis.single_answers.answers import MOST_ANSWERS
from analysis.single_answers.contribution import SINGLE_ANSWERS
from analysis.statistics.record import Source

OF_PEOPLE = "means of several people"  # which are no answers of single ones


class AnswersBehind:
    """Answers behind the means of one way of asking; none of choices, each of which is one side or the other."""

    def __init__(self, results: Results, names: Names, source: Source) -> None:
        self._found = {
            (row.group, row.criterion, row.exposure, row.system, row.other): row
            for row in SINGLE_ANSWERS.of(results)
            if row.source == source and names.unnamed(row.group) != OF_PEOPLE
        }

    def _of(self, row: Any) -> Any:
        if hasattr(row, "system"):
            return self._found.get((row.group, row.criterion, None, row.system, None))
        return self._found.get((row.group, row.criterion, row.exposure, row.system_x, row.system_y))

    def rows(self, means: Iterable[Any]) -> list[dict[str, Any]]:
        """Return means as a figure takes them, each with its ``answers``."""
        found = [(row, self._of(row) if self._found else None) for row in means]
        return [{**asdict(row), "answers": () if own is None else own.values} for row, own in found]

    def words(self, means: Sequence[Any]) -> str:
        """Return what a caption says of the answers behind these means; nothing where there are none."""
        found = [own for own in map(self._of, means) if own is not None] if self._found else []
        if not found:
            return ""
        of = "" if len(found) == len(means) else " where they are shown"
        many = max(own.n for own in found) > MOST_ANSWERS
        thin = f" ({MOST_ANSWERS} evenly of more)" if many else ""
        return f" Dots: single answers{of}{thin}."
