"""What the report says of an audit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.audit.audit_rows import AuditRow
from analysis.contribution import Shown
from analysis.printing.cells import Field, cell, criterion_cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Cell, Paragraph, Section
from analysis.printing.names import Names
from analysis.printing.words import count, interval, number, percent

INTRO = (
    "{rater} answered {forms} forms, people {n} of them, drawn beforehand. Its answers stand in for people\u2019s to "
    "the rest, less what it was seen to err where both answered: biased or useless, it widens intervals and shifts "
    "none."
)
LEFT_OUT = (
    " Of the people {gone} were left out, by whose share chances are lowered; where who is left out depends on the "
    "answers, the means lie between those of the people who count and of all."
)


def audit(rows: Sequence[AuditRow], shown: Shown) -> Section | None:
    """Set people\u2019s means over all forms beside those of people alone; nothing where no study was audited."""
    if not rows:
        return None
    names = shown.names
    most = max(rows, key=lambda row: (row.n_forms, row.n))
    intro = INTRO.format(rater=names.group(most.group), forms=f"{most.n_forms:,}", n=f"{max(row.n for row in rows):,}")
    if most.chance_low is not None and most.chance_high is not None:
        least, greatest = percent(most.chance_low, 0), percent(most.chance_high, 0)
        how = f"{least} to {greatest}" if least != greatest else least
        how += ", the more often the less sure it was" * most.drawn_by_doubt
        intro += f" They were drawn in waves, each form with a chance of {how}."
    gone = sum(group.excluded_annotators for group in shown.results.groups if group.annotator_kind != "llm")
    intro += LEFT_OUT.format(gone=f"{gone:,}") if gone else ""
    saved = [row.saved for row in rows if row.saved is not None]
    blocks: list[Block] = [Paragraph(text=intro)]
    if saved:
        mean = percent(sum(saved) / len(saved), 0)
        blocks.append(Paragraph(text=f"It saved {mean} of the people whom intervals as narrow would have taken alone."))
    table = tabulate(
        "audit",
        "People\u2019s mean over all forms",
        _fields(names, shown.confidence, decides=most.error_rate is not None),
        [_ahead_first(row) for row in rows],
        constant=CONSTANT,
        csv="audit",
    )
    return Section(id="audit", title="What the audit found", blocks=(*blocks, table))


def _ahead_first(row: AuditRow) -> AuditRow:
    """Return a decided row with the system that is better first, and every number with it."""
    if row.decision != "y":
        return row

    def of_the_other(value: float | None) -> float | None:
        if value is None:
            return None
        return -value if row.source == "ratings" else 1 - value

    return replace(
        row,
        system_x=row.system_y,
        system_y=row.system_x,
        estimate=of_the_other(row.estimate),
        ci_low=of_the_other(row.ci_high),
        ci_high=of_the_other(row.ci_low),
        people_mean=of_the_other(row.people_mean),
        decision="x",
    )


CONSTANT = ("Rater", "Criterion", "Exposure")


def _fields(names: Names, confidence: str, *, decides: bool) -> list[Field[AuditRow]]:
    holds = "interval that holds at every look" if decides else f"{confidence} interval"
    last: Field[AuditRow] = (
        text_column("Decision", lambda row: _decision(row, names), "and after how many people")
        if decides
        else number_column("Saved", lambda row: percent(row.saved, 0), "people, for an interval of the same width")
    )
    return [
        text_column("Rater", lambda row: names.group(row.group)),
        text_column("What", lambda row: _what(row, names), "x \u2212 y: difference of ratings; x over y: preference"),
        text_column("Criterion", lambda row: criterion_cell(names, row.criterion, row.source)),
        number_column("Exposure", lambda row: count(row.exposure)),
        number_column("Forms", lambda row: count(row.n_forms), "that the rater answered"),
        number_column("People", lambda row: count(row.n), "forms of these that people answered"),
        number_column(
            "Audited",
            lambda row: _mean(row, row.estimate, row.ci_low, row.ci_high),
            f"people\u2019s mean over all forms, with the {holds}",
        ),
        number_column(
            "People alone",
            lambda row: _mean(row, row.people_mean, row.people_ci_low, row.people_ci_high),
            f"mean of people\u2019s answers, with the {confidence} interval",
        ),
        last,
    ]


def _decision(row: AuditRow, names: Names) -> str:
    if row.decision is None:
        return ""
    if row.decision == "open":
        return "open"
    better = names.system(row.system_x if row.decision == "x" else row.system_y)
    return f"{better} is better, after {row.decided_after}"


def _what(row: AuditRow, names: Names) -> str:
    join = "\u2212" if row.source == "ratings" else "over"
    return f"{names.system(row.system_x)} {join} {names.system(row.system_y)}"


def _mean(row: AuditRow, value: float | None, low: float | None, high: float | None) -> Cell:
    if row.source == "ratings":
        return cell(number(value), detail=interval(low, high))
    return cell(percent(value), detail=interval(low, high, as_percent=True))
