"""What figures of records share: names and colours, the groups that can be told apart, captions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, TypeAlias

from analysis.figures.drawing import COLOURS, SCREEN, SHAPES, Look
from analysis.printing.document import Figure, Fold
from analysis.printing.lookup import KIND_ORDER
from analysis.printing.names import Names
from analysis.printing.words import plural
from analysis.records.results import Results

LONG_FIGURE = 60  # dots; a longer figure is opened on demand
MOST_GROUPS = len(SHAPES)  # groups that shapes can tell apart
MOST_NAMED = 4  # groups that a caption counts one by one
BESIDE = "the table before this figure holds the same numbers"
BESIDE_AFTER = "the table after this figure holds the same numbers"
Rows: TypeAlias = Sequence[Any]  # of records


def called(rows: Rows, names: Names) -> dict[str, Any]:
    """Return the shown names of systems, groups and criteria of rows, and the colours of groups, by argument."""
    sides = ("system", "system_x", "system_y")
    systems = {getattr(row, side) for row in rows for side in sides if hasattr(row, side)}
    return {
        "system_names": {system: names.system(system) for system in systems},
        "group_names": {row.group: names.group(row.group) for row in rows},
        "criterion_names": {row.criterion: names.criterion(row.criterion) for row in rows},
        "colours": _group_colours(names),
    }


def _group_colours(names: Names) -> dict[str, str]:
    """Return the colour of each group, people first, the same in every figure of a report."""
    return dict(zip(people_first(names.groups, names), cycle(COLOURS)))


def people_first(groups: Iterable[str], names: Names) -> list[str]:
    """Return each group once, people before simulated annotators before LLMs."""
    return sorted(dict.fromkeys(groups), key=lambda group: KIND_ORDER.get(names.kind(group), 2))


def pictured(
    name: str,
    drawing: Callable[..., str],
    caption: str,
    alternative: str = BESIDE,
    units: str = "",
    *,
    tabled: bool = True,
) -> Figure:
    """Return a figure as it looks on screen, which a paper can draw again with a ``look`` of its own.

    What a table beside it says is not written into it. In a paper it may stand in place of the table: cells and bars,
    whose greys cannot be read back, then write their values, and what has an axis does not.

    Parameters
    ----------
    tabled : bool
        A table beside it has the same numbers.
    """
    drawn = _BesideTable(drawing) if tabled else drawing
    return Figure(
        name=name, svg=drawn(look=SCREEN), caption=caption, alternative=alternative, units=units, drawing=drawn
    )


@dataclass(frozen=True, slots=True)
class _BesideTable:
    """A drawing beside a table with the same numbers."""

    drawing: Callable[..., str]

    def __call__(self, look: Look = SCREEN) -> str:
        """Draw it without these; in a paper with those of cells and bars."""
        return self.drawing(look=replace(look, numbers="none" if look.total is None else "cells"))


def folded(
    name: str, drawing: Callable[..., str], caption: str, dots: int, units: str = "", *, tabled: bool = True
) -> Figure | Fold:
    """Return a figure of records, opened on demand where it is long."""
    figure = pictured(name, drawing, caption, units=units, tabled=tabled)
    return Fold(summary=f"Figure of {dots} results", blocks=(figure,)) if dots > LONG_FIGURE else figure


def of_criterion(names: Names, criterion: str, several: bool) -> str:
    """Return the end of a caption that names the criterion, where there are several."""
    return f": {names.criterion(criterion)}" if several else ""


def drawn_groups(rows: Rows, names: Names, most_groups: int = MOST_GROUPS) -> tuple[Rows, str]:
    """Return the rows of as many groups as can be told apart, people first, and a word on the others."""
    groups = people_first((row.group for row in rows), names)
    kept = set(groups[: min(most_groups, MOST_GROUPS)])
    drawn = [row for row in rows if row.group in kept]
    if len(groups) == len(kept):
        return drawn, ""
    return drawn, f" Drawn: the first {len(kept)} of {len(groups)} groups; the table has all."


def with_intervals(rows: Rows, names: Names) -> str:
    """Return the words of a caption on intervals; nothing where no row has one."""
    return f" with {names.confidence} confidence intervals" if any(row.ci_low is not None for row in rows) else ""


def everyone(results: Results, names: Names, *, before: bool = False) -> str:
    """Return who is counted, after exclusions or before: "21 simulated annotators, 24 forms of gpt-4 (LLM)"."""
    parts = []
    for group in people_first((row.group for row in results.groups), names):
        (row,) = (one for one in results.groups if one.group == group)
        people, forms = row.annotators, row.assignments
        if not before:
            people, forms = people - row.excluded_annotators, forms - row.excluded_assignments
        of_llm = names.kind(group) == "llm" and forms > 0
        words = names.unnamed(group) or names.units(group, "annotator", forms if of_llm else people)
        parts.append(words if words.endswith(names.group(group)) else f"{words} of {names.group(group)}")
    more = len(parts) - MOST_NAMED
    return ", ".join([*parts[:MOST_NAMED], *([plural(more, "more group")] if more > 0 else [])])


def how_many(rows: Rows, names: Names) -> str:
    """Return the units that rows rest on, group by group: "n: 24 people, 18 to 20 forms of gpt", and a full stop.

    Items are said to be items; of a mean rating the units of its interval count.
    """
    found: dict[tuple[str, str], set[int]] = {}
    for row in rows:
        units = found.setdefault((row.group, getattr(row, "unit", "annotator")), set())
        units.add(getattr(row, "n_units", row.n))
    parts = []
    for (group, unit), several in found.items():
        words = names.units(group, unit, max(several))
        least = f"{min(several):,} to " if len(several) > 1 else ""
        of = "" if words.endswith(names.group(group)) else f" of {names.group(group)}"
        parts.append(f"{least}{words}{of}")
    return f"n: {', '.join(parts)}." if parts else ""
