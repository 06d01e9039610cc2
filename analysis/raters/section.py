"""Every LLM and way of asking beside every other: how it was asked, what it answered, how far to trust it.

First people and every LLM or variant in one table: verdicts, correlations, agreement and bias, averaged over criteria.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import fmean

from analysis.comparisons.contribution import RATING_MEANS
from analysis.comparisons.ratings import RatingMean
from analysis.contribution import Shown
from analysis.descriptives.rating_details_section import mean_cell
from analysis.figures.plain_text import shown_name
from analysis.llm_vs_people.alternative_annotator import AlternativeAnnotatorRow
from analysis.llm_vs_people.bias_rows import BiasRow
from analysis.llm_vs_people.contribution import LLM_VS_PEOPLE
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column, titled
from analysis.printing.document import Block, Cell, Column, Fold, Paragraph, Section, Table, build_table
from analysis.printing.lookup import KIND_ORDER, OVERALL, agreement_with, by_criterion, grouped, pair_findings
from analysis.printing.names import Names
from analysis.printing.words import NONE, SPACE, count, listed, number, percent, plural, sentence, signed
from analysis.raters.rater_table import RaterRow
from analysis.statistics.record import Source

SOURCES = ("preferences", "ratings", "choices")
LONGEST_REASON = 60
INTRO = "One row for each LLM and way of asking it."
SAME_FORM = "Every LLM read the form that people read."
FORMS = (
    "Identical: the LLM read what people read. Variant: it read more (a persona, guidelines, a reference, or a request "
    "to explain), so compare LLMs with people by identical forms."
)
FORM = 2  # column that is left out where every LLM read the form of people


def raters(rows: Sequence[RaterRow], shown: Shown) -> Section:
    """Show the table of raters, one a source, and mean ratings system by system."""
    names = shown.names
    blocks: list[Block] = []
    for source in SOURCES:
        own = [row for row in rows if row.source == source]
        criteria = sorted(dict.fromkeys(row.criterion for row in own), key=lambda each: each != OVERALL)
        own.sort(key=lambda row: criteria.index(row.criterion))
        if any(row.annotator_kind == "llm" for row in own):
            blocks.append(_table(own, names, source))
    forms = {row.form for row in rows if row.form}
    intro = f"{INTRO} {SAME_FORM if forms == {'identical'} else FORMS if forms else ''}".strip()
    return Section(
        id="raters",
        title="LLM raters side by side",
        blocks=(Paragraph(text=intro), raters_compared(rows, shown)),
        appendix=(*blocks, *_by_system(shown.of(RATING_MEANS), rows, names)),
    )


def _table(rows: list[RaterRow], names: Names, source: str) -> Table:
    rated = source == "ratings"
    several = {row.readout for row in rows} - {None, "verbalised"} != set()
    fields: list[Field[RaterRow]] = [
        text_column("Rater", lambda row: _name(row.group, names)),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, source)),
        text_column(
            "Form",
            lambda row: (row.form or "") if row.annotator_kind == "llm" else "",
            "whether the rater read what people read",
        ),
        text_column(
            "Readout",
            lambda row: cell(row.readout or "" if several else "", detail=_mass(row)),
            "what it said (verbalised) or the probabilities of its answers (logit)",
        ),
        number_column(
            "Answers", lambda row: cell(count(row.n_asked - row.n_missing), detail=_repeats(row)), "usable ones"
        ),
        number_column("Missing", _missing, "share without a usable answer, and the most frequent reason"),
        number_column(
            "Readings differ",
            _differ,
            "replies that another reader (strict, first number, or the words beside probabilities) "
            "reads as another answer or none, of those that both can read",
        ),
        number_column("Mean", mean_cell, "of all systems together, with the standard deviation below"),
        number_column(
            "Alpha",
            _alpha,
            "Krippendorff\u2019s, among people, or among the repeats and further forms of one LLM; below "
            "it the share of outputs that all answered alike",
        ),
        number_column(
            "Systems",
            lambda row: number(row.system_kendall),
            "Kendall\u2019s tau with people, of the systems\u2019 order",
        ),
        number_column(
            "Outputs", lambda row: number(row.overall_kendall), "Kendall\u2019s tau with people, of single outputs"
        ),
        number_column(
            "Contradictions",
            lambda row: "" if row.n_forms is None else f"{row.n_inconsistent} of {row.n_forms}",
            "forms whose two directions of a pair sum to more than allowed, of all forms",
        ),
    ]
    notes = [
        "A mean rating says little by itself: raters use a scale differently, and the order of the systems counts."
    ]
    title = sentence(names.source(source))
    caption = f"{title}: every rater"
    return tabulate(
        f"raters_{source}", caption, fields, rows, notes=notes if rated else (), constant=("Criterion",), csv="raters"
    )


def _name(group: str, names: Names) -> str:
    """Return an LLM's own name, or what other annotators are called."""
    return shown_name(group) if names.kind(group) == "llm" else names.group(group)


