"""What the report says of subgroups of people."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

from analysis.camps.subgroups import PeopleColumn, SubgroupMean, SubgroupTest
from analysis.contribution import Shown
from analysis.figures.figures import forest_plot, means_plot
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Figure, Fold, Heading, Paragraph
from analysis.printing.levels import correction_name
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, folded
from analysis.printing.words import (
    count,
    interval,
    listed,
    number,
    p_value,
    p_words,
    percent,
    plural,
    sentence,
    signed,
    slug,
)
from analysis.records.results import Results
from analysis.statistics.reasons import commonest

INTRO = (
    "A mean over people is the taste of those who were asked. Here subgroups of them are compared: each person counts "
    "once, and a test asks whether the subgroups prefer differently. Subgroups of fewer than {least} people are "
    "withheld, and with them any from which they could be computed."
)
EXPLORATORY = "Exploratory: no plan frozen before the answers names {columns}, so that this is no conclusion."
DECLARED = "Declared before the answers: {columns}."
MOST_NAMED = 3


def subgroup_blocks(
    columns: Sequence[PeopleColumn], means: Sequence[SubgroupMean], tests: Sequence[SubgroupTest], shown: Shown
) -> Iterator[Block]:
    """Yield what is said of subgroups; nothing where the plan names no column."""
    if not columns:
        return
    names = shown.names
    yield Heading(text="Subgroups of people")
    yield Paragraph(text=INTRO.format(least=shown.settings.compare_people_least))
    for declared, words in ((True, DECLARED), (False, EXPLORATORY)):
        own = list(dict.fromkeys(row.column for row in columns if row.declared == declared))
        if own:
            yield Paragraph(text=words.format(columns=listed(own)))
    yield Bullets(items=tuple(said for row in columns for said in _said(row, means, tests, shown)))
    if tests:
        constant = ("Group", "Criterion", "From", "Column", "Not tested")
        table = "people_by_tests"
        yield tabulate(table, "Do subgroups prefer differently?", _fields(shown), tests, constant=constant, csv=table)
    if means:
        yield from _figures(means, names)
        constant = ("Group", "Criterion", "From", "Column", "Withheld")
        table = "people_by"
        yield tabulate(table, "What subgroups prefer", _mean_fields(shown), means, constant=constant, csv=table)


def _said(
    row: PeopleColumn, means: Sequence[SubgroupMean], tests: Sequence[SubgroupTest], shown: Shown
) -> Iterator[str]:
    who = f"{sentence(shown.names.group(row.group))}, {row.column}"
    if row.reason is not None:
        yield f"{who}: not compared ({row.reason})."
        return
    missing = f" {row.missing} people say nothing there and are no subgroup." if row.missing else ""
    missing += _alike({one.subgroup for one in means if (one.group, one.column) == (row.group, row.column)})
    own = [test for test in tests if (test.group, test.column) == (row.group, row.column)]
    tested = [test for test in own if test.p_adjusted is not None]
    clear = [test for test in tested if test.differ]
    if not tested:
        reason = commonest(test.reason for test in own) or "no pair was answered"
        yield f"{who}: not tested ({reason}).{missing}"
    elif not clear:
        yield f"{who}: no clear difference in {len(tested)} of {len(tested)} tests.{missing}"
    else:
        found = "; ".join(difference_words(test, means, shown.names) for test in clear[:MOST_NAMED])
        more = f"; and {len(clear) - MOST_NAMED} more" if len(clear) > MOST_NAMED else ""
        yield f"{who}: subgroups differ in {len(clear)} of {len(tested)} tests: {found}{more}.{missing}"


def _alike(subgroups: Collection[str]) -> str:
    """Return a sentence about subgroups that differ in capitals or spaces only; none where there are none."""
    spelled: dict[str, list[str]] = {}
    for name in sorted(subgroups):
        spelled.setdefault("".join(name.split()).casefold(), []).append(f"\u201c{name}\u201d")
    twice = [listed(names) for names in spelled.values() if len(names) > 1]
    return f" {twice[0]} differ in spelling only, and are taken for subgroups of their own." if twice else ""


def difference_words(test: SubgroupTest, means: Sequence[SubgroupMean], names: Names) -> str:
    """Return "A over B: yes 70%, no 40% (p = .004)" of a test."""
    place = (test.source, test.group, test.criterion, test.system_x, test.system_y, test.column)
    own = [row for row in means if _place(row) == place and row.estimate is not None]
    own.sort(key=lambda row: (-(row.estimate or 0.0), row.subgroup))
    ends = own if len(own) <= MOST_NAMED else [own[0], own[-1]]
    systems = {names.system(system) for system in (test.system_x, test.system_y)}
    values = listed([f"{_who(row, systems)} {_value(row)}" for row in ends])
    return f"{names.over(test)}, {names.criterion(test.criterion)}: {values} ({p_words(test.p_adjusted)})"


def _who(row: SubgroupMean, systems: Collection[str]) -> str:
    """Return a subgroup's name, with its column where a system has the same."""
    return f"{row.column} \u201c{row.subgroup}\u201d" if row.subgroup in systems else row.subgroup


