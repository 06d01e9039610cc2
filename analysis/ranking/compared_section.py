"""The places of each system in every ranking, and where two orders differ beyond chance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analysis.contribution import Shown
from analysis.figures.figures import means_plot
from analysis.printing.cells import cell, titled
from analysis.printing.circle_words import circle_notes
from analysis.printing.document import Block, Bullets, Column, Figure, Fold, Heading, Paragraph, Table, build_table
from analysis.printing.lookup import by_criterion, drawn, opened
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, MOST_GROUPS, folded, of_criterion
from analysis.printing.words import p_words, plural, sentence, slug
from analysis.ranking.agreement import RankingAgreement
from analysis.ranking.differences import RankingDifference
from analysis.statistics.rank_orders import Place, Ranking

MOST_RANKINGS = 12  # columns that a reader can still compare
MOST_LINES = 12  # differences shown at once
APART = "ratings_bt"
Rows = Sequence[Ranking]


def rankings_compared(
    rankings: Rows, agreement: Sequence[RankingAgreement], differences: Sequence[RankingDifference], shown: Shown
) -> list[Block]:
    """Return the places by ranking as table and figure, and the supported differences in words."""
    names = shown.names
    rankings = [row for row in rankings if row.source != APART and row.places]
    criteria = by_criterion(rankings)
    blocks: list[Block] = []
    for criterion, own in criteria.items():
        if len(own) < 2:
            continue
        part: list[Block] = [_places(shown, own, criterion, len(criteria) > 1)]
        if criterion in drawn(criteria):
            part.append(_places_figure(own, names, criterion, len(criteria) > 1))
        if criterion not in opened([*criteria]):
            part = [Fold(summary=sentence(names.criterion(criterion)), blocks=tuple(part))]
        blocks += part
    if blocks:
        blocks.insert(0, Heading(text="The place of each system"))
    return [*blocks, *(_differences(differences, shown) if agreement else [])]


def _places(shown: Shown, rankings: Rows, criterion: str, several: bool) -> Table:
    names = shown.names
    compared, left_out = rankings[:MOST_RANKINGS], max(0, len(rankings) - MOST_RANKINGS)
    by_system: dict[str, dict[int, str]] = {}
    for place, ranking in enumerate(compared):
        for row in ranking.places:
            by_system.setdefault(row.system, {})[place] = place_words(row)
    columns = [
        Column(title="System"),
        *(Column(title=sentence(names.source_by_group(row.source, row.group)), numeric=True) for row in compared),
    ]
    rows = [
        [cell(names.system(system)), *(cell(own.get(place, "\u2013")) for place in range(len(compared)))]
        for system, own in by_system.items()
    ]
    bounded = any(row.rank_low is not None for ranking in compared for row in ranking.places)
    notes = ["1 is best."]
    if bounded:
        notes = ["1 is best. In brackets the places that the answers allow, for all systems of a ranking together."]
    notes += circle_notes(shown.results, names, compared)
    if left_out:
        notes.append(f"{plural(left_out, 'more ranking')}: see the file rankings.csv.")
    caption = f"Place of each system{', with the places that the answers allow' if bounded else ''}"
    return build_table(
        *titled("places", caption, names, criterion, several=several),
        columns,
        rows,
        notes,
    )


def place_words(row: Place) -> str:
    """Return a place with what the answers allow.

    >>> place_words(Place(system="a", rank=2, rank_low=1, rank_high=3))
    '2 (1 to 3)'
    >>> place_words(Place(system="a", rank=1, rank_low=1, rank_high=1))
    '1 (1)'
    """
    low, high = row.rank_low, row.rank_high
    if low is None or high is None:
        return str(row.rank)
    return f"{row.rank} ({low if low == high else f'{low} to {high}'})"


def _differences(rows: Sequence[RankingDifference], shown: Shown) -> list[Block]:
    heading = Heading(text="Where the orders differ")
    if not rows:
        return [heading, Paragraph(text="No two rankings that were compared order a pair of systems differently.")]
    counted = {support: sum(row.support == support for row in rows) for support in ("both", "one", "none")}
    lacks, lack = ("has no decision", "have none") if shown.live else ("is undecided", "are")
    text = (
        f"Rankings order {plural(len(rows), 'pair')} of systems differently, counted for each two rankings. "
        + (
            f"On {counted['both']} both orders are clear and opposite: there the difference is supported. "
            if counted["both"]
            else "On none of them are both orders clear: no difference between rankings is supported. "
        )
        + f"On {counted['one']} one of the two {lacks}, on {counted['none']} both {lack}: there the rankings may "
        "well agree in truth."
    )
    several = len({row.criterion for row in rows}) > 1
    lines = tuple(_line(row, shown.names, several) for row in rows if row.support == "both")
    blocks: list[Block] = [heading, Paragraph(text=text)]
    if lines:
        bullets: Block = Bullets(items=lines)
        blocks.append(
            Fold(summary=f"Each of the {len(lines)}", blocks=(bullets,)) if len(lines) > MOST_LINES else bullets
        )
    return blocks


def _line(row: RankingDifference, names: Names, several: bool) -> str:
    first, second = names.system(row.system_x), names.system(row.system_y)
    sides = ((row.a, row.order_a, row.p_adjusted_a), (row.b, row.order_b, row.p_adjusted_b))
    parts = [
        f"{first if order == 'x' else second} before {second if order == 'x' else first} in {names.joined(side)} "
        f"({'decided' if p_adjusted is None else p_words(p_adjusted)})"
        for side, order, p_adjusted in sides
    ]
    about = f" ({names.criterion(row.criterion)})" if several else ""
    return f"{parts[0]}, but {parts[1]}{about}."


def _places_figure(rankings: Rows, names: Names, criterion: str, several: bool) -> Figure | Fold:
    """Return the figure of places, one dot a ranking with the places that its answers allow."""
    kept = rankings[:MOST_GROUPS]
    titles = [sentence(names.source_by_group(row.source, row.group)) for row in kept]
    dots = [
        {
            "criterion": criterion,
            "group": title,
            "system": place.system,
            "mean": place.rank,
            "ci_low": place.rank_low,
            "ci_high": place.rank_high,
        }
        for title, row in zip(titles, kept, strict=True)
        for place in row.places
    ]
    drawing = partial(
        means_plot,
        dots,
        system_names={place.system: names.system(place.system) for row in kept for place in row.places},
        criterion_names={criterion: names.criterion(criterion)},
        title="place (1 = best)",
        alternative=f"Place of each system in each ranking, with the places that the answers allow; {BESIDE}.",
    )
    left = f" Only the first {len(kept)} of {len(rankings)} rankings are drawn." if len(kept) < len(rankings) else ""
    caption = f"Place of each system in each ranking{of_criterion(names, criterion, several)}; 1 is best.{left}"
    return folded(f"places-{slug(criterion)}" if several else "places", drawing, caption, len(dots))
