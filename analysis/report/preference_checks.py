"""What the preferences rest on: their sizes, the outputs read, the bound on contradictions, and triples."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.comparisons.preferences import PreferenceTest
from analysis.figures.figures import Axis, Dot, draw
from analysis.preference_checks.exposure import ExposurePoint, ExposureTrend, FirstExposure
from analysis.report.cells import cell
from analysis.report.coherence import coherence_blocks
from analysis.report.document import (
    Block,
    Bullets,
    Cell,
    Column,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    build_table,
)
from analysis.report.filtering import filtering_blocks
from analysis.results.findings import confidence_words
from analysis.results.records import Results
from analysis.results.words import Names, count, interval, number, p_value, p_words, percent, plural, signed

POINTS = 100  # percentage points
BESIDE = "the table before this figure holds the same numbers"
MEANING = (
    "The distance of an answer from 50% says how sure an annotator is, whichever system it speaks for. It should grow "
    "with the outputs read, and grow less and less. Part of it is noise: an answer that misses 50% by chance counts as "
    "distant too. The distance of the mean is nearly free of that."
)


def preference_checks(results: Results) -> Section | None:
    """Report the checks of the preferences that could be made; nothing where none could."""
    names = Names(results)
    blocks: list[Block] = [
        *_effects(results, names),
        *_exposure(results, names),
        *filtering_blocks(results, names),
        *coherence_blocks(results, names),
    ]
    if not blocks:
        return None
    opening = Paragraph(text="How large the preferences are, and whether they hold where they could go wrong.")
    return Section(id="preference-checks", title="What the preferences rest on", blocks=(opening, *blocks))


def _effects(results: Results, names: Names) -> list[Block]:
    rows = [row for row in results.preferences if row.d_z is not None]
    if not rows:
        return []
    columns = [
        Column(title="Pair"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n", numeric=True),
        Column(title="SD", explanation="standard deviation between annotators, in percentage points", numeric=True),
        Column(title="Effect size d", explanation="mean distance from 50% in these standard deviations", numeric=True),
        Column(title=f"{confidence_words(results)} interval", numeric=True),
    ]
    cells = [
        [
            *_who(row, names),
            cell(count(row.n)),
            cell(number(_scaled(row.sd), 1)),
            cell(signed(row.d_z)),
            cell(interval(row.d_z_low, row.d_z_high)),
        ]
        for row in rows
    ]
    text = (
        "A p-value mixes how large a preference is with how many annotators were asked. The effect size d does not "
        "depend on their number: the mean distance from 50%, measured in the spread between annotators. Positive "
        "speaks for the first system."
    )
    table = build_table("effect_sizes", "Effect sizes of the preferences", columns, cells, constant=CONSTANT)
    return [Fold(summary="How large each preference is (effect sizes)", blocks=(Paragraph(text=text), table))]


CONSTANT = ("Criterion", "Outputs read")


def _who(row: PreferenceTest, names: Names) -> list[Cell]:
    return [
        cell(names.over(row)),
        cell(names.group(row.group)),
        cell(names.criterion(row.criterion)),
        cell(count(row.exposure)),
    ]


def _exposure(results: Results, names: Names) -> list[Block]:
    curve = results.exposure_curve
    if not curve:
        return []
    trends, first = results.exposure_trend, results.first_exposure
    lines = [_trend_words(row, names) for row in trends] + [_first_words(row, names) for row in first]
    blocks: list[Block] = [
        Heading(text="How sure annotators are after few and after many outputs"),
        Paragraph(text=MEANING),
        Bullets(items=tuple(lines)),
        _curve(curve, names, confidence_words(results)),
        _figure(curve, names),
    ]
    if first:
        blocks.append(
            Paragraph(
                text="The SPA paper found annotators surer after one output of each system than its curve would lead "
                "one to expect, and calls it over-confidence: one output does not show how much a system\u2019s "
                "outputs vary. It gives no test. Here annotators count as over-confident where their distance after "
                "one output is clearly larger than after more."
            )
        )
    tables = [_trends(trends, names)] if trends else []
    tables += [_firsts(first, names)] if first else []
    if tables:
        blocks.append(Fold(summary="The tests behind these sentences", blocks=tuple(tables)))
    return blocks


def _about(row: ExposureTrend | FirstExposure, names: Names) -> str:
    return f"{names.group(row.group)}, {names.criterion(row.criterion)}"


def _trend_words(row: ExposureTrend, names: Names) -> str:
    read = ", ".join(str(exposure) for exposure in row.exposures)
    what = f"{_about(row, names)}, outputs read {read}"
    if row.verdict is None or row.slope is None:
        return f"{what}: no trend could be tested ({row.reason})."
    verb = {"grows": "grows", "shrinks": "shrinks", "no clear change": "does not clearly change"}[row.verdict]
    return (
        f"{what}: the distance {verb} with each doubling ({signed(POINTS * row.slope, 1)} percentage points, "
        f"{p_words(row.p_adjusted)})."
    )


def _first_words(row: FirstExposure, names: Names) -> str:
    what = f"{_about(row, names)}, one output against {row.exposure}"
    if row.over_confident is None or row.mean_difference is None:
        return f"{what}: not tested ({row.reason})."
    found = "over-confident after one" if row.over_confident else "no clear over-confidence after one"
    difference = f"{signed(POINTS * row.mean_difference, 1)} percentage points"
    return f"{what}: {found} ({difference}, {p_words(row.p_adjusted)})."


def _curve(rows: Sequence[ExposurePoint], names: Names, confidence: str) -> Table:
    columns = [
        Column(title="Pair"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", numeric=True),
        Column(title="n", numeric=True),
        Column(title="Mean distance", explanation="of single answers from 50%, in percentage points", numeric=True),
        Column(title=f"{confidence} interval", numeric=True),
        Column(title="Distance of the mean", explanation="of the mean answer from 50%", numeric=True),
    ]
    cells = [
        [
            cell("all pairs" if row.system_x is None else names.against(row)),
            cell(names.group(row.group)),
            cell(names.criterion(row.criterion)),
            cell(count(row.exposure)),
            cell(count(row.n)),
            cell(_points(row.mean_distance)),
            cell(interval(row.ci_low, row.ci_high, as_percent=True)),
            cell(_points(row.distance_of_mean)),
        ]
        for row in rows
    ]
    return build_table("exposure_curve", "Distance from 50% by outputs read", columns, cells, constant=("Criterion",))


def _points(value: float | None) -> str:
    return percent(value).removesuffix("%")


def _scaled(value: float | None) -> float | None:
    return None if value is None else POINTS * value


def _figure(curve: Sequence[ExposurePoint], names: Names) -> Figure:
    pooled = {(row.group, row.criterion) for row in curve if row.system_x is None}
    drawn = [row for row in curve if row.system_x is None or (row.group, row.criterion) not in pooled]
    dots = [
        Dot(
            panel=names.criterion(row.criterion),
            label=plural(row.exposure, "output") + " each",
            group=names.short_group(row.group),
            value=_scaled(row.mean_distance),
            low=_scaled(row.ci_low),
            high=_scaled(row.ci_high),
            text="no answers" if row.mean_distance is None else number(_scaled(row.mean_distance), 1),
        )
        for row in drawn
    ]
    axis = Axis(low=0, high=50, title="distance from 50%, in percentage points", ticks=(0, 10, 20, 30, 40, 50))
    svg = draw(dots, axis, f"Mean distance from 50% by outputs read, with intervals; {BESIDE}.")
    caption = "Mean distance of an answer from 50% by the number of outputs read, with its interval."
    return Figure(name="exposure-curve", svg=svg, caption=caption, alternative=BESIDE)


def _trends(rows: Sequence[ExposureTrend], names: Names) -> Table:
    read = [", ".join(map(str, row.exposures)) for row in rows]
    caption, what = "Change of the distance with the outputs read", "percentage points with each doubling"
    return _tests(rows, names, read, [row.slope for row in rows], what, "exposure_trend", caption)


def _firsts(rows: Sequence[FirstExposure], names: Names) -> Table:
    read = [f"1 and {row.exposure}" for row in rows]
    caption, what = "Distance after one output against after more", "percentage points, after one minus after more"
    return _tests(rows, names, read, [row.mean_difference for row in rows], what, "first_exposure", caption)


def _tests(
    rows: Sequence[ExposureTrend | FirstExposure],
    names: Names,
    read: Sequence[str],
    changes: Sequence[float | None],
    what: str,
    name: str,
    caption: str,
) -> Table:
    columns = [
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs read", explanation=caption),
        Column(title="Test"),
        Column(title="n", numeric=True),
        Column(title="Change", explanation=what, numeric=True),
        Column(title="Interval", numeric=True),
        Column(title="t", numeric=True),
        Column(title="Adjusted p", numeric=True),
    ]
    cells = [
        [
            cell(names.group(row.group)),
            cell(names.criterion(row.criterion)),
            cell(exposures),
            cell(row.test),
            cell(count(row.n)),
            cell(signed(_scaled(change), 1)),
            cell(interval(row.ci_low, row.ci_high, as_percent=True)),
            cell(number(row.t)),
            cell(p_value(row.p_adjusted)),
        ]
        for row, exposures, change in zip(rows, read, changes, strict=True)
    ]
    return build_table(name, caption, columns, cells, constant=("Criterion",))
