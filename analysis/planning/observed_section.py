"""Power at the effects found: Figure 2 of Ethayarajh & Jurafsky (2022), drawn only where it was asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analysis.contribution import Shown
from analysis.figures.drawing import COLOURS, DASHES, INK, system_colours
from analysis.figures.figures import Point, lines_plot
from analysis.planning.observed import ObservedPowerRow
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Figure, Paragraph, Section
from analysis.printing.lookup import grouped
from analysis.printing.names import Names
from analysis.printing.pictures import how_many, pictured
from analysis.printing.words import count, listed, number, p_value, percent, plural, sentence, slug

NO_EVIDENCE = (
    "Observed power restates the p-value and is no evidence (Hoenig & Heisey, 2001): it is about a half wherever p "
    "equals the level. It cannot say why a test found nothing, nor what another study would find. Shown only to "
    "reproduce Figure 2 of Ethayarajh & Jurafsky (2022); the planned curve beside it takes a difference set beforehand."
)
ASKED = {"preferences": "chances", "ratings": "ratings"}
BESIDE = "observed_power in results.json holds the same numbers"


def observed_power(rows: Sequence[ObservedPowerRow], shown: Shown) -> Section:
    """Show power by annotators at the effects found and at a planned one."""
    names = shown.names
    blocks: list[Block] = [Paragraph(text=NO_EVIDENCE, weight="warning")]
    if rows:
        blocks.append(_table(rows, names))
        parts = grouped(rows, lambda row: (row.source, row.group, row.criterion))
        blocks += [_both(own, names) for own in _asked_both_ways(rows)]
        blocks += [_figure(own, names) for own in parts.values()]
    else:
        blocks.append(Paragraph(text="No test here counts annotators, so there is no curve."))
    return Section(id="observed-power", title="Power at the effects found", blocks=tuple(blocks))


def _table(rows: Sequence[ObservedPowerRow], names: Names) -> Block:
    fields: list[Field[ObservedPowerRow]] = [
        text_column("Pair", names.over),
        text_column("Asked by", lambda row: sentence(names.source_by_group(row.source, row.group))),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.n), names.counted(row.group for row in rows)),
        number_column(
            "Effect",
            lambda row: number(row.effect),
            "what was found of the first minus the second, in standard deviations (t / root n)",
        ),
        number_column("p", lambda row: p_value(row.p_value), "of the test, not corrected"),
        number_column("Observed power", lambda row: percent(row.power), "at n, with that effect"),
        number_column(
            "Planned for",
            lambda row: f"{row.planned_for}, SD {number(row.planned_sd)}" if row.planned_for else "",
            "a difference set beforehand, and the SD assumed",
        ),
        number_column(
            "Planned power",
            lambda row: percent(next(point.planned for point in row.curve if point.annotators == row.n)),
            "at n, with that difference",
        ),
    ]
    caption = f"Power of each test at level {rows[0].alpha:g}"
    return tabulate("observed_power", caption, fields, rows, constant=("Criterion", "Outputs read"))


def _asked_both_ways(rows: Sequence[ObservedPowerRow]) -> list[list[ObservedPowerRow]]:
    """Return the tests of each group that stated chances and rated, of one criterion of either."""
    found = []
    for own in grouped(rows, lambda row: row.group).values():
        chances, scores = ([row for row in own if row.source == source] for source in ("preferences", "ratings"))
        if chances and scores:
            asked, rated = ([row.criterion for row in part] for part in (chances, scores))
            criterion = next((one for one in asked if one in rated), None)
            first = criterion or asked[0], criterion or rated[0]
            both = zip((chances, scores), first, strict=True)
            found.append([row for part, criterion in both for row in part if row.criterion == criterion])
    return found


def _both(rows: Sequence[ObservedPowerRow], names: Names) -> Figure:
    """Draw power by stated chances and by ratings in one figure, as Figure 2 of the SPA paper; a colour is a pair."""
    pairs = list(dict.fromkeys(frozenset((row.system_x, row.system_y)) for row in rows))
    colours = dict(zip(pairs, COLOURS, strict=False))
    drawn = [row for row in rows if frozenset((row.system_x, row.system_y)) in colours]
    several = len({row.exposure for row in rows if row.source == "preferences"}) > 1
    points = [
        Point(
            line=f"{ASKED[row.source]}: {names.over(row)}"
            + (f", {plural(row.exposure, 'output')}" if several and row.exposure else ""),
            x=point.annotators,
            y=point.observed,
            colour=colours[frozenset((row.system_x, row.system_y))],
            dash=DASHES[row.source == "preferences"],
        )
        for row in drawn
        for point in row.curve
    ]
    drawing = partial(
        lines_plot,
        points,
        x_title="annotators",
        y_title="power",
        references=(0.8,),
        alternative=f"Power by annotators; {BESIDE}.",
    )
    first = rows[0]
    criteria = listed(list(dict.fromkeys(names.criterion(row.criterion) for row in rows)))
    only = f" The first {len(colours)} of {len(pairs)} pairs are drawn." if len(colours) < len(pairs) else ""
    caption = (
        f"{sentence(names.group(first.group))}, {criteria}: power at level {first.alpha:g} by annotators, the effects "
        "found held constant; dashed: stated chances, solid: ratings (as Figure 2 of Ethayarajh & Jurafsky, "
        f"2022).{only}"
    )
    return pictured(f"observed-power-both-{slug(first.group)}", drawing, caption, units=how_many(drawn, names))


def _figure(rows: Sequence[ObservedPowerRow], names: Names) -> Figure:
    first, drawn = rows[0], rows[: len(DASHES) - 1]
    colours = system_colours(names.systems)
    several = len({row.exposure for row in rows}) > 1
    points = [
        Point(
            line=names.over(row) + (f", {plural(row.exposure, 'output')}" if several and row.exposure else ""),
            x=point.annotators,
            y=point.observed,
            colour=colours.get(row.system_x, INK),
        )
        for row in drawn
        for point in row.curve
    ]
    points += [
        Point(
            line=f"planned: {first.planned_for}, SD {number(first.planned_sd)}",
            x=point.annotators,
            y=point.planned,
        )
        for point in first.curve
        if point.planned is not None
    ]
    drawing = partial(
        lines_plot,
        points,
        x_title="annotators",
        y_title="power",
        references=(0.8,),
        alternative=f"Power by annotators; {BESIDE}.",
    )
    only = f" The first {len(drawn)} of {len(rows)} are drawn." if len(drawn) < len(rows) else ""
    caption = (
        f"{sentence(names.source_by_group(first.source, first.group))}, {names.criterion(first.criterion)}: "
        f"power at level {first.alpha:g} by annotators, the effects found held constant, and as planned.{only}"
    )
    name = "-".join(("observed-power", first.source, slug(first.group), slug(first.criterion)))
    return pictured(name, drawing, caption, units=how_many(drawn, names))
