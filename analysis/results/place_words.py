"""Systems that are all called by a place on the page or in the file: what stood there may differ from row to row."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.printing.words import listed
from analysis.records.overview import WarningRow
from analysis.records.results import Results
from spa.errors import shortened
from spa.tables.verdicts import is_place

SHOWN = 4


def about_places(results: Results) -> Iterator[WarningRow]:
    """Say that all systems are called by places, in tables from elsewhere: a study names its systems itself."""
    if results.study is not None:
        return
    names = {row.system for row in results.ratings.means} | {row.system for row in results.bradley_terry}
    names |= {name for row in results.choices.pairs for name in (row.system_x, row.system_y)}
    names |= {name for row in results.preferences for name in (row.system_x, row.system_y)}
    if len(names) < 2 or not all(map(is_place, names)):
        return
    if len(names) > 2 and all(name.casefold().startswith(("model", "system")) for name in names):
        return  # no page shows so many sides
    shown = [shortened(name, 30) for name in sorted(names)[:SHOWN]]
    text = (
        f"the systems are called {listed(shown)}{' ...' if len(names) > SHOWN else ''}, which are places: where "
        "outputs were shuffled from row to row, none of these results is about a system. If a column says what stood "
        "there, name it with --map COLUMN=system (system_x, system_y)."
    )
    yield WarningRow(kind="places", group=None, text=text)
