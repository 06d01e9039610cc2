"""A plan written out: for a reader, for a script, and as a figure with its table."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.answers.units import ENOUGH_ANNOTATORS
from analysis.planning.with_rater import rater_lines
from analysis.statistics.corrections import Correction
from spa.errors import AnalysisError

if TYPE_CHECKING:
    from rich.console import Console

    from analysis.planning.assumptions import Assumptions
    from analysis.planning.plan import LiveCost, NeedRow, PowerPlan

NAMES = {"spa": "SPA", "likert": "Likert", "spans": "Error spans", "ranking": "Rankings", "choices": "Choices"}
PAIRED = (
    '"Reached" is the power of so many annotators whose answers lie on the scale with this mean and SD; one fewer '
    "reaches less than asked for."
)
UNPAIRED = (
    '"Reached" is simulated: nobody rates two systems on one item, so the report compares the means of all ratings '
    "(clustered t), which holds for annotators and items like these. Few items limit what any number of annotators can "
    "find."
)
JUDGED = {"ranking": "order", "choices": "choice"}  # whose shares are tested
CORRECTIONS: dict[Correction, str] = {"holm": "Holm", "bh": "Benjamini-Hochberg"}
RATES: dict[Correction, str] = {"holm": "an error rate", "bh": "a false discovery rate"}


def plan_json(plan: PowerPlan) -> dict[str, Any]:
    """Return everything computed, with money as text."""
    found = asdict(plan)
    found["assumptions"] |= {"sd": plan.assumptions.sd, "alpha": plan.assumptions.alpha}
    found["notes"] = list(notes(plan))
    for row in found["rows"]:
        row["shown"] = plan.assumptions.shown(row["need"]["difference"])
    shown: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return shown


def notes(plan: PowerPlan) -> tuple[str, ...]:
    """Return what the numbers assume and leave out, in plain words."""
    assumptions = plan.assumptions
    sd, effect = f"{assumptions.sd:.3g} of one annotator's contribution", "twice the SD needs four times the annotators"
    if assumptions.kind in JUDGED:
        judged = JUDGED[assumptions.kind]
        sd = f"{assumptions.components.annotator_sd:.3g} between annotators"
        effect = f"each {judged} varies by chance, too"
    lines = [
        f"SD {sd} is an assumption ({assumptions.source}): {effect}. Replace it with a pilot's (--sd).",
        _family(assumptions),
        PAIRED if assumptions.own_items is None else UNPAIRED,
        f"{100 * assumptions.exclusion_rate:g}% are assumed to be excluded at random; they are recruited and paid. "
        "Exclusions that depend on the answers can also shift the mean.",
    ]
    if assumptions.kind == "choices":
        lines.append(
            f"{100 * assumptions.ties:g}% of choices are assumed to be ties (--ties), each half a win. For the same "
            "share won, ties need fewer annotators."
        )
    if assumptions.kind == "spans":
        shape = "normal" if assumptions.own_items else "negative binomial"
        lines.append(
            f"Points are the weights of errors, summed up an output: {assumptions.errors:g} are assumed, mean of two "
            f"systems (--errors), and a {shape} distribution."
        )
    if assumptions.meets < 1:
        met = f"{100 * assumptions.meets:.3g}%"
        lines.append(f"A pair is judged by {met} of the annotators, as no annotator is dealt all pairs.")
    if drawn := [row.alone.replicates for row in plan.rows if row.alone]:
        lines.append(
            f"The check simulates {drawn[0]:,} studies with these answers and tests them as the report will; ± is its "
            'standard error. "Alone": only this pair differs; "all differ": every pair does. '
            "Pairs are simulated independently, which the correction does not need."
        )
    if plan.live:
        lines.append(
            f'"When decided": {plan.live[0].studies} simulated studies that end when each pair is decided, or given up '
            "as futile, beside the fixed number that finds the smallest difference as often. Reading time saved is "
            "not counted."
        )
    if assumptions.components.item_sd and assumptions.own_items is None:
        lines.append(_of_items(assumptions))
    if assumptions.kind == "likert":
        lines.append("A difference of averaged ratings need not be a preference, however many annotators give them.")
    if assumptions.kind != "spa" and assumptions.own_items is None:
        lines += _about_unit(plan)
    return tuple(lines)


def _of_items(assumptions: Assumptions) -> str:
    """Say for which items a test of annotators holds, and how many there are taken to be."""
    if assumptions.unit == "item":
        return "The test is about items and these annotators."
    about = "The test is about annotators and these items."
    if assumptions.even_hands is not None:
        return f"{about} Of {assumptions.pool:,} items, dealt evenly, what all annotators meet scatters none of them."
    return f"{about} Items are taken as infinitely many, so that each annotator meets others."


def _about_unit(plan: PowerPlan) -> list[str]:
    """Say what is tested over items, and for whom that holds."""
    assumptions = plan.assumptions
    if assumptions.unit == "item":
        return ['Tests are over items ([analysis] unit = "item") and hold for these annotators only.']
    if assumptions.unit == "auto":
        few = [row for row in plan.rows if (row.need.annotators or ENOUGH_ANNOTATORS) < ENOUGH_ANNOTATORS or row.few]
        if few or any(one.unit == "item" for one in plan.detectable):
            return [f"Fewer than {ENOUGH_ANNOTATORS} annotators are tested over items, for these annotators only."]
        return []
    needed = [row.need.annotators for row in plan.rows if row.need.annotators is not None]
    if assumptions.pool is None and needed and min(needed) * (1 - assumptions.absent) < ENOUGH_ANNOTATORS:
        return [
            f"Fewer than {ENOUGH_ANNOTATORS} annotators are tested over items, which this plan does not know: plan a "
            "study file, or recruit more."
        ]
    return []


def _family(assumptions: Assumptions) -> str:
    if assumptions.n_tests == 1:
        return f"One test at level {assumptions.fwer:g}."
    return (
        f"{assumptions.n_tests} tests share {RATES[assumptions.correction]} of {assumptions.fwer:g} "
        f"({CORRECTIONS[assumptions.correction]}). Annotators are counted at "
        f"{assumptions.fwer:g}/{assumptions.n_tests} = {assumptions.alpha:.3g}, the worst case, enough whatever "
        'the other pairs show; where others differ too, fewer are enough (down to "single test").'
    )


def print_plan(plan: PowerPlan, console: Console) -> None:
    """Print a plan for a reader."""
    from rich.markup import escape
    from rich.table import Table

    assumptions = plan.assumptions
    drawn = any(row.alone for row in plan.rows)
    if assumptions.unknown is not None:
        console.print(f"[bold]{NAMES[assumptions.kind]}[/bold]: {escape(assumptions.unknown)}.", soft_wrap=True)
        return
    console.print(f"[bold]{NAMES[assumptions.kind]}[/bold]: {escape(_design(assumptions))}", soft_wrap=True)
    table = Table(box=None, pad_edge=False)
    cost = [f"cost, {assumptions.currency}"] if assumptions.pay else []
    titles = ["to find", "power", "annotators", "reached", *cost, "single\ntest"]
    for title in titles + (["check:\nalone", "all\ndiffer"] if drawn else []):
        table.add_column(title, justify="right", header_style="dim", no_wrap=True)
    for row in plan.rows:
        table.add_row(*(escape(cell) for cell in _cells(row, assumptions, drawn)))
    console.print(table)
    for line in _sentences(plan):
        console.print(escape(line), soft_wrap=True)
    for note in notes(plan):
        console.print(f"  [dim]-[/dim] {escape(note)}", soft_wrap=True)


def _cells(row: NeedRow, assumptions: Assumptions, drawn: bool) -> list[str]:
    need = row.need
    cells = [
        assumptions.shown(need.difference),
        f"{100 * need.power:g}%",
        "none" if need.annotators is None else f"{need.annotators:,}",
        "" if need.reached is None else f"{100 * need.reached:.1f}%",
        *([f"{row.cost:,.2f}" if row.cost else ""] if assumptions.pay else []),
        "" if row.lone.annotators is None else f"{row.lone.annotators:,}",
    ]
    if drawn and row.alone and row.together:
        shares = (row.alone.power, row.together.power)
        cells += [f"{100 * share.value:.1f} ±{100 * share.standard_error:.1f}%" for share in shares]
    elif drawn:
        cells += ["not drawn", ""]
    return cells


def _design(assumptions: Assumptions) -> str:
    tests = f"{assumptions.n_tests} test{'' if assumptions.n_tests == 1 else 's'}"
    outputs = f"{assumptions.n_items} output{'' if assumptions.n_items == 1 else 's'} of each system"
    if assumptions.sessions > 1:
        outputs += f" in each of {assumptions.sessions} sessions"
    if assumptions.in_points:
        return f"{tests}, {outputs} rated by each annotator, SD {assumptions.sd:.3g} of the difference"
    if assumptions.kind in JUDGED:
        least, most = (end(times for times, _ in assumptions.judged) for end in (min, max))
        number = f"{most}" if least == most else f"{least} to {most}"
        judged = f"{number} {JUDGED[assumptions.kind]}{'' if most == 1 else 's'}"
        first = "of both systems by each annotator, SD {:.3g} of the share in which one comes first"
        won = "between both systems by each annotator, SD {:.3g} of the share that one wins"
        return f"{tests}, {judged} {(first if assumptions.kind == 'ranking' else won).format(assumptions.sd)}"
    asked = "both directions" if assumptions.directions == 2 else "one direction"
    return f"{tests}, after {outputs}, {asked}, SD {assumptions.sd:.3g} of the preference"


def _sentences(plan: PowerPlan) -> list[str]:
    assumptions = plan.assumptions
    lines = [f"{assumptions.shown(row.need.difference)}: {row.reason}." for row in plan.rows if row.reason]
    lines = list(dict.fromkeys(lines))
    for found in plan.detectable:
        cost = assumptions.cost(found.annotators)
        price = "" if cost is None else f" ({cost:,.2f} {assumptions.currency})"
        size = f"{assumptions.shown(found.difference or 0.0)} or more with power {100 * found.power:g}%"
        over, only = "", ""
        if found.unit == "item":
            over, only = f", {found.n:,} items (SD {found.sd:.3g})", ", for these annotators only"
        lines.append(f"{found.annotators:,} annotators{price}{over}: {found.reason or size}{only}.")
    lines += [_live_line(assumptions, cost) for cost in plan.live]
    if plan.beside is not None:
        lines += rater_lines(plan.beside, assumptions.shown, assumptions.currency)
    lines += [_few_line(assumptions, row) for row in plan.rows if row.few or row.by_annotator]
    for crossed in plan.elsewhere:
        what = crossed.reason or f"{assumptions.shown(crossed.difference or 0.0)} or more"
        what += "" if assumptions.components.item_sd else ", as items are taken not to differ (--item-sd)"
        lines.append(
            f"Whether other annotators, on other items, would find the same, power {100 * crossed.power:g}% with "
            f"{crossed.annotators:,} annotators: {what} (crossed test)."
        )
    for floor in plan.items_floor:
        what = floor.reason or f"{assumptions.shown(floor.difference or 0.0)} or more"
        lines.append(
            f"For items like these {floor.annotators:,} in general, however many annotators, "
            f"power {100 * floor.power:g}%: {what}."
        )
    return lines


def _few_line(assumptions: Assumptions, row: NeedRow) -> str:
    """Say what fewer than ten annotators find, or would find if they were tested as more are."""
    shown, power = assumptions.shown(row.need.difference), f"{100 * row.need.power:g}%"
    if row.by_annotator:
        return (
            f'{shown}, power {power}: {row.by_annotator} annotators are enough with [analysis] unit = "annotator"; by '
            f"default fewer than {ENOUGH_ANNOTATORS} are tested over items."
        )
    return f"{shown}, power {power}: {row.few} annotators find it over items, for these annotators only."


def _live_line(assumptions: Assumptions, cost: LiveCost) -> str:
    """Say what ending "when decided" costs beside a fixed number with the same simulated power."""
    who = {"all differ": "every pair differs", "unequal": "pairs differ", "one differs": "one pair differs"}[cost.truth]
    where = f"{who} by {_by(assumptions, cost)}"
    parts = [f"{cost.annotators:,.0f} annotators expected (at most {cost.most:,}) against {cost.fixed:,}"]
    saved = {"annotators": 1 - cost.annotators / cost.fixed}
    if cost.questions is not None and cost.fixed_questions:
        parts.append(f"{cost.questions:,.0f} questions on pairs against {cost.fixed_questions:,.0f}")
        saved["questions"] = 1 - cost.questions / cost.fixed_questions
    if cost.minutes is not None and cost.fixed_minutes:
        parts.append(f"{cost.minutes:,.0f} minutes against {cost.fixed_minutes:,.0f}")
        saved["minutes"] = 1 - cost.minutes / cost.fixed_minutes
    said = [f"{abs(100 * share):.0f}% {'fewer' if share > 0 else 'more'} {what}" for what, share in saved.items()]
    return (
        f'"When decided", where {where} (power {100 * cost.power:.0f}%): {"; ".join(parts)} of fixed size: '
        f"{', '.join(said)}."
    )


def _by(assumptions: Assumptions, cost: LiveCost) -> str:
    ends = sorted({cost.difference, cost.largest_difference})
    if assumptions.kind == "likert":
        return f"{' to '.join(f'{end:.3g}' for end in ends)} points"
    return f"{' to '.join(f'{100 * end:.3g}' for end in ends)} percentage points"


def curve_csv(plan: PowerPlan) -> str:
    """Return the table beside the figure: difference, annotators recruited, power."""
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(["elicitation", "difference", "shown", "annotators", "power"])
    for point in plan.curve:
        difference, power = f"{point.difference:.10g}", f"{point.power:.6f}"
        writer.writerow([plan.assumptions.kind, difference, point.shown, point.annotators, power])
    return lines.getvalue()


def curve_svg(plan: PowerPlan) -> str:
    """Return the power curves as SVG."""
    from analysis.figures.figures import Point, lines_plot

    kind = plan.assumptions.kind
    lines = {
        "spa": "preferred by {}",
        "likert": "a difference of {}",
        "spans": "a difference of {}",
        "ranking": "ranked higher by {}",
        "choices": "chosen in {}",
    }
    points = [Point(line=lines[kind].format(one.shown), x=one.annotators, y=one.power) for one in plan.curve]
    return lines_plot(
        points,
        x_title="annotators recruited",
        y_title="power",
        references=sorted({row.need.power for row in plan.rows}),
        alternative=f"Power of {NAMES[kind]} by annotators recruited; the table beside this figure holds its numbers.",
    )


def write_curves(plans: tuple[PowerPlan, ...], folder: Path) -> list[Path]:
    """Write ``power-KIND.svg`` and ``power-KIND.csv`` of each plan into a folder.

    Raises
    ------
    AnalysisError
        When the folder cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for plan in plans:
            for suffix, text in (("svg", curve_svg(plan)), ("csv", curve_csv(plan))):
                path = folder / f"power-{plan.assumptions.kind}.{suffix}"
                path.write_text(text, encoding="utf-8")
                written.append(path)
    except OSError as error:
        found = error.strerror or error
        raise AnalysisError(f"{folder}: expected a writable folder, got: {found}; choose another --out") from error
    return written


def affordable(budget: Decimal, pay: Decimal) -> int:
    """Return how many annotators a budget pays.

    >>> affordable(Decimal("100"), Decimal("3.00"))
    33
    """
    return math.floor(budget / pay)
