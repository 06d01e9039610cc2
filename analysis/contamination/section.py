"""Does a local model know the study's texts: what scores of familiarity say, with and without controls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from analysis.answers.study_texts import SEEN, UNSEEN
from analysis.contamination.results import MEASURES, Contamination, Measure, PredictedShare, SourceScores
from analysis.contribution import Shown
from analysis.figures import drawing
from analysis.figures.plain_text import shown_name
from analysis.printing.cells import Field, Row, cell, number_column, tabulate, text_column
from analysis.printing.document import Block, Heading, Paragraph, Section, Table
from analysis.printing.pictures import pictured
from analysis.printing.words import count, interval, listed, number, percent, plural, sentence, share_interval

LIMITS = (
    "These scores say how familiar a text looks, not where from: famous, simple or repetitive texts look familiar "
    "unread, and a model that was trained on a text need not show it. A verdict is only as good as the controls, which "
    "must match the texts in kind, date and length; differences between seen and unseen controls in topic or time are "
    "detected too. No prediction about a single text is evidence."
)
WITHOUT = (
    "Without controls there is no threshold and no verdict: scores of one model rank these texts among each other and "
    "say nothing of whether it has seen them. Add texts of the same kind of which you know whether it has."
)
NAME = "contamination"
CHANCE = 0.5  # AUC of a measure that tells nothing
SIMILAR = 1.5  # most by which median lengths may differ without a word
WIDTH, HEIGHT, GAP = 480, 70, 24  # pixels of one histogram, and of the room above it for its name
TALLEST = 480  # pixels of all histograms in a paper, if they need not be lower than their names


def contamination(first: Contamination | None, others: Sequence[Contamination], shown: Shown) -> Section:
    """Report what ``spa contamination`` found, model by model."""
    found = (*(() if first is None else (first,)), *others)
    if len(found) == 1:
        blocks = [Paragraph(text=f"{settings_words(found[0])}."), *contamination_blocks(found[0], NAME)]
        return Section(id=NAME, title=question(found[0]), blocks=tuple(blocks))
    several: list[Block] = [Paragraph(text=LIMITS, weight="warning")]
    for place, model in enumerate(found, start=1):
        several += [
            Heading(text=question(model)),
            Paragraph(text=f"{settings_words(model)}."),
            *contamination_blocks(model, f"{NAME}-{place}", shown_name(model.model)),
        ]
    names = listed([shown_name(model.model) for model in found])
    return Section(id=NAME, title=f"Have {names} read these texts before?", blocks=tuple(several))


def question(contamination: Contamination) -> str:
    """Return the title of what was found of one model."""
    return f"Has {shown_name(contamination.model)} read these texts before?"


def contamination_blocks(contamination: Contamination, stem: str, model: str = "") -> Iterator[Block]:
    """Yield what is said of one model, who is named where there are several; ``stem`` begins names of its own."""
    yield from (Paragraph(text=text) for text in conclusions(contamination))
    if not model:
        yield Paragraph(text=LIMITS, weight="warning")
    tables = (
        _scores(contamination),
        _predictions(contamination) if contamination.thresholds else None,
        _aucs(contamination) if contamination.aucs else None,
    )
    for table in filter(None, tables):
        caption = f"{model}: {table.caption}" if model else table.caption
        yield replace(table, name=table.name.replace(NAME, stem, 1), caption=caption, units=_texts(contamination))
    yield Heading(text=f"{model}: distribution" if model else "Distribution")
    alternative = "Histograms of Min-K% Prob, one a source of texts; the tables beside this figure hold the medians."
    yield pictured(stem, partial(figure, contamination), _caption(contamination), alternative, _texts(contamination))


def conclusions(contamination: Contamination) -> list[str]:
    """Return in words what was found, of Min-K% Prob alone, which was chosen beforehand."""
    lines = []
    rate = contamination.false_positive_rate
    for row in contamination.predicted:
        if row.measure == "min_k" and row.source != SEEN:
            limits = share_interval(row.ci_low, row.ci_high, marks=(rate,))
            lines.append(
                f"{sentence(row.source)}: {row.seen:,} of {row.n:,} texts ({percent(row.share)}, "
                f"{percent(contamination.confidence, 0)} confidence interval {limits}) are "
                f"predicted as seen; of unseen texts at most {percent(rate)} would be."
            )
    if "min_k" in contamination.aucs:
        area = contamination.aucs["min_k"]
        lines.append(
            f"On the controls Min-K% Prob tells seen from unseen texts with an AUC of {number(area.value)} "
            f"({interval(area.ci_low, area.ci_high, marks=(CHANCE,))}); {CHANCE:g} is chance."
        )
        if area.ci_low <= CHANCE:
            lines.append("Chance lies within that interval, so these predictions say nothing.")
    if not contamination.thresholds:
        unseen = sum(row.n for row in contamination.sources if row.source == UNSEEN)
        least = math.ceil(round(1 / rate - 1, 9))
        lines.append(
            f"{plural(unseen, 'unseen control')}: a threshold at {percent(rate)} needs {least}." if unseen else WITHOUT
        )
    lengths = [row.n_tokens for row in contamination.sources]
    if max(lengths) > SIMILAR * min(lengths):
        lines.append(
            f"Lengths differ between sources ({count(min(lengths))} to {count(max(lengths))} tokens at the median), on "
            "which scores depend, most of all zlib: match the controls."
        )
    if contamination.unscored:
        lines.append(f"{plural(contamination.unscored, 'text')} of fewer than two tokens could not be scored.")
    return lines


def settings_words(contamination: Contamination) -> str:
    """Return in words with what settings it was found."""
    parts = [
        f"K = {100 * contamination.share:g}%, set in advance",
        contamination.dtype,
        *([f"files {contamination.fingerprint}"] if contamination.fingerprint else []),
        *(
            [f"{plural(contamination.windowed, 'text')} read in windows that overlap by half"]
            if contamination.windowed
            else []
        ),
    ]
    return "; ".join(parts)


def _scores(found: Contamination) -> Table:
    def measured(name: str) -> Callable[[SourceScores], str]:
        return lambda row: _score(name, getattr(row, name))

    fields: list[Field[SourceScores]] = [
        text_column("Texts", lambda row: sentence(row.source)),
        number_column("n", lambda row: count(row.n)),
        number_column("Tokens", lambda row: count(row.n_tokens)),
        *(number_column(title, measured(name)) for name, title in MEASURES.items()),
        number_column("Perplexity", lambda row: number(row.perplexity, 1)),
    ]
    note = "All values are medians over texts. Higher is more familiar, except for perplexity."
    return _table("sources", "How familiar the texts look", fields, found.sources, note)


def _score(measure: str, value: float | None) -> str:
    return number(value, 5 if measure == "zlib_ratio" else 3)


def _predictions(found: Contamination) -> Table:
    fields: list[Field[PredictedShare]] = [
        text_column("Texts", lambda row: sentence(row.source)),
        text_column("Measure", lambda row: MEASURES[row.measure]),
        number_column("Threshold", lambda row: _score(row.measure, found.thresholds[row.measure])),
        number_column("Predicted as seen", lambda row: f"{row.seen:,} of {row.n:,}", "of all"),
        number_column(
            "Share (%)",
            lambda row: cell(
                percent(row.share).rstrip("%"),
                detail=share_interval(row.ci_low, row.ci_high, marks=(found.false_positive_rate,)),
            ),
            "with Wilson's interval",
        ),
    ]
    return _table("predicted", "How many texts are predicted as seen", fields, found.predicted)


def _aucs(found: Contamination) -> Table:
    areas = found.aucs
    fields: list[Field[Measure]] = [
        text_column("Measure", lambda name: MEASURES[name]),
        number_column(
            "AUC",
            lambda name: cell(
                number(areas[name].value, 3),
                detail=interval(areas[name].ci_low, areas[name].ci_high, decimals=3, marks=(CHANCE,)),
            ),
            "chance that a seen control scores higher than an unseen one",
        ),
        number_column("Seen", lambda name: count(areas[name].n_seen)),
        number_column("Unseen", lambda name: count(areas[name].n_unseen)),
    ]
    return _table("aucs", "How well the controls are told apart", fields, areas)


def _table(name: str, caption: str, fields: Sequence[Field[Row]], rows: Iterable[Row], *notes: str) -> Table:
    return tabulate(f"{NAME}_{name}", caption, fields, rows, notes, csv=f"{NAME}_{name}")


def _caption(found: Contamination) -> str:
    limit = " The line is the threshold: texts to its right are predicted as seen." if found.thresholds else ""
    return f"Share of the texts of each source by Min-K% Prob; more familiar to the right.{limit}"


def _texts(found: Contamination) -> str:
    many = [f"{plural(row.n, 'text')} ({shown_name(row.source)})" for row in found.sources]
    return f"n: {listed(many)}."


def figure(contamination: Contamination, *, look: drawing.Look = drawing.SCREEN) -> str:
    """Draw the distribution of Min-K% Prob, a histogram a source, all over the same axis; an SVG document."""
    edges, shares = contamination.edges, [[part / row.n for part in row.histogram] for row in contamination.sources]
    highest = max(map(max, shares))
    width = look.inner(WIDTH)
    high = HEIGHT if look.total is None else min(HEIGHT, max(GAP, TALLEST / len(shares) - GAP))
    across, bottom = drawing.scale(edges[0], edges[-1], 0, width), (high + GAP) * len(shares)
    marks: list[str] = []
    for place, (row, own) in enumerate(zip(contamination.sources, shares, strict=True), start=1):
        ground = place * (high + GAP)
        many = "" if look.numbers == "none" else f" (n = {row.n:,})"
        title = next(iter(look.wrap(f"{sentence(shown_name(row.source))}{many}", width)))
        marks.append(drawing.text(0, ground - high - GAP / 2, title))
        marks += [
            drawing.box(across(low), ground - share * high / highest, across(high) - 1, ground, drawing.COLOURS[0])
            for low, high, share in zip(edges[:-1], edges[1:], own, strict=True)
        ]
        marks.append(drawing.rule(0, ground, width, ground, width=1))
    if "min_k" in contamination.thresholds:
        x = min(max(across(contamination.thresholds["min_k"]), 0.0), width)
        marks.append(drawing.rule(x, GAP, x, bottom, width=1.5, dash="4 3"))
    ticks, written = drawing.round_steps(edges[0], edges[-1])
    title = "Min-K% Prob (mean log-probability)"
    marks += drawing.horizontal_axis(across, width, bottom, title, ticks, [*map(written, ticks)], look)
    alternative = "Histograms of Min-K% Prob by source of texts."
    return drawing.figure(marks, width, bottom + drawing.AXIS, alternative, look=look)
