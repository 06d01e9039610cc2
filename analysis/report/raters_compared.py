"""People and every LLM or variant in one table: verdicts, correlations, agreement and bias, averaged over criteria."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean

from analysis.figures.plain_text import shown_name
from analysis.report.cells import cell
from analysis.report.document import Cell, Column, Table, build_table
from analysis.results.findings import KIND_ORDER, agreement_with, grouped, pair_findings
from analysis.results.rater_rows import RaterRow
from analysis.results.records import Results
from analysis.results.words import NONE, Names, number, percent, sentence, signed
from analysis.statistics.record import Source

FORM = 2  # column that is left out where every LLM read the form of people


def raters_compared(results: Results, names: Names) -> Table:
    """Return one row a way of asking and rater, people first, then the LLMs that find most often what people find."""
    by_rater = grouped(results.raters, lambda row: (row.source, row.group))
    people = min(names.groups, key=lambda group: KIND_ORDER.get(names.kind(group), 2))
    same_form = {row.form for row in results.raters} <= {None, "identical"}
    lines = [_line(results, names, source, group, people, rows) for (source, group), rows in by_rater.items()]
    lines.sort(key=lambda line: line[0])
    columns = [
        Column(title="Rater"),
        Column(title="Asked as"),
        Column(title="Form", explanation="whether the rater read what people read"),
        Column(title="Same verdict", explanation="pairs on which it finds what people find, of all judged by both"),
        Column(title="Undecided", explanation="pairs clear to one of the two only", numeric=True),
        Column(title="Opposite", explanation="pairs on which both are clear and contradict each other", numeric=True),
        Column(title="Order of systems", explanation="Kendall\u2019s tau with people", numeric=True),
        Column(title="Single outputs", explanation="Kendall\u2019s tau with people", numeric=True),
        Column(
            title="Alpha",
            explanation="Krippendorff\u2019s, among people, or among the repeats and forms of one LLM",
            numeric=True,
        ),
        Column(
            title="As good as a person",
            explanation="share of outputs on which it agrees with the others at least as well as a person left out; "
            "below it the criteria on which it may stand in for one",
            numeric=True,
        ),
        Column(
            title="Bias",
            explanation="its mean answer less that of people; below it the contrasts (place, letter, length) whose "
            "interval leaves out 0",
            numeric=True,
        ),
        Column(title="Missing", explanation="share of answers that could not be used", numeric=True),
    ]
    note = "Of several criteria, verdicts are counted over all and numbers averaged; the appendix has each one."
    caption = "People and LLMs side by side"
    return build_table(
        "raters_compared",
        caption,
        columns,
        [[*cells[:FORM], cell(""), *cells[FORM + 1 :]] if same_form else cells for _, cells in lines],
        [note],
        constant=("Asked as",),
        csv="raters",
        weights=tuple(map(float, range(len(lines)))),
        weighed_by="the same verdict on the most pairs",
    )


def _line(
    results: Results, names: Names, source: Source, group: str, people: str, rows: Sequence[RaterRow]
) -> tuple[tuple[int, float, float], list[Cell]]:
    """Return the cells of one rater, and what they are sorted by."""
    criteria = [row.criterion for row in rows]
    base, other = (pair_findings(results, source, who, criteria) for who in (people, group))
    apart = names.kind(group) == "llm"
    same, opposite, pairs = agreement_with(base, other) if apart and names.kind(people) != "llm" else (0, [], 0)
    counted = [f"{same} of {pairs}", str(pairs - same - len(opposite)), str(len(opposite))] if pairs else [NONE] * 3
    outputs = _mean(row.overall_kendall for row in rows)
    asked = sum(row.n_asked for row in rows)
    cells = [
        cell(shown_name(group) if apart else sentence(names.group(group))),
        cell(sentence(names.source(source))),
        cell((rows[0].form or "") if apart else ""),
        *map(cell, counted),
        cell(number(_mean(row.system_kendall for row in rows))),
        cell(number(outputs)),
        cell(number(_mean(row.alpha for row in rows))),
        _stand_in(results, source, group),
        _bias(results, source, group),
        cell(percent(sum(row.n_missing for row in rows) / asked if asked else None)),
    ]
    return (int(apart), -same / pairs if pairs else 0.0, -(outputs or 0.0)), cells


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _stand_in(results: Results, source: str, group: str) -> Cell:
    rows = [row for row in results.llm_vs_people.alternative_annotator if row.group == group and row.passes is not None]
    tested = "ratings" if results.ratings.means else "choices"
    if not rows or source != tested:
        return cell(NONE)
    passed = sum(bool(row.passes) for row in rows)
    share = percent(_mean(row.advantage_probability for row in rows))
    return cell(share, detail=f"passes on {passed} of {len(rows)}")


def _bias(results: Results, source: str, group: str) -> Cell:
    rows = [row for row in results.llm_vs_people.bias if (row.source, row.group) == (source, group)]
    severity = _mean(row.estimate for row in rows if row.kind == "severity")
    others = [
        (row.ci_low, row.ci_high)
        for row in rows
        if row.kind != "severity" and row.ci_low is not None and row.ci_high is not None
    ]
    clear = sum(low > 0 or high < 0 for low, high in others)
    rated = source == "ratings"
    shown = signed(severity if rated or severity is None else 100 * severity, 2 if rated else 1)
    unit = "" if rated or severity is None else " %"
    return cell(f"{shown}{unit}", detail=f"{clear} of {len(others)} contrasts" if others else "")
