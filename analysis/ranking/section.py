"""Bradley-Terry strengths, and the ranking that each way of asking gives."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.orders.contribution import ORDERS
from analysis.printing.cells import Field, cell, tabulate, text_column
from analysis.printing.circle_words import circle_notes
from analysis.printing.document import Block, Cell, Column, Fold, Paragraph, Section, Table, build_table
from analysis.printing.names import Names
from analysis.printing.words import number, percent, plural, sentence
from analysis.ranking.tied import TieFit
from analysis.statistics.rank_orders import Ranking
from analysis.strengths.section import APART, strength_blocks
from analysis.strengths.strength_table import SystemStrength


def strengths(
    rows: Sequence[SystemStrength], ties: Sequence[TieFit], rankings: Sequence[Ranking], shown: Shown
) -> Section | None:
    """Report strengths with intervals and all rankings."""
    if not rows and not rankings:
        return None
    names = shown.names
    partial = {(row.group, row.criterion) for row in shown.of(ORDERS) if row.n_partial}
    blocks: list[Block] = []
    if rows:
        blocks += [
            Paragraph(
                text="The Bradley-Terry model gives each system one number, its strength, that fits all its "
                "comparisons at once. A system 1 point stronger than another is expected to be preferred to it in 73% "
                "of comparisons; strengths average zero, so only differences between them matter."
            ),
            *strength_blocks([row for row in rows if row.source not in APART], shown, partial),
            *_ties(names, [row for row in ties if row.source not in APART]),
        ]
    if rankings:
        own = [entry for entry in rankings if entry.source not in APART]
        blocks += [_rankings(shown, own, "rankings")] if own else []
    apart = [row for row in rows if row.source in APART]
    ranked = [entry for entry in rankings if entry.source in APART]
    if apart or ranked:
        about = Paragraph(
            text="The same model on ratings: an annotator\u2019s two ratings of one item are taken as a comparison, "
            "which the higher rating wins. The steps of the scale need not be equally wide for that."
        )
        tied = _ties(names, [row for row in ties if row.source in APART])
        inner = [
            *strength_blocks(apart, shown, partial),
            *tied,
            *([_rankings(shown, ranked, "rankings_ratings")] if ranked else []),
        ]
        blocks.append(Fold(summary="Ratings taken as comparisons", blocks=(about, *inner)))
    return Section(id="strengths", title="Strengths and rankings", blocks=tuple(blocks))


def _ties(names: Names, rows: Sequence[TieFit]) -> list[Block]:
    """Say what giving ties a parameter of their own changes, and show the strengths where the order changes."""
    known = [row for row in rows if row.same_order is not None]
    if not known:
        return []
    turned = [row for row in known if not row.same_order]
    about_ties = "A tie counts half a win for each system. Giving ties a parameter of their own (Davidson, 1970) " + (
        "leaves every order as it is." if not turned else f"changes {plural(len(turned), 'order')}; see the table."
    )
    if not turned:
        return [Paragraph(text=about_ties)]
    columns = [
        Column(title="System"),
        Column(title="From"),
        Column(title="Criterion"),
        Column(title="Ties", explanation="share of the comparisons", numeric=True),
        Column(title="Strength", explanation="with ties as half wins", numeric=True),
        Column(title="With ties apart", explanation="strength by Davidson\u2019s model", numeric=True),
    ]
    cells = [
        [
            cell(names.system(one.system)),
            cell(sentence(names.source_by_group(row.source, row.group))),
            cell(names.criterion(row.criterion)),
            cell(percent(row.share)),
            cell(number(one.strength_half)),
            cell(number(one.strength)),
        ]
        for row in turned
        for one in row.strengths
    ]
    name = "ties_ratings" if turned[0].source in APART else "ties"
    table = build_table(name, "Strengths where ties change the order", columns, cells, constant=("From", "Criterion"))
    return [Paragraph(text=about_ties), table]


def _rankings(shown: Shown, rankings: Sequence[Ranking], name: str) -> Table:
    names = shown.names
    fields: list[Field[Ranking]] = [
        text_column("Ranking from", lambda entry: sentence(names.source_by_group(entry.source, entry.group))),
        text_column("Criterion", lambda entry: names.criterion(entry.criterion)),
        text_column(
            "Best to worst",
            lambda entry: Cell(text=order_words(names, entry), tone="plain" if entry.order else "untested"),
            "an equals sign joins systems that share a place",
        ),
    ]
    notes = circle_notes(shown.results, names, rankings)
    return tabulate(name, "Rankings", fields, rankings, notes, constant=("Criterion",))


def order_words(names: Names, entry: Ranking) -> str:
    """Return "1. a, 2. b = c, 4. d"."""
    if not entry.order:
        return "no ranking: no reason was recorded"
    place, parts = 1, []
    for tied in entry.order:
        parts.append(f"{place}. {' = '.join(names.system(system) for system in tied)}")
        place += len(tied)
    left = "".join(f"; no place: {names.system(one.system)} ({one.reason})" for one in entry.unranked)
    return ", ".join(parts) + left
