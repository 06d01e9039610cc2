"""What explanations and comments speak of: how well criteria separate, keywords, and a map."""

from __future__ import annotations

from functools import partial
from typing import Protocol

from analysis.contribution import Shown
from analysis.explanations.exploration import ExplorationResults, MapPoint
from analysis.explanations.separation import METHOD
from analysis.figures.drawing import SCREEN, Look
from analysis.figures.figures import scatter_plot
from analysis.printing.cells import cell
from analysis.printing.document import Block, Column, Figure, Paragraph, Section, Table
from analysis.printing.pictures import pictured
from analysis.printing.words import count, p_value, percent, plural

MOST_KEYWORDS = 5  # of a group and criterion; all are in the CSV file


def exploration(results: ExplorationResults, shown: Shown) -> Section:
    """Report what ``spa explanations`` found."""
    blocks = exploration_blocks(results, shown.names)
    return Section(id="exploration", title="What the explanations are about", blocks=tuple(blocks))


class NamesOfTexts(Protocol):
    """Shown names of what texts are about, and of who wrote them."""

    def criterion(self, criterion_id: str) -> str:
        """Return the shown name of a criterion."""

    def group(self, group: str) -> str:
        """Return the shown name of a group."""


def exploration_blocks(results: ExplorationResults, names: NamesOfTexts) -> list[Block]:
    """Return what is said of the explanations, with keywords and map."""
    blocks: list[Block] = [Paragraph(text=_about(results)), _separations(names, results)]
    blocks += [_keywords(names, results)] if results.keywords else []
    return [*blocks, _map(names, results)]


def _about(found: ExplorationResults) -> str:
    shown = len(found.points)
    drawn = f"; {shown:,} of them, drawn at random, are embedded" if shown < found.n_texts else ""
    return f"{plural(found.n_texts, 'explanation or comment', 'explanations and comments')}{drawn}. {METHOD}"


def _texts(found: ExplorationResults, n: int | None = None) -> str:
    many = found.n_texts if n is None else n
    return f"n: {plural(many, 'explanation or comment', 'explanations and comments')}."


def _separations(names: NamesOfTexts, found: ExplorationResults) -> Table:
    columns = [
        Column(title="Written by"),
        Column(title="Texts", numeric=True),
        Column(title="Items", explanation="or forms, or people, where texts are not of one item", numeric=True),
        Column(title="Criteria", explanation="with questions at the end", numeric=True),
        Column(title="Recognised (%)", explanation="texts of which the criterion is recognised", numeric=True),
        Column(
            title="Shuffled (%)",
            explanation="with criteria shuffled; below it what 95% of the shuffles stay under",
            numeric=True,
        ),
        Column(title="p", explanation="uncorrected", numeric=True),
    ]
    rows = [
        [
            cell(names.group(row.group)),
            *(cell(count(size)) for size in (row.n, row.n_units, row.n_criteria)),
            cell(percent(row.accuracy).rstrip("%"), detail=str(row.reason or "")),
            cell(percent(row.shuffled_mean).rstrip("%"), detail=percent(row.shuffled_high).rstrip("%")),
            cell(p_value(row.p_value)),
        ]
        for row in found.separations
    ]
    return Table(
        name="exploration_separations",
        caption="How well criteria separate",
        columns=tuple(columns),
        rows=tuple(map(tuple, rows)),
        csv="exploration_separations",
        units=_texts(found),
    )


def _keywords(names: NamesOfTexts, found: ExplorationResults) -> Table:
    parts: dict[str, dict[str, list[str]]] = {}
    for row in found.keywords:
        own = parts.setdefault(row.group, {}).setdefault(row.criterion, [])
        own.append(f"{row.keyword} ({row.n_texts:,})")
    rows = [
        (
            cell(names.group(group)),
            cell(names.criterion(criterion)),
            cell(", ".join(words[:MOST_KEYWORDS]), quoted=True),
        )
        for group, by_criterion in parts.items()
        for criterion, words in by_criterion.items()
    ]
    return Table(
        name="exploration_keywords",
        caption="Keywords",
        columns=(
            Column(title="Written by"),
            Column(title="Criterion"),
            Column(title="Keywords", explanation="the first ones, with the number of texts that hold them"),
        ),
        rows=tuple(rows),
        notes=(found.keyword_note,),
        csv="exploration_keywords",
        units=_texts(found),
    )


def map_of(results: ExplorationResults, names: NamesOfTexts, *, look: Look = SCREEN) -> str:
    """Return the map as SVG."""

    def criterion(point: MapPoint) -> str:
        return names.criterion(point.criterion)

    return scatter_plot(
        [(criterion(point), point.x, point.y) for point in results.points],
        alternative="Map of explanations and comments by criterion; the tables before it say how well they separate.",
        look=look,
    )


def _map(names: NamesOfTexts, found: ExplorationResults) -> Figure:
    caption = (
        f"Texts that lie close are worded alike ({found.projection} of {found.embedding}), by criterion. Distances on "
        "a map mislead."
    )
    return pictured(
        "exploration",
        partial(map_of, found, names),
        caption,
        "all points are in the CSV file",
        _texts(found, len(found.points)),
    )
