"""Kendall's tau with people at a glance: every measure by every criterion, darker the closer to people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from analysis.contribution import Shown
from analysis.correlations.group_correlations import CorrelationRow
from analysis.correlations.levels import Level
from analysis.figures.matrices import heat_map
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Figure, Fold, Paragraph
from analysis.printing.names import Names
from analysis.printing.pictures import pictured
from analysis.printing.words import MINUS, count, number, p_value, plural, sentence, slug

DRAWN = 30  # measures
MAPS: tuple[tuple[Level, str], ...] = (("overall", "single outputs"), ("system", "means of systems"))
ONE_PERSON = "one person and all people (mean)"
BESIDE = "the tables of this section hold the same numbers"
AVERAGED = (
    "Each one\u2019s mean over its criteria (without the overall question) as a measure of its own, beside "
    "people\u2019s ratings of each criterion (Chhun et al. 2024). Where its own rating of a criterion is no closer to "
    "people than this mean, nothing shows that it tells that criterion from the others. A criterion on which less is "
    "better counts with the other sign."
)


def heat_maps(
    rows: Sequence[CorrelationRow], averages: Sequence[CorrelationRow], target: str, names: Names
) -> Iterator[Figure]:
    """Yield a figure a level, where there are two criteria and a measure: Chhun et al. (2024), their two figures."""
    own = [row for row in (*rows, *averages) if row.b == target and row.method == "kendall"]
    bounds = [row for row in own if row.upper_bound and row.a == row.b and row.person_included]
    measures = [row for row in own if not row.upper_bound]
    criteria = list(dict.fromkeys(row.criterion for row in measures))
    listed = _strongest(measures)
    if len(criteria) < 2 or not listed:
        return
    drawn = listed[:DRAWN]
    for level, what in MAPS:
        known = {(row.a, row.criterion): row.value for row in measures if row.level == level}
        people = {row.criterion: row.value for row in bounds if row.level == level}
        cells = {(ONE_PERSON, names.criterion(one)): people.get(one) for one in criteria} if people else {}
        cells |= {
            (names.measure(measure), names.criterion(one)): known.get((measure, one))
            for measure in drawn
            for one in criteria
        }
        only = f" The strongest {len(drawn)} of {plural(len(listed), 'measure')}." if len(drawn) < len(listed) else ""
        about = f"Kendall\u2019s tau with {names.measure(target)}, {what}"
        caption = f"{about}; darker the further from 0, {MINUS} below it.{only}"
        drawing = partial(heat_map, cells, alternative=f"{caption} {sentence(BESIDE)}.")
        stem = f"correlations-heat-map-{slug(target.partition(':')[2])}-{level}"
        yield pictured(stem, drawing, caption, BESIDE, _units([row for row in measures if row.level == level], what))


def _units(rows: Sequence[CorrelationRow], what: str) -> str:
    counts = sorted({row.n for row in rows})
    return f"n: {f'{counts[0]:,} to ' if len(counts) > 1 else ''}{counts[-1]:,} {what} in common." if counts else ""


def _strongest(rows: Sequence[CorrelationRow]) -> list[str]:
    """Return measures, the strongest on single outputs first, on average over criteria."""
    sizes: dict[str, list[float]] = {}
    for row in rows:
        if row.level == "overall":
            sizes.setdefault(row.a, []).append(-1.0 if row.value is None else abs(row.value))
    return sorted(sizes, key=lambda measure: -sum(sizes[measure]) / len(sizes[measure]))


def of_averages(rows: Sequence[CorrelationRow], shown: Shown) -> list[Block]:
    """Show the means over criteria as measures of their own, beside each criterion of people."""
    own = [row for row in rows if row.method == "kendall"]
    if not own:
        return []
    names = shown.names
    system = {(row.a, row.b, row.criterion): row for row in own if row.level == "system"}
    fields: list[Field[CorrelationRow]] = [
        text_column("Measure", lambda row: names.measure(row.a)),
        text_column("People", lambda row: names.measure(row.b)),
        text_column("Their criterion", lambda row: names.criterion(row.criterion)),
        number_column("Single outputs", lambda row: number(row.value), "Kendall\u2019s tau"),
        number_column("Adjusted p", lambda row: p_value(row.p_adjusted), "Benjamini-Hochberg over these measures"),
        number_column("n", lambda row: count(row.n), "single outputs in common"),
        number_column("Systems", lambda row: number(system[row.a, row.b, row.criterion].value), "their means"),
    ]
    table = tabulate(
        "correlations_of_averages",
        "Means over criteria beside each criterion of people",
        fields,
        [row for row in own if row.level == "overall"],
        constant=("People",),
        csv="correlations_of_averages",
    )
    return [Fold(summary="Means over criteria as measures", blocks=(Paragraph(text=AVERAGED), table))]
