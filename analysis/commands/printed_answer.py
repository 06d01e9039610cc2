"""What ``spa report`` prints: the answer in four lines, and the rankings."""

from __future__ import annotations

import shlex
from collections.abc import Collection

from rich.table import Table
from rich.text import Text

from analysis.figures.plain_text import clean
from analysis.printing.circle_words import circle_notes
from analysis.printing.names import Names
from analysis.printing.words import shortened_list
from analysis.records.results import Results
from analysis.report.warnings import warning_lines
from analysis.statistics.rank_orders import Ranking
from spa.commands.terminal import console

RANKINGS_SHOWN = 24
SYSTEMS_SHOWN = 20  # of a ranking of many
MANY_SYSTEMS = 300


def print_answer(results: Results, noted: Collection[str]) -> None:
    """Print the headline, the rankings and how many warnings there are, without notes that were ``noted``."""
    results = clean(results)  # a name may hold what moves a terminal's cursor
    shown, names = console(), Names(results)
    for entry in results.settings.inputs:
        for note in (note for note in entry.notes if note not in noted):
            shown.print(Text(f"{entry.file}: {note}"))
    for title, text in results.headline.lines() if results.headline else ():
        shown.print(Text.assemble((f"{title} " if title.endswith("?") else f"{title}: ", "bold"), text))
    claims = results.headline.claims if results.headline else ()
    assumed = [claim.criterion for claim in claims if claim.direction == "higher (assumed)"]
    if assumed:
        likeliest = next(filter(names.doubtful, assumed), assumed[0])
        option = f"--lower-is-better {shlex.quote(likeliest)}"
        shown.print(Text(f"Higher ratings are assumed to be better; where lower ones are, add e.g. {option}"))
    table = Table("criterion", "asked by", "group", "order, best first", title="Rankings")
    table.title_justify = "center" if shown.is_terminal else "left"
    rankings = [row for row in results.rankings if row.source != "ratings_bt"]
    for row in rankings[:RANKINGS_SHOWN]:
        order, aside = _order_words(row)
        criterion = f"{row.criterion} ({names.direction(row.criterion)})" if row.source == "ratings" else row.criterion
        asked_by = "rankings" if row.source == "choices" and names.ordered(row.criterion) else row.source
        cells = (criterion, asked_by, row.group, f"{order} (no rank: {aside})" if aside else order)
        table.add_row(*(Text(cell, overflow="fold") for cell in cells))
    shown.print(table)
    for note in circle_notes(results, names, rankings):
        shown.print(Text(note))
    more = len(rankings) - RANKINGS_SHOWN
    if more > 0:
        shown.print(f"{more} more rankings are in the report.")
    excluded = len({row.annotator_id for row in results.exclusions})
    warnings = len(warning_lines(results))
    shown.print(f"Annotators with exclusions: {excluded}. Warnings: {warnings}. See the report.")


def _order_words(row: Ranking) -> tuple[str, str]:
    """Return the order of the systems, and those without a rank; of many the first, and how many more there are."""
    order, aside = [" = ".join(place) for place in row.order], [gone.system for gone in row.unranked]
    if sum(map(len, row.order)) + len(aside) > MANY_SYSTEMS:
        order, aside = (shortened_list(listed, SYSTEMS_SHOWN) for listed in (order, aside))
    return " > ".join(order) or "none", ", ".join(aside)
