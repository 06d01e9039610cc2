"""The tables of the paper itself: few columns, people before LLMs; everything else stands in the appendix."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from analysis.comparisons.pair_tables import adjusted, how_tested
from analysis.comparisons.share_figures import WHAT
from analysis.printing.cells import decided, titled
from analysis.printing.circle_words import notes_of
from analysis.printing.levels import correction_name, level
from analysis.printing.live_words import chance_of_error, level_of, live_marks
from analysis.printing.lookup import SHARES, SOURCES, PairTest, by_criterion, confidence_words, grouped, tests_by_source
from analysis.printing.names import Names
from analysis.printing.pictures import people_first
from analysis.printing.words import (
    MINUS,
    NONE,
    compared_with,
    count,
    interval,
    number,
    percent,
    plural,
    sentence,
    share_interval,
    signed,
)
from analysis.records.results import Results
from analysis.report.paper.layout import Rows, Sheet
from analysis.statistics.record import Source

DIFFERENCES = "Differences in mean rating"


def main_tables(results: Results) -> Iterator[Sheet]:
    """Yield a table for each way of asking and criterion: pairs, and of ratings the means of systems, too.

    Parameters
    ----------
    results : Results
        As sections show them, without letters that LaTeX cannot set.
    """
    names = Names(results)
    for source in SOURCES:
        if source == "ratings":
            yield from _means(results, names)
        rows = tests_by_source(results)[source]
        criteria = by_criterion(rows)
        for criterion, own in criteria.items():
            yield _pairs(results, names, source, criterion, own, several=len(criteria) > 1)


def _pairs(
    results: Results, names: Names, source: Source, criterion: str, rows: Sequence[PairTest], *, several: bool
) -> Sheet:
    rated, live = source == "ratings", results.live
    bounded = live is not None and live.answers == source and bool(live.pairs)
    confidence = level_of(live) if bounded and live is not None else confidence_words(results)
    marks = compared_with(results, source) if live is None else live_marks(live)

    def estimate(row: Any) -> str:
        value = signed(row.mean_difference) if rated else percent(getattr(row, SHARES[source]))
        if row.ci_low is None or (live is not None and not bounded):
            return value
        limits = interval if rated else share_interval
        return f"{value} [{limits(row.ci_low, row.ci_high, marks=marks)}]"

    def found(row: PairTest) -> str:
        if live is None:
            return adjusted(row).text
        x, y = names.system(row.system_x), names.system(row.system_y)
        return NONE if row.decision is None else decided(row.decision, x, y).text

    joined = f" {MINUS} " if rated else " over "
    value = "Difference" if rated else {"preferences": "Mean", "choices": "Win rate"}[source]
    stem, what = ("main-ratings-pairs", DIFFERENCES) if rated else (f"main-{source}", WHAT[source])
    name, caption = titled(stem, what, names, criterion, several=several, rated=rated)
    groups = _groups(
        rows,
        names,
        lambda row: (
            f"{names.system(row.system_x)}{joined}{names.system(row.system_y)}",
            estimate(row),
            found(row),
            count(row.n),
        ),
    )
    shown_intervals = live is None or bounded
    words = [f"{caption}, with {confidence} confidence intervals" if shown_intervals else caption]
    words += (
        [_tested(results, rows)] if live is None else [f"The study ended by its decisions, {chance_of_error(live)}"]
    )
    words.append(f"n: {_units(rows, names)}")
    notes = how_tested(rows)[1] if live is None else []
    notes += _no_order(results, names, source, rows)
    return Sheet(
        name=name,
        caption=f"{'. '.join(words)}.",
        titles=(
            "Pair",
            f"{value} [{confidence} CI]" if shown_intervals else value,
            "p" if live is None else "Decision",
            "n",
        ),
        numeric=(False, True, live is None, True),
        groups=groups,
        notes=tuple(notes),
    )


def _no_order(results: Results, names: Names, source: Source, rows: Iterable[Any]) -> list[str]:
    """Return the sentences that must stand beside what reads as an order and is none."""
    return notes_of(results, names, {(source, row.group, row.criterion) for row in rows})


def _groups(rows: Sequence[Any], names: Names, shown: Callable[[Any], tuple[str, ...]]) -> tuple[Rows, ...]:
    """Return rows under the name of their group, people first, and how many outputs they read, where that differs."""
    exposures = {getattr(row, "exposure", None) for row in rows}

    def key(row: Any) -> tuple[str, int | None]:
        return row.group, getattr(row, "exposure", None)

    own = grouped(rows, key)
    order = people_first((group for group, _ in own), names)
    found = []
    for (group, exposure), members in sorted(own.items(), key=lambda one: order.index(one[0][0])):
        read = f", {plural(exposure, 'output')} of each read" if len(exposures) > 1 and exposure is not None else ""
        found.append(Rows(heading=f"{sentence(names.group(group))}{read}", rows=tuple(map(shown, members))))
    return tuple(found)


def _tested(results: Results, rows: Iterable[PairTest]) -> str:
    """Say how p was corrected, over how many tests, at what level."""
    tested = [row for row in rows if row.p_adjusted is not None or row.p_unanimous is not None]
    if not tested:
        return "No test could be run"
    sizes = sorted({row.n_tests for row in tested if row.n_tests is not None})
    many = "" if not sizes else f" over {plural(sizes[-1], 'test')}"
    if len(sizes) > 1:
        many = f" over {sizes[0]:,} to {sizes[-1]:,} tests"
    return f"p: adjusted by {correction_name(results.settings)}{many}, level {level(results.settings)}"


def _units(rows: Sequence[Any], names: Names) -> str:
    """Return what n counts, group by group where it differs."""
    by_group = grouped(rows, lambda row: row.group)
    words = {
        group: " or ".join(dict.fromkeys(names.units(group, getattr(row, "unit", "annotator"), 2)[2:] for row in own))
        for group, own in by_group.items()
    }
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return ", ".join(_whose(unit, names.group(group)) for group, unit in words.items())


def _whose(units: str, group: str) -> str:
    """Return "24 people", or "24 forms of gpt-4 (LLM)" where the units do not say whose they are."""
    return units if units.endswith(group) else f"{units} of {group}"


def _means(results: Results, names: Names) -> Iterator[Sheet]:
    confidence = confidence_words(results)
    criteria = by_criterion(results.ratings.means)
    for criterion, rows in criteria.items():
        name, caption = titled("main-ratings", "Mean ratings", names, criterion, several=len(criteria) > 1, rated=True)
        units = ", ".join(
            dict.fromkeys(_whose(names.units(row.group, row.unit, row.n_units), names.group(row.group)) for row in rows)
        )
        yield Sheet(
            name=name,
            caption=f"{caption}, with {confidence} confidence intervals over {units}. n: ratings.",
            titles=("System", f"Mean [{confidence} CI]", "SD", "n"),
            numeric=(False, True, True, True),
            groups=_groups(
                rows,
                names,
                lambda row: (
                    names.system(row.system),
                    number(row.mean)
                    if row.ci_low is None
                    else f"{number(row.mean)} [{interval(row.ci_low, row.ci_high)}]",
                    number(row.sd),
                    count(row.n),
                ),
            ),
            notes=tuple(_no_order(results, names, "ratings", rows)),
        )
