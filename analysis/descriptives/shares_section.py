"""Questions with a few named answers: how often each was given, and whether the annotators agree on it."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.agreement.contribution import AGREEMENT
from analysis.agreement.rater_agreement import AgreementRow
from analysis.comparisons.contribution import RATING_MEANS
from analysis.comparisons.ratings import RatingMean
from analysis.contribution import Shown
from analysis.descriptives.category_shares import CategoryShare
from analysis.printing.cells import Field, cell, columns_of, number_column, places_of, tabulate, text_column
from analysis.printing.document import Block, Cell, Heading, Paragraph, Section, Table
from analysis.printing.lookup import by_criterion
from analysis.printing.words import count, interval, number, percent, sentence, share_interval, slug

YES_NO = {0.0, 1.0}


def shares(rows: Sequence[CategoryShare], shown: Shown) -> Section:
    """Show the rate of each yes-or-no question, with Gwet's AC1, then the shares of other answers."""
    names = shown.names
    scores: dict[str, set[float]] = {}
    for row in rows:
        scores.setdefault(row.criterion, set()).add(row.score)
    blocks: list[Block] = []
    rated = [row for row in rows if scores[row.criterion] <= YES_NO and row.score == 1.0]
    if rated:
        blocks += [Paragraph(text=_reading(rated)), _rates(rated, shown)]
    others = [criterion for criterion, seen in scores.items() if not seen <= YES_NO]
    of_criterion = by_criterion(rows)
    for criterion in others:
        own = of_criterion[criterion]
        blocks += [Heading(text=sentence(names.criterion(criterion))), _distribution(own, shown, criterion)]
    return Section(id="shares", title="How often each answer was given", blocks=tuple(blocks))


def _reading(rated: Sequence[CategoryShare]) -> str:
    word = rated[0].answer or "1"
    return (
        f"The rate is the share of answers \u201c{word}\u201d. AC1 is Gwet\u2019s coefficient of agreement: 1 where "
        "everybody answers alike, 0 where they agree no more than by chance. It stays steady where one answer is rare."
    )


def _rates(rows: Sequence[CategoryShare], shown: Shown) -> Table:
    names, level = shown.names, shown.confidence
    means = {_place(row): row for row in shown.of(RATING_MEANS)}
    ac1 = _ac1(shown)
    fields: list[Field[CategoryShare]] = [
        text_column("Question", lambda row: names.criterion(row.criterion)),
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        number_column(
            "Rate", lambda row: _rate(row, means.get(_place(row))), f"with the {level} confidence interval of the mean"
        ),
        number_column("Answers", lambda row: count(row.n_answers)),
        number_column(
            "AC1",
            lambda row: _coefficient(ac1.get((row.group, row.criterion))),
            f"of all systems together, with the {level} confidence interval",
        ),
    ]
    return tabulate("shares_rates", "Rates", fields, rows, constant=("System", "Group"))


def _distribution(rows: Sequence[CategoryShare], shown: Shown, criterion: str) -> Table:
    names = shown.names
    answers = {row.score: row.answer or number(row.score, 0) for row in rows}
    ac1 = _ac1(shown)
    fields: list[Field[CategoryShare]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        *columns_of(rows, _place, lambda row: row.score, answers, _share),
        number_column("Answers", lambda row: count(row.n_answers)),
        number_column("AC1", lambda row: _coefficient(ac1.get((row.group, criterion)))),
    ]
    caption = f"Shares: {names.criterion(criterion)}"
    return tabulate(f"shares-{slug(criterion)}", caption, fields, places_of(rows, _place), constant=("Group",))


def _place(row: CategoryShare | RatingMean) -> tuple[str, str, str]:
    return row.group, row.criterion, row.system


def _ac1(shown: Shown) -> dict[tuple[str, str], AgreementRow]:
    return {
        (row.group, row.criterion): row
        for row in shown.of(AGREEMENT)
        if row.source == "ratings" and row.measure == "gwet_ac1"
    }


def _rate(row: CategoryShare, mean: RatingMean | None) -> Cell:
    if mean is None or mean.ci_low is None:
        return cell(percent(row.share))
    return cell(percent(row.share), detail=share_interval(mean.ci_low, mean.ci_high))


def _share(row: CategoryShare | None) -> Cell:
    return Cell(text="\u2013", known=False) if row is None else cell(percent(row.share))


def _coefficient(row: AgreementRow | None) -> Cell:
    if row is None or row.value is None:
        return cell("")
    return cell(number(row.value), detail=interval(row.ci_low, row.ci_high))
