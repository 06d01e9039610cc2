"""What the preferences rest on: their sizes, the outputs read, the bound on contradictions, and triples."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from analysis.comparisons.preferences import PreferenceTest
from analysis.contribution import Shown
from analysis.figures.figures import Axis, Dot, draw
from analysis.preference_checks.coherence import CoherenceRow
from analysis.preference_checks.exposure import ExposurePoint, ExposureTrend, FirstExposure
from analysis.preference_checks.filtering import SweepRow
from analysis.preference_checks.filtering_section import filtering_blocks
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import (
    Block,
    Bullets,
    Figure,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
)
from analysis.printing.levels import correction_name
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, how_many, pictured
from analysis.printing.words import (
    count,
    interval,
    number,
    p_value,
    p_words,
    percent,
    plural,
    share_interval,
    signed,
    t_value,
)

POINTS = 100  # percentage points
Tested = TypeVar("Tested", ExposureTrend, FirstExposure)
MEANING = (
    "The distance of an answer from 50% says how sure an annotator is, whichever system it speaks for. It should grow "
    "with the outputs read, and grow less and less. Part of it is noise: an answer that misses 50% by chance counts as "
    "distant too. The distance of the mean is nearly free of that."
)
MOST_TRIPLES = 40  # triples in the table
COHERENCE = (
    "Anyone who prefers A to B and B to C should prefer A to C (weak transitivity), and at least as strongly as the "
    "stronger of the two (strong transitivity). Bradley-Terry asks for more: the odds of A over C are the product of "
    "the other two. The discrepancy is stated minus implied log odds, 0 where they agree and below 0 where A over C is "
    "stated nearer to even than the two steps imply; answers of 0 or 100% have no "
    "odds and are left out of it. A single annotator who rounds or is unsure breaks these rules now and then; many "
    "who do show that the three pairs were not judged on one scale."
)


def what_preferences_rest_on(
    tests: Sequence[PreferenceTest],
    curve: Sequence[ExposurePoint],
    trends: Sequence[ExposureTrend],
    first: Sequence[FirstExposure],
    sweep: Sequence[SweepRow],
    triples: Sequence[CoherenceRow],
    shown: Shown,
) -> Section | None:
    """Report the checks of the preferences that could be made; nothing where none could."""
    blocks: list[Block] = [
        *_effects(tests, shown),
        *_exposure(curve, trends, first, shown),
        *filtering_blocks(sweep, shown),
        *coherence_blocks(triples, shown),
    ]
    if not blocks:
        return None
    opening = Paragraph(text="How large the preferences are, and whether they hold where they could go wrong.")
    return Section(id="preference-checks", title="What the preferences rest on", blocks=(opening, *blocks))


def _effects(tests: Sequence[PreferenceTest], shown: Shown) -> list[Block]:
    rows = [row for row in tests if row.d_z is not None]
    if not rows:
        return []
    names = shown.names
    counted = names.counted(row.group for row in rows)
    fields: list[Field[PreferenceTest]] = [
        text_column("Pair", names.over),
        *_asked_fields(names),
        number_column("n", lambda row: count(row.n)),
        number_column(
            "SD", lambda row: number(_scaled(row.sd), 1), f"standard deviation between {counted}, in percentage points"
        ),
        number_column(
            "Effect size d", lambda row: signed(row.d_z), "mean distance from 50% in these standard deviations"
        ),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.d_z_low, row.d_z_high)),
    ]
    text = (
        "A p-value mixes how large a preference is with how many were asked. The effect size d does not depend on "
        "their number: "
        f"the mean distance from 50%, measured in the spread between {counted}. Positive speaks for the first system."
    )
    table = tabulate(
        "effect_sizes",
        "Effect sizes of the preferences",
        fields,
        rows,
        constant=CONSTANT,
        units=how_many(rows, names),
    )
    return [Fold(summary="How large each preference is (effect sizes)", blocks=(Paragraph(text=text), table))]


CONSTANT = ("Criterion", "Outputs read")


def _asked_fields(names: Names) -> list[Field[PreferenceTest | ExposurePoint]]:
    return [
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
    ]


def _exposure(
    curve: Sequence[ExposurePoint], trends: Sequence[ExposureTrend], first: Sequence[FirstExposure], shown: Shown
) -> list[Block]:
    if not curve:
        return []
    names = shown.names
    lines = [_trend_words(row, names) for row in trends] + [_first_words(row, names) for row in first]
    blocks: list[Block] = [
        Heading(text="How sure annotators are after few and after many outputs"),
        Paragraph(text=MEANING),
        Bullets(items=tuple(lines)),
        _curve(curve, names, shown.confidence),
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
    fields: list[Field[ExposurePoint]] = [
        text_column("Pair", lambda row: "all pairs" if row.system_x is None else names.against(row)),
        *_asked_fields(names),
        number_column("n", lambda row: count(row.n)),
        number_column(
            "Mean distance", lambda row: _points(row.mean_distance), "of single answers from 50%, in percentage points"
        ),
        number_column(
            f"{confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high, as_percent=True)
        ),
        number_column("Distance of the mean", lambda row: _points(row.distance_of_mean), "of the mean answer from 50%"),
    ]
    return tabulate("exposure_curve", "Distance from 50% by outputs read", fields, rows, constant=("Criterion",))


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
            text="no answers" if row.mean_distance is None else "",
        )
        for row in drawn
    ]
    axis = Axis(low=0, high=50, title="distance from 50%, in percentage points", ticks=(0, 10, 20, 30, 40, 50))
    drawing = partial(draw, dots, axis, f"Mean distance from 50% by outputs read, with intervals; {BESIDE}.")
    caption = (
        "Mean distance of an answer from 50% by the number of outputs read, "
        f"with {names.confidence} confidence intervals."
    )
    return pictured("exposure-curve", drawing, caption, units=how_many(drawn, names))


def _trends(rows: Sequence[ExposureTrend], names: Names) -> Table:
    caption = "Change of the distance with the outputs read"
    fields: list[Field[ExposureTrend]] = _test_fields(
        names,
        text_column("Outputs read", lambda row: ", ".join(map(str, row.exposures)), caption),
        number_column("Change", lambda row: signed(_scaled(row.slope), 1), "percentage points with each doubling"),
    )
    return tabulate("exposure_trend", caption, fields, rows, constant=("Criterion",))


def _firsts(rows: Sequence[FirstExposure], names: Names) -> Table:
    caption = "Distance after one output against after more"
    fields: list[Field[FirstExposure]] = _test_fields(
        names,
        text_column("Outputs read", lambda row: f"1 and {row.exposure}", caption),
        number_column(
            "Change",
            lambda row: signed(_scaled(row.mean_difference), 1),
            "percentage points, after one minus after more",
        ),
    )
    return tabulate("first_exposure", caption, fields, rows, constant=("Criterion",))


def _test_fields(names: Names, read: Field[Tested], change: Field[Tested]) -> list[Field[Tested]]:
    return [
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        read,
        text_column("Test", lambda row: row.test),
        number_column("n", lambda row: count(row.n)),
        change,
        number_column("Confidence interval", lambda row: interval(row.ci_low, row.ci_high, as_percent=True)),
        number_column("t", lambda row: t_value(row.t)),
        number_column("Adjusted p", lambda row: p_value(row.p_adjusted)),
    ]


def coherence_blocks(rows: Sequence[CoherenceRow], shown: Shown) -> list[Block]:
    """Report the share of incoherent annotators and the triples; nothing where there are not three systems."""
    if not rows:
        return []
    names = shown.names
    together = [row for row in rows if row.system_a is None]
    triples = [row for row in rows if row.system_a is not None]
    blocks: list[Block] = [
        Heading(text="Do preferences along three systems fit together?"),
        Paragraph(text=COHERENCE),
        Bullets(items=tuple(_coherence_words(row, names) for row in together)),
    ]
    if not triples:
        return [blocks[0], blocks[2]]
    table = _coherence_table(triples[:MOST_TRIPLES], shown)
    more = f" (the first {MOST_TRIPLES} of {len(triples):,})" if len(triples) > MOST_TRIPLES else ""
    return [*blocks, Fold(summary=f"Each triple of systems{more}", blocks=(table,))]


def _coherence_words(row: CoherenceRow, names: Names) -> str:
    what = f"{names.group(row.group)}, {names.criterion(row.criterion)}"
    what += "" if row.exposure is None else f", {plural(row.exposure, 'output')} read"
    if not row.n_triples:
        return f"{what}: not checked, {row.reason}."
    between = share_interval(row.weak_low, row.weak_high)
    return (
        f"{what}: of {row.n:,} who judged all pairs of three systems, {percent(row.share_weak)} (interval "
        f"{between}) break weak transitivity at least once in {plural(row.n_triples, 'triple')}, "
        f"{percent(row.share_strong)} strong transitivity."
    )


def _coherence_table(rows: Sequence[CoherenceRow], shown: Shown) -> Table:
    names = shown.names
    counted = names.counted(row.group for row in rows)
    fields: list[Field[CoherenceRow]] = [
        text_column(
            "Systems A, B, C",
            lambda row: ", ".join(
                names.system(system) for system in (row.system_a, row.system_b, row.system_c) if system
            ),
            "the most preferred of the three first",
        ),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Outputs read", lambda row: count(row.exposure)),
        number_column("n", lambda row: count(row.n)),
        number_column("Weak broken", lambda row: percent(row.share_weak), f"share of {counted}"),
        number_column("Strong broken", lambda row: percent(row.share_strong), f"share of {counted}"),
        number_column("n with odds", lambda row: count(row.n_discrepancy), "those without an answer of 0 or 100%"),
        number_column(
            "Discrepancy", lambda row: signed(row.mean_discrepancy), "mean of stated minus implied log odds of A over C"
        ),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column(
            "Adjusted p",
            lambda row: p_value(row.p_adjusted),
            f"of no discrepancy, corrected for all triples ({correction_name(shown.settings)})",
        ),
        number_column("Of the means", _of_means, "the same from the group\u2019s three mean answers"),
    ]
    caption = "Coherence of triples"
    return tabulate("coherence", caption, fields, rows, constant=("Criterion", "Outputs read"))


def _of_means(row: CoherenceRow) -> str:
    broken = "weak broken" if row.group_weak else "strong broken" if row.group_strong else "coherent"
    if row.group_discrepancy is None:
        return broken
    return f"{number(row.group_discrepancy)} ({broken})"
