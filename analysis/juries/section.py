"""What the report says of juries: who they are, how far members agree, what each of them changes."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.contribution import Shown
from analysis.figures.plain_text import shown_name
from analysis.juries.jury_tables import JuryAgreement, JuryFacts, JuryWithout
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Paragraph, Section
from analysis.printing.words import count, listed, number, percent, sentence

PUT_TOGETHER = {
    "mean": "the mean of their answers (of choices: who has more votes)",
    "median": "the median of their answers (of choices: who has more votes)",
    "majority": "their most frequent answer",
}
SPLIT = {
    "mean": ("equal votes give a tie", "equal votes give no answer"),
    "median": ("equal votes give a tie", "equal votes give no answer"),
    "majority": (
        "without one most frequent answer they give a tie, of ratings the mean of those",
        "without one most frequent answer they give none",
    ),
}
APART = {"spans": "marked errors", "best_worst": "best-worst answers", "gamble": "standard gambles"}


def juries(
    facts: Sequence[JuryFacts], agreement: Sequence[JuryAgreement], without: Sequence[JuryWithout], shown: Shown
) -> Section:
    """Show each jury in a sentence, one row a criterion, and one row a member left out."""
    names = shown.names
    blocks: list[Block] = [Paragraph(text=_about(one)) for one in facts]
    fields: list[Field[JuryAgreement]] = [
        text_column("Jury", lambda row: shown_name(row.jury)),
        text_column("Asked as", lambda row: sentence(names.source(row.source))),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, row.source)),
        number_column("Answers", lambda row: count(row.n), "questions that the jury answered"),
        number_column("Split", lambda row: count(row.n_split), "questions on which members gave no single answer"),
        number_column("Missing", lambda row: count(row.n_missing), "questions without an answer of the jury"),
        number_column(
            "Alpha",
            lambda row: cell(number(row.alpha), detail=_interval(row)),
            f"Krippendorff\u2019s among the members, with its {shown.confidence} interval",
        ),
        number_column("All alike", lambda row: percent(row.exact_agreement), "questions answered alike by all members"),
        number_column(
            "Order of systems", lambda row: number(row.kendall_people), "Kendall\u2019s tau of mean answers with people"
        ),
    ]
    blocks.append(
        tabulate(
            "jury_agreement", "Juries", fields, agreement, constant=("Asked as", "Criterion"), csv="jury_agreement"
        )
    )
    if without:
        blocks.append(_without(without, agreement, shown))
    return Section(id="juries", title="Juries of LLMs", blocks=tuple(blocks))


def _about(one: JuryFacts) -> str:
    members = listed([shown_name(name) for name in one.members])
    least = f"A question needs {one.least} members; {SPLIT[one.by][one.ties == 'missing']}"
    said = f"{shown_name(one.jury)} is a jury of {members}: {PUT_TOGETHER[one.by]}. {least}."
    if one.left_out:
        apart = sentence(listed([APART[way] for way in one.left_out]))
        said = f"{said} {apart} are not put together."
    return said if one.cost is None else f"{said} Calls of its members cost {one.cost:,.2f} in all."


def _interval(row: JuryAgreement) -> str:
    if row.ci_low is None or row.ci_high is None:
        return ""
    return f"{number(row.ci_low)} to {number(row.ci_high)}"


def _without(rows: Sequence[JuryWithout], whole: Sequence[JuryAgreement], shown: Shown) -> Block:
    names = shown.names
    people = {(row.source, row.jury, row.criterion): row.kendall_people for row in whole}
    fields: list[Field[JuryWithout]] = [
        text_column("Jury", lambda row: shown_name(row.jury)),
        text_column("Without", lambda row: shown_name(row.member)),
        text_column("Asked as", lambda row: sentence(names.source(row.source))),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, row.source)),
        number_column(
            "Other answers",
            lambda row: cell(percent(row.changed), detail=f"of {count(row.n)}"),
            "share of the jury\u2019s answers that change without this member",
        ),
        number_column("Order kept", lambda row: number(row.kendall_jury), "Kendall\u2019s tau with the whole jury"),
        number_column(
            "Order of systems",
            lambda row: cell(
                number(row.kendall_people),
                detail=f"{number(people[row.source, row.jury, row.criterion])} with all",
            ),
            "Kendall\u2019s tau with people, and below it that of the whole jury",
        ),
    ]
    return tabulate(
        "jury_without",
        "Juries without one member",
        fields,
        rows,
        constant=("Jury", "Asked as", "Criterion"),
        csv="jury_without",
    )
