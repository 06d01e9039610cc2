"""Outputs put in order: Plackett-Luce strengths, agreement, and what the place on the page does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from analysis.contribution import Shown
from analysis.orders.summaries import OrderPlace, OrderStrength, OrderSummary
from analysis.printing.cells import Field, number_column, tabulate, text_column
from analysis.printing.document import Block, Bullets, Fold, Paragraph, Section, Table
from analysis.printing.words import SPACE, count, interval, listed, number, p_value, plural, sentence
from analysis.strengths.contribution import BRADLEY_TERRY
from analysis.strengths.section import counts_alike, rank_interval

ABOUT = (
    "Annotators put outputs of one item in order, best first. The Plackett-Luce model takes an ordering as one choice "
    "after another: the best of all outputs, the best of those left, and so on. A system 1 point stronger than another "
    "is expected to stand before it in 73% of orderings. Every two outputs of an ordering also count as a choice "
    "(equal ranks as a tie), so that the tests and Bradley-Terry strengths of choices hold for them."
)

Strengths: TypeAlias = Sequence[OrderStrength]
MODELS = ("Plackett-Luce", "Bradley-Terry", "Thurstone")


def orders(
    summaries: Sequence[OrderSummary], strengths: Strengths, places: Sequence[OrderPlace], shown: Shown
) -> Section | None:
    """Report strengths, and for each group how far they can be relied on."""
    if not summaries:
        return None
    blocks: list[Block] = [
        Paragraph(text=ABOUT),
        _strengths(summaries, strengths, shown),
        Bullets(items=tuple(_reliance(row, strengths, shown) for row in summaries)),
    ]
    by_place = _places(places, shown)
    return Section(
        id="orders",
        title="How outputs were put in order",
        blocks=tuple(blocks),
        appendix=(Fold(summary="Mean rank by place on the page", blocks=(by_place,)),) if by_place.rows else (),
    )


def _pairwise(shown: Shown) -> dict[tuple[str, str, str], float | None]:
    return {
        (row.group, row.criterion, row.system): row.strength
        for row in shown.of(BRADLEY_TERRY)
        if row.source == "choices"
    }


def _note(row: OrderStrength) -> str:
    return "; ".join(part for part in (str(row.reason or ""), counts_alike(row.alike)) if part)


def _common_note(strengths: Strengths, group: str, criterion: str) -> str:
    """Return the note that all systems of a group and criterion have, to be said once."""
    found = {_note(row) for row in strengths if (row.group, row.criterion) == (group, criterion)}
    return found.pop() if len(found) == 1 else ""


def _strengths(summaries: Sequence[OrderSummary], strengths: Strengths, shown: Shown) -> Table:
    names, pairwise = shown.names, _pairwise(shown)
    common = {(row.group, row.criterion): _common_note(strengths, row.group, row.criterion) for row in summaries}
    fields: list[Field[OrderStrength]] = [
        text_column("System", lambda row: names.system(row.system)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Rank", lambda row: count(row.rank)),
        number_column("Rank interval", lambda row: rank_interval(row.rank_low, row.rank_high)),
        number_column("Strength", lambda row: number(row.strength), "Plackett-Luce, natural log, mean zero"),
        number_column(f"{shown.confidence} confidence interval", lambda row: interval(row.ci_low, row.ci_high)),
        number_column(
            "Bradley-Terry",
            lambda row: number(pairwise.get((row.group, row.criterion, row.system))),
            "strength from every two outputs of an ordering, a tie half a win for each",
        ),
        number_column(
            "Thurstone", lambda row: number(row.thurstone), "the same with a normal instead of a logistic model"
        ),
        number_column("Mean rank", lambda row: number(row.mean_rank), "tied outputs at the mean of their places"),
        number_column("Orderings", lambda row: count(row.n)),
        text_column("Note", lambda row: "" if common.get((row.group, row.criterion)) else _note(row)),
    ]
    made = sorted({row.interval for row in strengths if row.interval})
    notes = [f"Intervals: {', '.join(made)}."] if made else []
    return tabulate(
        "order_strengths",
        "Plackett-Luce strengths",
        fields,
        strengths,
        notes,
        constant=("Group", "Criterion"),
        csv="order_strengths",
    )


def _reliance(row: OrderSummary, strengths: Strengths, shown: Shown) -> str:
    """Say what one group's orders rest on: how many, ties, concordance, and the effect of the place."""
    names = shown.names
    group = names.group(row.group)
    parts = [
        f"{group if names.kind(row.group) == 'llm' else sentence(group)}, {names.criterion(row.criterion)}: "
        f"{plural(row.n_orderings, 'ordering')} by {plural(row.n_annotators, 'annotator')}."
    ]
    if row.n_partial:
        parts.append(
            f"{row.n_partial} end in a tied last place (as who names the best few), of whose systems they say nothing: "
            "Plackett-Luce counts the choices before it. Bradley-Terry and Thurstone count such a tie as half a win "
            "for each, which pulls strengths together, so that Plackett-Luce is shown first."
        )
    if row.n_tied > row.n_partial:
        parts.append(
            f"{row.n_tied - row.n_partial} have other ties, and count as the mean over the orders that these allow."
        )
    if row.n_left_out:
        parts.append(f"{row.n_left_out} allow more than 24 orders and are left out of the strengths.")
    if note := _common_note(strengths, row.group, row.criterion):
        parts.append(f"{sentence(note)}.")
    parts.append(_models(row, strengths, shown))
    if row.kendall_w is not None:
        parts.append(f"Kendall\u2019s W of the annotators\u2019 mean ranks is {number(row.kendall_w)}.")
    else:
        parts.append(f"No Kendall\u2019s W: {row.kendall_w_reason}.")
    if row.place_effect is None or row.place_p is None:
        parts.append(f"Effect of the place on the page not tested: {row.place_reason}.")
    else:
        text = p_value(row.place_p)
        p_words = f"p{SPACE}{text}" if text.startswith("<") else f"p{SPACE}={SPACE}{text}"
        parts.append(
            f"For each place further down the page an output falls by {number(row.place_effect)} ranks "
            f"({shown.confidence} confidence interval {interval(row.place_ci_low, row.place_ci_high)}, "
            f"{p_words})."
        )
    return " ".join(part for part in parts if part)