def declared_differences(results: Results, names: Names) -> Iterator[tuple[str, str]]:
    """Yield what differs by columns that were declared before the answers, with the section that has the details."""
    clear = [row for row in results.people_by_tests if row.declared and row.differ]
    if clear:
        first = min(clear, key=lambda row: row.p_adjusted or 0.0)
        more = f"; and in {plural(len(clear) - 1, 'more test')}" if len(clear) > 1 else ""
        yield f"Subgroups by {first.column} differ: {difference_words(first, results.people_by, names)}{more}.", "camps"


def _place(row: SubgroupMean) -> tuple[str, ...]:
    return (row.source, row.group, row.criterion, row.system_x, row.system_y, row.column)


def _value(row: SubgroupMean) -> str:
    return f"{signed(row.estimate)} points" if row.source == "ratings" else percent(row.estimate)


def _fields(shown: Shown) -> list[Field[SubgroupTest]]:
    names = shown.names

    def spread(row: SubgroupTest) -> str:
        if row.spread is None:
            return ""
        return number(row.spread, 2) if row.source == "ratings" else f"{number(100 * row.spread, 1)} pp"

    return [
        text_column("Pair", names.against),
        text_column("From", lambda row: sentence(names.source(row.source))),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        text_column("Column", lambda row: cell(row.column, quoted=True)),
        number_column("n", lambda row: count(row.n), "people of the subgroups shown"),
        number_column("Subgroups", lambda row: count(row.n_subgroups)),
        number_column("Spread", spread, "largest mean less the smallest: percentage points, or points of the scale"),
        text_column(
            "Reversed", lambda row: {True: "yes", False: "no", None: ""}[row.reversed], "means on both sides of even"
        ),
        number_column("F", lambda row: number(row.f, 2), "Brown-Forsythe, Mehrotra\u2019s degrees of freedom"),
        number_column(
            "Adjusted p", lambda row: p_value(row.p_adjusted), f"{correction_name(shown.settings)}, tests of a group"
        ),
        text_column("Not tested", lambda row: str(row.reason or "")),
    ]


def _mean_fields(shown: Shown) -> list[Field[SubgroupMean]]:
    names = shown.names
    return [
        text_column("Subgroup", lambda row: cell(row.subgroup, quoted=True)),
        text_column("Pair", names.over),
        text_column("From", lambda row: sentence(names.source(row.source))),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        text_column("Column", lambda row: cell(row.column, quoted=True)),
        number_column("n", lambda row: count(row.n), "people"),
        number_column("First is better", lambda row: _value(row) if row.estimate is not None else ""),
        number_column(
            f"{shown.confidence} confidence interval",
            lambda row: interval(row.ci_low, row.ci_high, as_percent=row.source != "ratings"),
        ),
        text_column("Withheld", lambda row: str(row.reason or "")),
    ]


def _figures(means: Sequence[SubgroupMean], names: Names) -> Iterator[Figure | Fold]:
    """Yield a figure for each column and kind of answers: a dot a subgroup, colour and shape say which."""
    known = [row for row in means if row.estimate is not None]
    for source, column, group in dict.fromkeys((row.source, row.column, row.group) for row in known):
        own = [row for row in known if (row.source, row.column, row.group) == (source, column, group)]
        drawing = partial(_drawn, own, names, source)
        who = sentence(names.group(group))
        what = "mean difference of ratings" if source == "ratings" else "mean chance or share of the first system"
        caption = f"{who}, by {column}: {what} of each pair, with {names.confidence} confidence intervals."
        stem = "-".join(("people", slug(column), source, slug(group)))
        yield folded(stem, drawing, caption, len(own), "")


def _drawn(rows: Sequence[SubgroupMean], names: Names, source: str, **more: Any) -> str:
    dots = [
        {
            "criterion": row.criterion,
            "system": names.over(row),
            "system_x": row.system_x,
            "system_y": row.system_y,
            "group": row.subgroup,
            "mean": row.estimate,
            "ci_low": row.ci_low,
            "ci_high": row.ci_high,
            "verdict": "shown",
        }
        for row in rows
    ]
    criteria = {row.criterion: names.criterion(row.criterion) for row in rows}
    alternative = f"Means of subgroups, with intervals; {BESIDE}."
    if source == "ratings":
        title = "points by which the first is better"
        return means_plot(dots, criterion_names=criteria, title=title, alternative=alternative, **more)
    systems = {system: names.system(system) for row in rows for system in (row.system_x, row.system_y)}
    return forest_plot(dots, criterion_names=criteria, system_names=systems, alternative=alternative, **more)
