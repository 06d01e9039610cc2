"""Power at the effects found: Figure 2 of Ethayarajh & Jurafsky (2022), drawn only where it was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.figures.drawing import DASHES, INK, system_colours
from analysis.figures.figures import Point, lines_plot
from analysis.planning.observed import ObservedPowerRow
from analysis.report.cells import cell
from analysis.report.document import Block, Column, Figure, Paragraph, Section, build_table
from analysis.results.records import Results
from analysis.results.words import Names, count, number, p_value, percent, plural, sentence, slug

NO_EVIDENCE = (
    "Observed power restates the p-value and is no evidence (Hoenig & Heisey, 2001): it is about a half wherever p "
    "equals the level. It cannot say why a test found nothing, nor what another study would find. Shown only to "
    "reproduce Figure 2 of Ethayarajh & Jurafsky (2022); the planned curve beside it takes a difference set beforehand."
)
BESIDE = "observed_power in results.json holds the same numbers"


def observed_power(results: Results) -> Section | None:
    """Show power by annotators at the effects found and at a planned one; nothing where it was not asked for."""
    rows, names = results.observed_power, Names(results)
    if rows is None:
        return None
    blocks: list[Block] = [Paragraph(text=NO_EVIDENCE, weight="warning")]
    if rows:
        blocks.append(_table(rows, names))
        parts: dict[tuple[str, str, str], list[ObservedPowerRow]] = {}
        for row in rows:
            parts.setdefault((row.source, row.group, row.criterion), []).append(row)
        blocks += [_figure(own, names) for own in parts.values()]
    else:
        blocks.append(Paragraph(text="No test here counts annotators, so there is no curve."))
    return Section(id="observed-power", title="Power at the effects found", blocks=tuple(blocks))


def _table(rows: Sequence[ObservedPowerRow], names: Names) -> Block:
    columns = [
        Column(title="Pair"),
        Column(title="Asked by"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n", explanation="annotators", numeric=True),
        Column(title="Effect", explanation="what was found, in standard deviations (t / root n)", numeric=True),
        Column(title="p", explanation="of the test, not corrected", numeric=True),
        Column(title="Observed power", explanation="at n, with that effect", numeric=True),
        Column(title="Planned for", explanation="a difference set beforehand, and the SD assumed", numeric=True),
        Column(title="Planned power", explanation="at n, with that difference", numeric=True),
    ]
    cells = [
        [
            cell(names.over(row)),
            cell(sentence(names.source_by_group(row.source, row.group))),
            cell(names.criterion(row.criterion)),
            cell(count(row.exposure)),
            cell(count(row.n)),
            cell(number(row.effect)),
            cell(p_value(row.p_value)),
            cell(percent(row.power)),
            cell(f"{row.planned_for}, SD {number(row.planned_sd)}" if row.planned_for else ""),
            cell(percent(next(point.planned for point in row.curve if point.annotators == row.n))),
        ]
        for row in rows
    ]
    caption = f"Power of each test at level {rows[0].alpha:g}"
    return build_table("observed_power", caption, columns, cells, constant=("Criterion", "Outputs read"))


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
    svg = lines_plot(
        points, x_title="annotators", y_title="power", references=(0.8,), alternative=f"Power by annotators; {BESIDE}."
    )
    only = f" The first {len(drawn)} of {len(rows)} are drawn." if len(drawn) < len(rows) else ""
    caption = (
        f"{sentence(names.source_by_group(first.source, first.group))}, {names.criterion(first.criterion)}: "
        f"power at level {first.alpha:g} by annotators, the effects found held constant, and as planned.{only}"
    )
    name = "-".join(("observed-power", first.source, slug(first.group), slug(first.criterion)))
    return Figure(name=name, svg=svg, caption=caption, alternative=BESIDE)
