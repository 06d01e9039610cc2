"""Do stated chances come true: statements about systems held against choices between their outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from analysis.contribution import Shown
from analysis.figures.drawing import DASHES
from analysis.figures.figures import Point, lines_plot
from analysis.llm_vs_people.calibration import ReliabilityBin
from analysis.llm_vs_people.calibration_rows import CalibrationRow
from analysis.llm_vs_people.llms_and_people import LLMsAndPeople
from analysis.printing.cells import Field, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Column, Figure, Fold, Heading, Paragraph, Section, Table, build_table
from analysis.printing.lookup import by_criterion
from analysis.printing.names import Names
from analysis.printing.pictures import BESIDE, folded
from analysis.printing.words import count, interval, listed, number, percent, plural, sentence, share_interval, slug

FEW_CHOICES = 100  # below which the calibration error is mostly chance
WHOSE = {
    "annotator": "a person's choices are compared with what this person stated",
    "assignment": "a choice is compared with what the LLM stated on the same form",
    "pair": "a choice is compared with the mean of what the group stated about the pair",
}


def calibration(results: LLMsAndPeople, shown: Shown) -> Section | None:
    """Report Brier score, calibration error and reliability table of every group that stated chances."""
    rows = results.calibration
    scored = [row for row in rows if row.brier_score is not None]
    if not rows:
        return None
    names = shown.names
    if not scored:
        reasons = listed(list(dict.fromkeys(sentence(str(row.reason)) for row in rows))[:3])
        blocks: list[Block] = [Paragraph(text=f"This cannot be determined from these answers. {reasons}.")]
        return Section(id="calibration", title="Do stated chances come true?", blocks=tuple(blocks))
    blocks = [Paragraph(text=_reading(scored, names)), _scores(rows, names, shown.confidence)]
    criteria = by_criterion(scored)
    for criterion, own in criteria.items():
        if len(criteria) > 1:
            blocks.append(Heading(text=sentence(names.criterion(criterion))))
        blocks += _curve(own, names, criterion, several=len(criteria) > 1)
    return Section(id="calibration", title="Do stated chances come true?", blocks=tuple(blocks))


def _reading(rows: Sequence[CalibrationRow], names: Names) -> str:
    ways = listed([WHOSE[way] for way in dict.fromkeys(row.matched_by for row in rows)])
    text = (
        "Someone who says that one system is better with a chance of 70% should see its outputs chosen in 7 of 10 "
        "cases. The "
        "Brier score is the mean squared distance between stated chance and choice (a tie is half); less is better. "
        "The calibration error is how far stated and found shares lie apart, averaged over "
        f"{rows[0].n_bins} bins; chance alone keeps it above 0. {sentence(ways)}. "
    )
    scores = [(row, row.brier_score, row.brier_of_half) for row in rows]
    named = list(dict.fromkeys(_who(row, names) for row, own, half in scores if own and half and own > half))
    if named:
        text += f"Worse than saying 50% to everything: {listed(named)}."
    else:
        text += "All score at least as well as saying 50% to everything."
    return text


def _who(row: CalibrationRow, names: Names) -> str:
    whose = "own choices" if row.against == "own" else "choices of people"
    return f"{names.group(row.group)}, {whose}"


def _group(row: CalibrationRow, names: Names) -> str:
    named = names.group(row.group)
    return named if names.kind(row.group) == "llm" else sentence(named)


def _scores(rows: Sequence[CalibrationRow], names: Names, confidence: str) -> Table:
    fields: list[Field[CalibrationRow]] = [
        text_column("Who stated", lambda row: _group(row, names)),
        text_column("Choices of", lambda row: "own" if row.against == "own" else "people"),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Choices", lambda row: count(row.n)),
        number_column(
            "Brier score",
            lambda row: cell(
                number(row.brier_score, 3),
                detail=interval(row.ci_low, row.ci_high, decimals=3) if row.ci_low is not None else "",
            ),
            f"with the {confidence} confidence interval; less is better",
        ),
        number_column("Of 50%", lambda row: number(row.brier_of_half, 3), "Brier score of saying 50% to everything"),
        number_column("Calibration error", lambda row: number(row.calibration_error, 3)),
        number_column("Stated", lambda row: percent(row.mean_stated), "mean stated chance of the one that is favoured"),
        number_column("Chosen", lambda row: percent(row.mean_outcome), "share of choices that it won"),
        number_column(
            "Recalibrated",
            lambda row: number(row.recalibrated.brier_score, 3),
            "Brier score after a rising curve is fitted to the statements of others (cross-fitted isotonic regression)",
        ),
        text_column("Note", lambda row: str(row.reason or row.recalibrated.reason or "\u2013")),
    ]
    notes = [f"Intervals are clustered by {listed(sorted({str(row.interval) for row in rows}))}."]
    if any(row.n < FEW_CHOICES for row in rows):
        notes.append(f"With fewer than {FEW_CHOICES} choices the calibration error is mostly chance.")
    return tabulate("calibration", "Stated chances against choices", fields, rows, notes, constant=("Criterion",))


def _curve(rows: Sequence[CalibrationRow], names: Names, criterion: str, *, several: bool) -> list[Block]:
    """Return the reliability curve with its table, folded where it is long."""
    columns = [
        Column(title="Who stated"),
        Column(title="Choices of"),
        Column(title="Bin"),
        Column(title="Choices", numeric=True),
        Column(title="Stated", explanation="mean in the bin", numeric=True),
        Column(title="Chosen", explanation="share in the bin, with Wilson's interval", numeric=True),
    ]
    cells = [
        [
            cell(_group(row, names)),
            cell("own" if row.against == "own" else "people"),
            cell(f"{100 * part.low:g}\u2013{100 * part.high:g}%"),
            cell(count(part.n)),
            cell(percent(part.mean_stated)),
            cell(percent(part.mean_outcome), detail=share_interval(part.ci_low, part.ci_high)),
        ]
        for row in rows
        for part in row.bins
        if part.n
    ]
    stem = f"reliability-{slug(criterion)}" if several else "reliability"
    about = f": {names.criterion(criterion)}" if several else ""
    table = build_table(stem, f"Reliability of stated chances{about}", columns, cells)
    figure = _reliability_figure([(_who(row, names), row.bins) for row in rows], stem, about)
    return [Fold(summary=f"Every bin of the figure below ({plural(len(cells), 'bin')})", blocks=(table,)), figure]


def _reliability_figure(curves: Sequence[tuple[str, Sequence[ReliabilityBin]]], name: str, about: str) -> Figure | Fold:
    """Return the reliability curves: share chosen over stated chance, bin by bin, beside what would be right."""
    kept = curves[: len(DASHES) - 1]
    right = "stated = chosen"
    points = [Point(line=right, x=end, y=end) for end in (0.0, 1.0)]
    points += [
        Point(line=who, x=part.mean_stated, y=part.mean_outcome)
        for who, bins in kept
        for part in bins
        if part.mean_stated is not None and part.mean_outcome is not None
    ]
    drawing = partial(
        lines_plot,
        points,
        x_title="stated chance of the one that is favoured",
        y_title="share chosen",
        alternative=f"Share of choices over stated chance of the one that is favoured; {BESIDE}.",
    )
    caption = (
        f"Reliability of stated chances{about}: share of choices over stated chance, bin by bin. On the line "
        f"\u201c{right}\u201d statements are right on average; a flatter curve is over-confident, "
        "a steeper one under-confident."
    )
    if len(kept) < len(curves):
        caption += f" Only the first {len(kept)} of {len(curves)} curves are drawn; the table has all."
    answers = [sum(part.n for part in bins) for _, bins in kept]
    n = f"n (answers): {listed([f'{who} {many:,}' for (who, _), many in zip(kept, answers, strict=True)])}."
    return folded(name, drawing, caption, len(points), n)
