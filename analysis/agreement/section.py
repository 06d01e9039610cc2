"""How far annotators agree with each other, and an LLM with itself: what the numbers say, criterion by criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial

from analysis.agreement.measures import MEASURES
from analysis.agreement.rater_agreement import AgreementRow, AnnotatorPairRow
from analysis.contribution import Shown
from analysis.figures.figures import agreement_matrix
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import (
    Block,
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
from analysis.printing.lookup import OVERALL, by_criterion, grouped
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE_AFTER, pictured
from analysis.printing.words import count, interval, listed, number, percent, plural, sentence, slug

FEW_UNITS = 30
FEW_RATERS = 6
MOST_MATRICES = 8  # drawn; the table after them has every pair
ALPHA = "krippendorff_alpha_"
OF_SOURCE = {"choices": ("choices",)}  # in names of figures; those of ratings go without
PERCENT = {form for measure in MEASURES if measure.percent for form in measure.columns}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerKind:
    """What raters agree on: the name of the answers, and what a unit is."""

    caption: str
    column: str
    units: str


SOURCES = {
    "ratings": AnswerKind(caption="Agreement among raters", column="Outputs", units="outputs"),
    "preferences": AnswerKind(
        caption="Agreement on stated preferences", column="Units", units="pairs of systems at one exposure,"
    ),
    "choices": AnswerKind(caption="Agreement on choices", column="Units", units="two outputs of one item,"),
}
READING = (
    "Krippendorff\u2019s alpha says how far raters agree beyond chance: 1 means that they always give the same answer, "
    "0 that they agree no more than if the answers had been given at random, and below 0 that they agree less than "
    "that. Low agreement does not make a mean wrong, but more annotators are then needed for it, and single answers "
    "say little. Agreement is not correctness: raters who share a bias agree."
)
RULES = (
    "Krippendorff (2004) asks for 0.80, and for 0.667 where tentative conclusions will do; on matters of taste people "
    "agree less, and these bounds were not made for them."
)


def agreement(agreements: Sequence[AgreementRow], pairs: Sequence[AnnotatorPairRow], shown: Shown) -> Section | None:
    """Report agreement among people and of each LLM with itself, one table a criterion."""
    if not agreements:
        return None
    names, rows = shown.names, [row for row in agreements if row.source == "ratings"]
    blocks: list[Block] = [Paragraph(text=READING), Paragraph(text=RULES), *_alone(shown, rows)]
    criteria = by_criterion(rows)
    for criterion, own in criteria.items():
        several = len(criteria) > 1
        title = sentence(names.criterion(criterion))
        about = f": {names.criterion(criterion)}" if several else ""
        table = _table(shown, own, f"agreement-{slug(criterion)}" if several else "agreement", about)
        if several and OVERALL in criteria and criterion != OVERALL:
            blocks.append(Fold(summary=f"{title}: agreement", blocks=(table,)))
        else:
            blocks += [Heading(text=title), table] if several else [table]
    for source in ("preferences", "choices"):
        own = [row for row in agreements if row.source == source]
        blocks += [_table(shown, own, f"agreement-{source}")] if own else []
    if pairs:
        tables = [_pairs(names, own) for own in grouped(pairs, lambda row: row.source).values()]
        blocks.append(Fold(summary="Every two raters compared", blocks=(*_matrices(names, pairs), *tables)))
    return Section(id="agreement", title="Do the raters agree?", blocks=tuple(blocks))


def _alone(shown: Shown, rows: Sequence[AgreementRow]) -> list[Block]:
    """Name the groups that rated but have nobody to agree with."""
    names, results = shown.names, shown.results
    measured = {row.group for row in rows}
    rated = dict.fromkeys(row.group for row in results.ratings.means)
    alone = [names.group(group) for group in rated if group not in measured]
    if not alone or any(row.kind == "summed" for row in results.warning_rows):
        return []
    named = listed(alone) if len(alone) <= 3 else f"{listed(alone[:2])} and {len(alone) - 2} more"
    return [
        Paragraph(
            text=f"{sentence(named)} answered every question once, so there is nobody to agree with. Ask an LLM "
            "several times to learn how far it agrees with itself."
        )
    ]


def _table(shown: Shown, rows: Sequence[AgreementRow], name: str, about: str = "") -> Table:
    """Lay out the measures of one source, a line for each group and criterion."""
    source = SOURCES[rows[0].source]
    columns = [
        Column(title="Raters are", explanation="of an LLM, its repeated answers and forms are the raters"),
        Column(title="Criterion"),
        Column(title="Raters", numeric=True),
        Column(title=source.column, explanation=f"{source.units} with at least two answers", numeric=True),
        Column(title="Alpha", explanation="Krippendorff\u2019s; 1 = full agreement, 0 = as by chance", numeric=True),
        Column(title=f"{shown.confidence} confidence interval", numeric=True),
        Column(
            title="Scale",
            explanation="whether answers are alike or not (nominal), only their order counts (ordinal), or their "
            "distances (interval)",
        ),
        *(
            Column(title=title, explanation=measure.explanation if place == 0 else "", numeric=True)
            for measure in MEASURES
            for place, title in enumerate(measure.columns.values())
        ),
        Column(title="Note"),
    ]
    cells = [_line(shown.names, own) for own in grouped(rows, lambda row: (row.group, row.criterion)).values()]
    return build_table(name, source.caption + about, columns, cells, _notes(rows), constant=("Criterion",))


def _notes(rows: Sequence[AgreementRow]) -> list[str]:
    notes = ["Intervals show what other units would give with the same raters, not what other raters would give."]
    if any(row.n_items < FEW_UNITS for row in rows):
        notes.append(f"With fewer than {FEW_UNITS} units intervals tend to be too narrow.")
    if any(row.n_annotators is not None and row.n_annotators < FEW_RATERS for row in rows):
        notes.append("With few raters, others like them may agree more or less than these did.")
    counted = sorted({row.categories for row in rows if row.categories is not None})
    if counted:
        named = " or ".join(map(count, counted))
        notes.append(f"AC1 counts {named} answers: those that could be given, where this is declared.")
    reasons = dict.fromkeys(row.reason for row in rows if row.measure == "kendall_w" and row.value is not None)
    return notes + [f"Kendall\u2019s W: {reason}." for reason in reasons if reason]


def _line(names: Names, rows: Sequence[AgreementRow]) -> list[Cell]:
    by_measure = {row.measure: row for row in rows}
    alpha = next((row for row in rows if row.fits_scale), rows[0])
    group = names.group(alpha.group)
    note = str(alpha.reason or "\u2013")
    return [
        cell(group if names.kind(alpha.group) == "llm" else sentence(group)),
        cell(names.criterion(alpha.criterion)),
        cell(count(alpha.n_annotators)),
        cell(count(alpha.n_items)),
        cell(number(alpha.value)),
        cell(interval(alpha.ci_low, alpha.ci_high)),
        cell(alpha.measure.removeprefix(ALPHA)),
        *(_value(by_measure.get(form)) for measure in MEASURES for form in measure.columns),
        cell(note) if alpha.value is not None else cell(f"no alpha: {alpha.reason}", tone="untested"),
    ]


def _value(row: AgreementRow | None) -> Cell:
    if row is None:
        return cell(number(None))
    share = row.measure in PERCENT
    bounds = interval(row.ci_low, row.ci_high, as_percent=share) if row.ci_low is not None else ""
    return cell(percent(row.value) if share else number(row.value), detail=bounds)


def _matrices(names: Names, pairs: Sequence[AnnotatorPairRow]) -> list[Block]:
    """Draw the agreement of every two raters where three or more can be compared, overall ratings first."""
    parts = grouped(pairs, lambda row: (row.group, row.criterion, row.source))
    shown = [
        (place, rows)
        for place, rows in sorted(parts.items(), key=lambda part: (part[0][2] != "ratings", part[0][1] != OVERALL))
        if len(rows) > 1 and any(row.krippendorff_alpha is not None for row in rows)
    ]
    return [
        _figure(rows, names, "-".join(["agreement", *OF_SOURCE.get(source, ()), slug(group), slug(criterion)]))
        for (group, criterion, source), rows in shown[:MOST_MATRICES]
    ]


def _figure(rows: Sequence[AnnotatorPairRow], names: Names, name: str) -> Figure:
    """Return the matrix of how far every two raters agree, of one group and criterion."""
    alternative = f"Krippendorff\u2019s alpha of every two raters; {BESIDE_AFTER}."
    drawing = partial(agreement_matrix, [asdict(row) for row in rows], alternative=alternative)
    of = f"{sentence(names.group(rows[0].group))}, {names.criterion(rows[0].criterion)}"
    judged = "outputs that both rated" if rows[0].source == "ratings" else "choices that both made"
    what = f"Krippendorff\u2019s alpha of every two raters over the {judged}"
    caption = f"{of}: {what}; the darker, the more they agree."
    raters = {rater for row in rows for rater in (row.annotator_x, row.annotator_y)}
    shared = sorted({row.n_items for row in rows})
    least = f"{shared[0]:,} to " if len(shared) > 1 else ""
    n = f"n: {plural(len(raters), 'rater')}, {least}{shared[-1]:,} {judged}."
    return pictured(name, drawing, caption, BESIDE_AFTER, n)


def _pairs(names: Names, rows: Sequence[AnnotatorPairRow]) -> Table:
    """Lay out every two raters of one source."""
    rated = rows[0].source == "ratings"
    what = "outputs" if rated else "pairs of outputs"
    tau: Field[AnnotatorPairRow] = number_column(
        "Kendall\u2019s tau", lambda row: number(row.kendall_tau), "1 = same order, 0 = unrelated, \u22121 = reversed"
    )
    ac1: Field[AnnotatorPairRow] = number_column(
        "AC1", lambda row: number(row.gwet_ac1), "Gwet\u2019s: as kappa, but steadier where one answer dominates"
    )
    fields: list[Field[AnnotatorPairRow]] = [
        text_column("Raters", lambda row: cell(f"{row.annotator_x} and {row.annotator_y}", quoted=True)),
        text_column("Group", lambda row: sentence(names.group(row.group))),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column(sentence(what), lambda row: count(row.n_items), "judged by both"),
        number_column("Alike", lambda row: percent(row.exact_agreement), f"share of {what} with the very same answer"),
        *([tau] if rated else []),
        number_column(
            "Cohen\u2019s kappa", lambda row: number(row.cohen_kappa), "agreement beyond chance, answers alike or not"
        ),
        *([] if rated else [ac1]),
        number_column("Alpha", lambda row: number(row.krippendorff_alpha), "Krippendorff\u2019s, of these two"),
        text_column("Note", lambda row: str(row.reason or "\u2013")),
    ]
    title = "Agreement of every two raters" if rated else "Agreement of every two raters on choices"
    name = "annotator_pairs" if rated else "annotator_pairs_choices"
    return tabulate(name, title, fields, rows, constant=("Group", "Criterion"))