def _models(row: OrderSummary, strengths: Strengths, shown: Shown) -> str:
    """Say whether other models than Plackett-Luce order the systems alike."""
    names, pairwise = shown.names, _pairwise(shown)
    rows = [one for one in strengths if (one.group, one.criterion) == (row.group, row.criterion)]
    values = {
        one.system: (one.strength, pairwise.get((row.group, row.criterion, one.system)), one.thurstone) for one in rows
    }
    models: dict[str, list[str]] = {}  # by the order that they give
    for place, model in enumerate(MODELS):
        known = {system: value for system, own in values.items() if (value := own[place]) is not None}
        if known:
            order = " > ".join(names.system(system) for system in sorted(known, key=lambda system: -known[system]))
            models.setdefault(order, []).append(model)
    if len(models) > 1:
        return (
            f"The order depends on the model: {'; '.join(f'{listed(own)} {order}' for order, own in models.items())}."
        )
    return "".join(f"{listed(own)} order the systems alike." for own in models.values() if len(own) > 1)


def _places(rows: Sequence[OrderPlace], shown: Shown) -> Table:
    names = shown.names
    fields: list[Field[OrderPlace]] = [
        number_column("Place", lambda row: count(row.place)),
        text_column("Group", lambda row: names.group(row.group)),
        text_column("Criterion", lambda row: names.criterion(row.criterion)),
        number_column("Mean rank", lambda row: number(row.mean_rank)),
        number_column("Outputs", lambda row: count(row.n)),
    ]
    caption = "Mean rank by place on the page"
    return tabulate("order_places", caption, fields, rows, constant=("Group", "Criterion"), csv="order_places")
