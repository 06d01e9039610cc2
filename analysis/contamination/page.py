"""What was found of contamination, on one page: HTML, Markdown, a figure and a CSV table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.contamination.results import MEASURES, Contamination
from analysis.contamination.texts import SEEN, UNSEEN
from analysis.figures import drawing
from analysis.figures.plain_text import shown_name
from analysis.report.cells import cell
from analysis.report.csv_tables import render_csv
from analysis.report.document import Block, Cell, Column, Document, Figure, Heading, Paragraph, Section, Table
from analysis.report.html import render_html
from analysis.report.markdown import render_markdown
from analysis.results.words import count, interval, number, percent, plural, sentence, share_interval
from spa.errors import AnalysisError
from spa.files import write_text

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
BINS = 24
SIMILAR = 1.5  # most by which median lengths may differ without a word
WIDTH, HEIGHT, GAP = 480, 70, 24  # pixels of one histogram, and of the room above it for its name


def write_page(found: Contamination, folder: Path) -> list[Path]:
    """Write contamination.html, .md, .csv and the figure into a folder; return their paths."""
    document = page(found)
    files = {
        f"{NAME}.html": render_html(document),
        f"{NAME}.md": render_markdown(document),
        f"{NAME}.csv": render_csv(found.rows()),
        f"figures/{NAME}.svg": figure(found),
    }
    for name, text in files.items():
        write_text(folder / name, text)
    return [folder / name for name in files]


def page(found: Contamination) -> Document:
    """Return the page."""
    blocks: list[Block] = [Paragraph(text=text) for text in conclusions(found)]
    blocks += [Paragraph(text=LIMITS, weight="warning"), _scores(found)]
    if found.thresholds:
        blocks.append(_predictions(found))
    if found.aucs:
        blocks.append(_aucs(found))
    alternative = "Histograms of Min-K % Prob, one a source of texts; the tables beside this figure hold the medians."
    blocks += [
        Heading(text="Distribution"),
        Figure(name=NAME, svg=figure(found), caption=_caption(found), alternative=alternative),
    ]
    return Document(
        title=f"Has {shown_name(found.model)} read these texts before?",
        subtitle=_settings(found),
        language="en",
        sections=(Section(id=NAME, title="Contamination", blocks=tuple(blocks)),),
    )


def conclusions(found: Contamination) -> list[str]:
    """Return in words what was found, of Min-K % Prob alone, which was chosen beforehand."""
    lines = []
    for row in found.predicted:
        if row.measure == "min_k" and row.source != SEEN:
            lines.append(
                f"{sentence(row.source)}: {row.seen:,} of {row.n:,} texts ({percent(row.share)}, "
                f"{percent(found.confidence, 0)} interval {share_interval(row.ci_low, row.ci_high)}) are predicted as "
                f"seen; of unseen texts at most {percent(found.false_positive_rate)} would be."
            )
    if "min_k" in found.aucs:
        area = found.aucs["min_k"]
        lines.append(
            f"On the controls Min-K % Prob tells seen from unseen texts with an AUC of {number(area.value)} "
            f"({interval(area.ci_low, area.ci_high)}); 0.5 is chance."
        )
        if area.ci_low <= 0.5:
            lines.append("Chance lies within that interval, so these predictions say nothing.")
    if not found.thresholds:
        unseen = len(found.of(UNSEEN))
        least = math.ceil(round(1 / found.false_positive_rate - 1, 9))
        lines.append(
            f"{plural(unseen, 'unseen control')}: a threshold at {percent(found.false_positive_rate)} needs {least}."
            if unseen
            else WITHOUT
        )
    lengths = [found.median_tokens(source) for source in found.sources()]
    if lengths and max(lengths) > SIMILAR * min(lengths):
        lines.append(
            f"Lengths differ between sources ({count(min(lengths))} to {count(max(lengths))} tokens at the median), on "
            "which scores depend, most of all zlib: match the controls."
        )
    skipped = sum(one.scores is None for one in found.texts)
    if skipped:
        lines.append(f"{plural(skipped, 'text')} of less than two tokens could not be scored.")
    return lines


def _settings(found: Contamination) -> str:
    windows = sum(one.windows > 1 for one in found.texts)
    parts = [
        f"K = {100 * found.share:g} %, fixed beforehand",
        found.dtype,
        *([f"files {found.fingerprint}"] if found.fingerprint else []),
        *([f"{plural(windows, 'text')} read in windows that overlap by half"] if windows else []),
    ]
    return "; ".join(parts)


def _scores(found: Contamination) -> Table:
    columns = [
        Column(title="Texts"),
        Column(title="n", numeric=True),
        *(Column(title=title, numeric=True) for title in ("Tokens", *MEASURES.values(), "Perplexity")),
    ]
    rows = []
    for source in found.sources():
        own = found.of(source)
        rows.append(
            [
                cell(sentence(source)),
                cell(count(len(own))),
                cell(count(found.median_tokens(source))),
                *(cell(_median(own, name, 5 if name == "zlib_ratio" else 3)) for name in MEASURES),
                cell(_median(own, "perplexity", 1)),
            ]
        )
    note = "All are medians of texts. Higher is more familiar, but for perplexity."
    return _table("scores", "How familiar the texts look", columns, rows, note)


def _median(own: Sequence[Any], name: str, decimals: int) -> str:
    from statistics import median

    return number(median(getattr(one.scores, name) for one in own), decimals)


def _predictions(found: Contamination) -> Table:
    columns = [
        Column(title="Texts"),
        Column(title="Measure"),
        Column(title="Threshold", numeric=True),
        Column(title="Predicted as seen", explanation="of all", numeric=True),
        Column(title="Share (%)", explanation="with Wilson's interval", numeric=True),
    ]
    rows = [
        [
            cell(sentence(row.source)),
            cell(MEASURES[row.measure]),
            cell(number(found.thresholds[row.measure], 5 if row.measure == "zlib_ratio" else 3)),
            cell(f"{row.seen:,} of {row.n:,}"),
            cell(percent(row.share).rstrip("%"), detail=share_interval(row.ci_low, row.ci_high)),
        ]
        for row in found.predicted
    ]
    return _table("predicted", "How many texts are predicted as seen", columns, rows)


def _aucs(found: Contamination) -> Table:
    columns = [
        Column(title="Measure"),
        Column(title="AUC", explanation="chance that a seen control scores higher than an unseen one", numeric=True),
        Column(title="Seen", numeric=True),
        Column(title="Unseen", numeric=True),
    ]
    rows = [
        [
            cell(MEASURES[name]),
            cell(number(area.value, 3), detail=interval(area.ci_low, area.ci_high, decimals=3)),
            cell(count(area.n_seen)),
            cell(count(area.n_unseen)),
        ]
        for name, area in found.aucs.items()
    ]
    return _table("auc", "How well the controls are told apart", columns, rows)


def _table(name: str, caption: str, columns: Sequence[Column], rows: Sequence[Sequence[Cell]], *notes: str) -> Table:
    whole = tuple(map(tuple, rows))
    return Table(name=f"{NAME}_{name}", caption=caption, columns=tuple(columns), rows=whole, notes=notes, csv=NAME)


def _caption(found: Contamination) -> str:
    limit = " The line is the threshold: texts to its right are predicted as seen." if found.thresholds else ""
    return f"Share of the texts of each source by Min-K % Prob; more familiar to the right.{limit}"


def figure(found: Contamination) -> str:
    """Draw the distribution of Min-K % Prob, a histogram a source, all over the same axis; an SVG document."""
    import numpy as np

    values = {source: [one.scores.min_k for one in found.of(source) if one.scores] for source in found.sources()}
    if not values:
        raise AnalysisError("expected texts of at least two tokens, got none")
    every = np.concatenate([*values.values()])
    edges = np.linspace(every.min(), max(every.max(), every.min() + 1e-6), BINS + 1)
    shares = {source: np.histogram(own, edges)[0] / len(own) for source, own in values.items()}
    highest = max(share.max() for share in shares.values())
    across, bottom = drawing.scale(edges[0], edges[-1], 0, WIDTH), (HEIGHT + GAP) * len(shares)
    marks: list[str] = []
    for row, (source, own) in enumerate(shares.items(), start=1):
        ground = row * (HEIGHT + GAP)
        tops = ground - own * HEIGHT / highest
        marks.append(drawing.text(0, ground - HEIGHT - GAP / 2, f"{sentence(source)} (n = {len(values[source]):,})"))
        marks += [
            drawing.box(across(low), top, across(high) - 1, ground, drawing.COLOURS[0])
            for low, high, top in zip(edges[:-1], edges[1:], tops, strict=True)
        ]
        marks.append(drawing.rule(0, ground, WIDTH, ground, width=1))
    if "min_k" in found.thresholds:
        x = min(max(across(found.thresholds["min_k"]), 0.0), WIDTH)
        marks.append(drawing.rule(x, GAP, x, bottom, width=1.5, dash="4 3"))
    ticks, written = drawing.round_steps(float(edges[0]), float(edges[-1]))
    title = "Min-K % Prob (mean log-probability)"
    marks += drawing.horizontal_axis(across, WIDTH, bottom, title, ticks, [*map(written, ticks)])
    alternative = "Histograms of Min-K % Prob by source of texts."
    return drawing.figure(marks, WIDTH, bottom + drawing.AXIS, alternative)