def _repeats(row: RaterRow) -> str:
    return f"{row.n_repeats} each" if row.n_repeats > 1 else ""


def _missing(row: RaterRow) -> Cell:
    if not row.n_missing:
        return cell("0")
    first = row.missing[0]
    reason = first.reason if len(first.reason) <= LONGEST_REASON else f"{first.reason[:LONGEST_REASON]}\u2026"
    more = len(row.missing) - 1
    others = f"; {plural(more, 'other reason')}" if more else ""
    return cell(percent(row.n_missing / row.n_asked), detail=f"{first.n}: {reason}{others}")


def _mass(row: RaterRow) -> str:
    if row.mass_mean is None:
        return ""
    return f"{percent(row.mass_mean)} on the answers, at least {percent(row.mass_min)}"


def _differ(row: RaterRow) -> Cell:
    if not row.n_read_twice:
        return cell("")
    share = percent(row.n_readings_differ / row.n_read_twice)
    return cell(share, detail=f"{row.n_readings_differ} of {row.n_read_twice}")


def _alpha(row: RaterRow) -> Cell:
    exact = row.exact_agreement
    return cell(number(row.alpha), detail="" if exact is None else f"{percent(exact)} alike")


def _by_system(means: Sequence[RatingMean], rows: Sequence[RaterRow], names: Names) -> list[Block]:
    """Show mean ratings as Chiang and Lee (2023, Table 3) do: a row a way of asking, a column a system."""
    groups = list(dict.fromkeys(row.group for row in rows if row.source == "ratings"))
    if not any(names.kind(group) == "llm" for group in groups) or len({row.system for row in means}) < 2:
        return []
    criteria = by_criterion(means)
    tables = [_means(own, groups, criterion, names, several=len(criteria) > 1) for criterion, own in criteria.items()]
    if len(tables) == 1:
        return [*tables]
    return [
        Fold(summary=f"Mean rating of each system: {names.criterion(criterion)}", blocks=(table,))
        for criterion, table in zip(criteria, tables, strict=True)
    ]


def _means(means: Sequence[RatingMean], groups: list[str], criterion: str, names: Names, *, several: bool) -> Table:
    own = {(row.group, row.system): row for row in means}
    systems = list(dict.fromkeys(system for _, system in own))
    columns = [Column(title="Rater"), *(Column(title=names.system(system), numeric=True) for system in systems)]
    cells = [
        [cell(_name(group, names)), *(mean_cell(own.get((group, system))) for system in systems)] for group in groups
    ]
    title = titled("raters_means", "Mean rating of each system", names, criterion, several=several, rated=True)
    return build_table(*title, columns, cells, notes=["Below each mean its standard deviation over outputs."])


def raters_compared(rows: Sequence[RaterRow], shown: Shown) -> Table:
    """Return one row an LLM and way of asking, first those that find most often what people find."""
    names = shown.names
    by_rater = grouped(rows, lambda row: (row.source, row.group))
    given = Counter({group: sum(row.n_asked for row in rows if row.group == group) for group in names.groups})
    people = min(names.groups, key=lambda group: (KIND_ORDER.get(names.kind(group), 2), -given[group], group))
    same_form = {row.form for row in rows} <= {None, "identical"}
    lines = [
        _compared_line(shown, source, group, people, own)
        for (source, group), own in by_rater.items()
        if names.kind(group) == "llm"
    ]
    lines.sort(key=lambda line: line[0])
    columns = [
        Column(title="Rater"),
        Column(title="Asked as"),
        Column(title="Form", explanation="whether the rater read what people read"),
        Column(
            title="Same verdict",
            explanation="pairs on which it finds what people find, of all judged by both; below it those clear to one "
            "of the two only, and those on which both are clear and contradict each other",
            numeric=True,
        ),
        Column(title="Order of systems", explanation="Kendall\u2019s tau with people", numeric=True),
        Column(title="Single outputs", explanation="Kendall\u2019s tau with people", numeric=True),
        Column(
            title="Alpha",
            explanation="Krippendorff\u2019s, among the repeats and forms of the LLM",
            numeric=True,
        ),
        Column(
            title="As good as a person",
            explanation="share of outputs on which it agrees with the others at least as well as a person left out; "
            "below it on how many criteria it passes the test",
            numeric=True,
        ),
        Column(
            title="Bias",
            explanation="its mean answer minus that of people; below it the contrasts (place, letter, length) whose "
            "interval leaves out 0",
            numeric=True,
        ),
        Column(title="Missing", explanation="share of answers that could not be used", numeric=True),
    ]
    note = "Of several criteria, verdicts are counted over all and numbers averaged; the appendix has each one."
    caption = "Each LLM and way of asking"
    return build_table(
        "raters_compared",
        caption,
        columns,
        [[*cells[:FORM], cell(""), *cells[FORM + 1 :]] if same_form else cells for _, cells in lines],
        [note, *_among_people(rows, names)],
        constant=("Asked as",),
        csv="raters",
        weights=tuple(map(float, range(len(lines)))),
        weighed_by="the same verdict on the most pairs",
    )


