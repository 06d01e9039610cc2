"""How far annotators agree with each other, and an LLM with itself: what the numbers say, criterion by criterion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.report.document import (
    Block,
    Cell,
    Column,
    Fold,
    Heading,
    Paragraph,
    Results,
    Section,
    Table,
    build_table,
)
from analysis.report.findings import OVERALL, confidence_words
from analysis.report.plots import agreement_figure
from analysis.report.words import Names, cell, count, interval, listed, number, percent, sentence, slug

FEW_UNITS = 30
FEW_RATERS = 6
MOST_MATRICES = 8  # drawn; the table after them has every pair
ALPHA = "krippendorff_alpha_"
JUDGED: dict[str, tuple[str, str, tuple[str, dict[str, tuple[str, str]]]]] = {
    "preferences": ("stated preferences", "pairs of systems at one exposure", ("with distances", {})),
    "choices": (
        "choices",
        "two outputs of one item",
        (
            "alike or not",
            {
                "exact_agreement": ("All alike", "share of units that all judged alike"),
                "gwet_ac1": ("AC1", "Gwet\u2019s"),
                "fleiss_kappa": ("Kappa", "Fleiss\u2019"),
            },
        ),
    ),
}
MEASURES = {
    "gwet_ac1": Column(
        title="AC1", explanation="Gwet\u2019s: alike, but steadier where one answer prevails", numeric=True
    ),
    "icc2": Column(
        title="ICC2", explanation="share of the differences that lies between outputs, for one rater", numeric=True
    ),
    "icc2k": Column(title="ICC2k", explanation="the same for the mean of all raters of an output", numeric=True),
    "mean_kendall_tau": Column(
        title="Mean tau", explanation="how alike two raters rank the outputs, averaged over pairs", numeric=True
    ),
}
READING = (
    "Krippendorff\u2019s alpha says how far raters agree beyond chance: 1 means that they always give the same answer, "
    "0 that they agree no more than if the answers had been dealt out at random, and below 0 that they agree less than "
    "that. Low agreement does not make a mean wrong, but more annotators are then needed for it, and single answers "
    "say little. Agreement is not correctness: raters who share a bias agree."
)
RULES = (
    "Krippendorff (2004) asks for 0.80, and for 0.667 where tentative conclusions will do; on matters of taste people "
    "agree less, and these bounds were not made for them."
)


def agreement(results: Results) -> Section | None:
    """Report agreement among people and of each LLM with itself, one table a criterion."""
    names, everything = Names(results), results.get("agreement") or []
    rows = [row for row in everything if row["source"] == "ratings"]
    if not everything:
        return None
    blocks: list[Block] = [Paragraph(text=READING), Paragraph(text=RULES), *_once(results, names, rows)]
    criteria = sorted(dict.fromkeys(row["criterion"] for row in rows), key=lambda each: each != OVERALL)
    pairs = results.get("annotator_pairs") or []
    for criterion in criteria:
        several = len(criteria) > 1
        own = [row for row in rows if row["criterion"] == criterion]
        table = _table(results, names, own, criterion, several)
        if several and OVERALL in criteria and criterion != OVERALL:
            blocks.append(Fold(summary=f"{sentence(names.criterion(criterion))}: agreement", blocks=(table,)))
        else:
            blocks += [Heading(text=sentence(names.criterion(criterion))), table] if several else [table]
    blocks += _judgements(results, names, everything)
    if pairs:
        blocks.append(
            Fold(summary="Every two raters compared", blocks=(*_matrices(names, pairs), _pairs(names, pairs)))
        )
    return Section(id="agreement", title="Do the raters agree?", blocks=tuple(blocks))


def _judgements(results: Results, names: Names, rows: Sequence[dict[str, Any]]) -> list[Block]:
    """Show the agreement on pairs of systems: one table for stated preferences, one for choices."""
    blocks: list[Block] = []
    for source, (title, units, measures) in JUDGED.items():
        own = [row for row in rows if row["source"] == source]
        if not own:
            continue
        parts = list(dict.fromkeys((row["group"], row["criterion"]) for row in own))
        columns = [
            Column(title="Raters are", explanation="of an LLM, its repeated answers and forms are the raters"),
            Column(title="Criterion"),
            Column(title="Raters", numeric=True),
            Column(title="Units", explanation=f"{units}, with at least two answers", numeric=True),
            Column(title="Alpha", explanation=f"Krippendorff\u2019s, {measures[0]}", numeric=True),
            Column(title=f"{confidence_words(results)} interval", numeric=True),
            *(Column(title=shown, explanation=told, numeric=True) for shown, told in measures[1].values()),
            Column(title="Note"),
        ]
        cells = []
        for group, criterion in parts:
            by = {row["measure"]: row for row in own if (row["group"], row["criterion"]) == (group, criterion)}
            alpha = next(row for measure, row in by.items() if measure.startswith(ALPHA))
            cells.append(
                [
                    cell(sentence(names.group(group)) if names.kind(group) != "llm" else names.group(group)),
                    cell(names.criterion(criterion)),
                    cell(count(alpha["n_annotators"])),
                    cell(count(alpha["n_items"])),
                    cell(number(alpha["value"])),
                    cell(interval(alpha["ci_low"], alpha["ci_high"])),
                    *(_value(by.get(measure)) for measure in measures[1]),
                    cell(_note(alpha), tone="untested" if alpha["value"] is None else "plain"),
                ]
            )
        blocks.append(
            build_table(f"agreement-{source}", f"Agreement on {title}", columns, cells, constant=("Criterion",))
        )
    return blocks


def _once(results: Results, names: Names, rows: Sequence[dict[str, Any]]) -> list[Block]:
    """Name the groups that rated but have nobody to agree with."""
    measured = {row["group"] for row in rows}
    rated = dict.fromkeys(row["group"] for row in (results.get("ratings") or {}).get("means") or ())
    alone = [names.group(group) for group in rated if group not in measured]
    if not alone:
        return []
    named = listed(alone) if len(alone) <= 3 else f"{listed(alone[:2])} and {len(alone) - 2} more"
    return [
        Paragraph(
            text=f"{sentence(named)} answered every question once, so there is nobody to agree with. Ask an LLM "
            "several times to learn how far it agrees with itself."
        )
    ]


def _table(results: Results, names: Names, rows: list[dict[str, Any]], criterion: str, several: bool) -> Table:
    level = confidence_words(results)
    columns = [
        Column(title="Raters are", explanation="of an LLM, its repeated answers are the raters"),
        Column(title="Raters", numeric=True),
        Column(title="Outputs", explanation="outputs with at least two answers", numeric=True),
        Column(title="Alpha", explanation="Krippendorff\u2019s; 1 = full agreement, 0 = as by chance", numeric=True),
        Column(title=f"{level} interval", numeric=True),
        Column(title="Scale", explanation="whether only the order of the answers counts, or their distances"),
        Column(
            title="All alike", explanation="share of outputs to which all gave the very same answer (%)", numeric=True
        ),
        *MEASURES.values(),
        Column(title="Note"),
    ]
    cells = [_line(names, [row for row in rows if row["group"] == group]) for group in _groups(rows)]
    notes = ["Intervals show what other outputs would give with the same raters, not what other raters would give."]
    if any(row["n_items"] < FEW_UNITS for row in rows):
        notes.append(f"With fewer than {FEW_UNITS} outputs intervals tend to be too narrow.")
    if any(row["n_annotators"] < FEW_RATERS for row in rows):
        notes.append("With few raters, others like them may agree more or less than these did.")
    caption = "Agreement among raters"
    return build_table(
        f"agreement-{slug(criterion)}" if several else "agreement",
        f"{caption}: {names.criterion(criterion)}" if several else caption,
        columns,
        cells,
        notes,
        constant=("Scale",),
    )


def _groups(rows: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(row["group"] for row in rows))


def _line(names: Names, rows: Sequence[dict[str, Any]]) -> list[Cell]:
    by_measure = {row["measure"]: row for row in rows}
    fitting = next((row for row in rows if row.get("fits_scale")), rows[0])
    same = by_measure.get("exact_agreement") or {}
    return [
        cell(sentence(names.group(fitting["group"]))),
        cell(count(fitting["n_annotators"])),
        cell(count(fitting["n_items"])),
        cell(number(fitting["value"])),
        cell(interval(fitting["ci_low"], fitting["ci_high"])),
        cell(fitting["measure"].removeprefix(ALPHA)),
        cell(percent(same.get("value"))),
        *(_value(by_measure.get(measure)) for measure in MEASURES),
        cell(_note(fitting), tone="untested" if fitting["value"] is None else "plain"),
    ]


def _note(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return f"no alpha: {row.get('reason') or 'no reason was recorded'}"
    return str(row.get("reason") or "\u2013")


def _value(row: dict[str, Any] | None) -> Cell:
    if row is None:
        return cell(number(None))
    return cell(
        number(row["value"]), detail=interval(row["ci_low"], row["ci_high"]) if row["ci_low"] is not None else ""
    )


def _matrices(names: Names, pairs: Sequence[dict[str, Any]]) -> list[Block]:
    """Draw the agreement of every two raters where three or more can be compared, overall ratings first."""
    parts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in pairs:
        parts.setdefault((row["group"], row["criterion"]), []).append(row)
    shown = [
        (place, rows)
        for place, rows in sorted(parts.items(), key=lambda part: part[0][1] != OVERALL)
        if len(rows) > 1 and any(row["krippendorff_alpha"] is not None for row in rows)
    ]
    return [
        agreement_figure(rows, names, f"agreement-{slug(group)}-{slug(criterion)}")
        for (group, criterion), rows in shown[:MOST_MATRICES]
    ]


def _pairs(names: Names, rows: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column(title="Raters"),
        Column(title="Group"),
        Column(title="Criterion"),
        Column(title="Outputs", explanation="rated by both", numeric=True),
        Column(title="Alike", explanation="share of outputs with the very same answer", numeric=True),
        Column(
            title="Kendall\u2019s tau", explanation="1 = same order, 0 = unrelated, \u22121 = reversed", numeric=True
        ),
        Column(title="Cohen\u2019s kappa", explanation="agreement beyond chance, answers alike or not", numeric=True),
        Column(title="Alpha", explanation="Krippendorff\u2019s, of these two", numeric=True),
        Column(title="Note"),
    ]
    cells = [
        [
            cell(f"{row['annotator_x']} and {row['annotator_y']}", quoted=True),
            cell(sentence(names.group(row["group"]))),
            cell(names.criterion(row["criterion"])),
            cell(count(row["n_items"])),
            cell(percent(row["exact_agreement"])),
            cell(number(row["kendall_tau"])),
            cell(number(row["cohen_kappa"])),
            cell(number(row["krippendorff_alpha"])),
            cell(str(row.get("reason") or "\u2013")),
        ]
        for row in rows
    ]
    return build_table(
        "annotator_pairs", "Agreement of every two raters", columns, cells, constant=("Group", "Criterion")
    )