def _compared_line(
    shown: Shown, source: Source, group: str, people: str, rows: Sequence[RaterRow]
) -> tuple[tuple[float, float], list[Cell]]:
    """Return the cells of one LLM, and what they are sorted by."""
    names, found = shown.names, shown.of(LLM_VS_PEOPLE)
    criteria = [row.criterion for row in rows]
    base, other = (pair_findings(shown.results, source, who, criteria) for who in (people, group))
    same, opposite, pairs = agreement_with(base, other) if names.kind(people) != "llm" else (0, [], 0)
    rest = f"{pairs - same - len(opposite)} undecided, {len(opposite)} opposite"
    outputs = _mean_of(row.overall_kendall for row in rows)
    asked = sum(row.n_asked for row in rows)
    cells = [
        cell(shown_name(group)),
        cell(sentence(names.source(source))),
        cell(rows[0].form or ""),
        cell(f"{same} of {pairs}", detail=rest if same < pairs else "") if pairs else cell(NONE),
        cell(number(_mean_of(row.system_kendall for row in rows))),
        cell(number(outputs)),
        cell(number(_mean_of(row.alpha for row in rows))),
        _stand_in_cell(found.alternative_annotator, source, group),
        _bias_cell(found.bias, source, group),
        cell(percent(sum(row.n_missing for row in rows) / asked if asked else None)),
    ]
    return (-same / pairs if pairs else 0.0, -(outputs or 0.0)), cells


def _among_people(rows: Sequence[RaterRow], names: Names) -> list[str]:
    """Return the agreement among each group of people, by way of asking, to measure that of an LLM by."""
    lines = []
    by_group = grouped((row for row in rows if row.annotator_kind != "llm"), lambda row: row.group)
    for group, own in by_group.items():
        sources = grouped(own, lambda row: row.source)
        known = {source: _mean_of(row.alpha for row in of_source) for source, of_source in sources.items()}
        said = [f"{names.source(source)} {number(alpha)}" for source, alpha in known.items() if alpha is not None]
        if said:
            lines.append(f"Alpha among {names.group(group)}: {listed(said)}.")
    return lines


def _mean_of(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _stand_in_cell(tests: Sequence[AlternativeAnnotatorRow], source: str, group: str) -> Cell:
    tested = [row for row in tests if row.passes is not None]
    rows = [row for row in tested if (row.source, row.group) == (source, group)]
    if not rows:
        return cell(NONE)
    passed = sum(bool(row.passes) for row in rows)
    share = percent(_mean_of(row.advantage_probability for row in rows))
    return cell(share, detail=f"passes on {passed} of {len(rows)}")


def _bias_cell(contrasts: Sequence[BiasRow], source: str, group: str) -> Cell:
    rows = [row for row in contrasts if (row.source, row.group) == (source, group)]
    severity = _mean_of(row.estimate for row in rows if row.kind == "severity")
    others = [
        (row.ci_low, row.ci_high)
        for row in rows
        if row.kind != "severity" and row.ci_low is not None and row.ci_high is not None
    ]
    clear = sum(low > 0 or high < 0 for low, high in others)
    rated = source == "ratings"
    mean = signed(severity if rated or severity is None else 100 * severity, 2 if rated else 1)
    unit = "" if rated or severity is None else f"{SPACE}points"
    return cell(f"{mean}{unit}", detail=f"{clear} of {len(others)} contrasts" if others else "")
