"""Which system is preferred, by whom, how surely, and where elicitations disagree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from decimal import Decimal
from html import escape
from typing import Any

import streamlit as st

from analysis.comparisons.choices import ChoiceTest
from analysis.comparisons.preferences import PreferenceTest
from analysis.figures.figures import pair_matrix
from analysis.monitoring.item_scores import ItemScore, item_scores
from analysis.preference_checks.filtering_section import bounds_compared
from analysis.printing.document import Section, legends
from analysis.printing.names import Names
from analysis.printing.words import number, p_value, percent
from analysis.report.orientation import oriented
from analysis.report.sections import shown_results
from analysis.report.side_by_side import neither_better, verdict_words
from analysis.statistics.record import Record
from spa.media import medium_of
from spa.records.outputs import Output
from streamlit_app import blinding, loading
from streamlit_app.page_sections import parts_of_systems
from streamlit_app.rendering import (
    plain,
    show_blocks,
    show_figure,
    show_material,
    show_sections,
    show_shown,
    shown_text,
    without_empty,
)
from streamlit_app.source_analysis import Analysed

MATRIX, BOUND, DISAGREE = "All pairs", "Exclusions", "Where they disagree"
ITEMS_SHOWN = 5


def show() -> None:
    """Draw the page."""
    st.title("Systems")
    state = loading.state()
    found = loading.analysed(state)
    if not blinding.may_show():
        return
    parts = parts_of_systems(found.results)
    offered = [*parts, *_own_parts(found)]
    part = st.segmented_control("Part", offered, default=offered[0], required=True, label_visibility="collapsed")
    if part in parts:
        if not show_sections(loading.sections(state, parts[part])):
            st.info("There are no answers of this kind.")
    elif part == MATRIX:
        _matrix(found)
    elif part == BOUND:
        _bound(found, state)
    else:
        _disagreements(found)


def _own_parts(found: Analysed) -> list[str]:
    """Return the parts in which somebody chooses what is shown."""
    results = found.results
    holds = {
        MATRIX: bool(results.preferences or results.choices.pairs),
        BOUND: bool(results.preferences and results.live is None),  # tests under other bounds hold in no live study
        DISAGREE: bool(results.disagreements),
    }
    return [name for name in holds if holds[name]]


def _matrix(found: Analysed) -> None:
    """Show every pair at once: the share of row over column."""
    names, results = found.names, shown_results(found.results)
    rows: dict[str, Sequence[PreferenceTest | ChoiceTest]] = {
        "Preferences": results.preferences,
        "Choices": results.choices.pairs,
    }
    offered = [title for title in rows if rows[title]]
    columns = st.columns(4)
    title = columns[0].selectbox("Question type", offered)
    own = rows[title]
    group = columns[1].selectbox("Group", _values(own, "group"), format_func=names.group)
    criterion = columns[2].selectbox("Criterion", _values(own, "criterion"), format_func=names.criterion)
    exposures = _values([row for row in own if row.criterion == criterion], "exposure")
    exposure = columns[3].selectbox("Exposure", exposures) if len(exposures) > 1 else exposures[0]
    chosen = {"group": group, "criterion": criterion, "exposure": exposure}
    shown = [row for row in own if all(getattr(row, key, None) == value for key, value in chosen.items())]
    svg = pair_matrix(
        [asdict(row) for row in shown],
        value="mean" if title == "Preferences" else "win_rate",
        systems=[row.id for row in results.study.systems] if results.study else (),
        system_names={system: names.system(system) for row in shown for system in (row.system_x, row.system_y)},
    )
    show_figure(svg)
    st.caption("Each cell: how often, or how likely, the row's system is better than the column's.")


def _values(rows: Sequence[Record], key: str) -> list[Any]:
    return list(dict.fromkeys(getattr(row, key, None) for row in rows))


def _bound(found: Analysed, state: str) -> None:
    """Show what excluding those who contradict themselves changes, for a bound of one's choice."""
    planned = found.results.settings.consistency_tau
    bound = "nobody is excluded" if planned is None else f"{planned:g}"
    st.write(
        f"Planned bound on P(x better) + P(y better): **{bound}**. "
        "The slider shows what another bound would give; it does not change the plan."
    )
    tau = st.slider("Bound", 1.0, 2.0, float(planned or 1.1), 0.01, format="%.2f")
    found_rows = tuple(loading.preference_tests_by_tau(state, (Decimal(f"{tau:.2f}"), None)))
    rows = oriented(replace(found.results, consistency_sweep=found_rows)).consistency_sweep
    if not rows:
        st.info("No pair was asked in both directions.")
        return
    names = found.names
    group = st.selectbox("Group", list(dict.fromkeys(row.group for row in rows)), format_func=names.group)
    compared = Section(id="bound", title="", blocks=bounds_compared([row for row in rows if row.group == group], names))
    show_blocks(compared.blocks, legends((compared,)))


def _disagreements(found: Analysed) -> None:
    """Show a pair on which two elicitations, or two groups, disagree, with the outputs themselves."""
    rows = found.results.disagreements
    names = found.names
    pairs = [f"{names.system(row.system_x)} and {names.system(row.system_y)}" for row in rows]
    titles = {number: f"{pairs[number]}: {names.criterion(row.criterion)}" for number, row in enumerate(rows)}
    chosen = rows[st.selectbox("Pair", list(titles), format_func=titles.__getitem__)]
    words = verdict_words(chosen, names, neither_better(found.results))
    verdicts = without_empty(
        [
            {
                "Question type": names.source(each.source),
                "Group": names.group(each.group),
                "Outputs of each system": None if each.exposure is None else str(each.exposure),
                "Verdict": words.get(each.verdict, "not tested"),
                "Adjusted p": p_value(each.p_adjusted),
            }
            for each in chosen.verdicts
        ]
    )
    st.dataframe(verdicts, hide_index=True)
    if loading.has_store():
        _outputs(chosen.system_x, chosen.system_y, chosen.criterion, found)


def _outputs(system_x: str, system_y: str, criterion: str, found: Analysed) -> None:
    """Show what both systems made of some items side by side, and what each group said of it."""
    outputs, names = loading.workspace().outputs, found.names
    said = item_scores(loading.answers(loading.state()).tables, system_x, system_y, criterion)
    st.caption("The answers shown with an output include annotators who are excluded from the verdicts above.")
    items = [item for item in outputs.items if item.item_id in said] or list(outputs.items)
    first = (
        int(st.number_input(f"First item to show (of {len(items):,})", 1, max(1, len(items)), 1, step=ITEMS_SHOWN)) - 1
    )
    for item in items[first : first + ITEMS_SHOWN]:
        st.markdown(f"**{plain(item.item_id)}**")
        if item.is_given:
            show_material(st, item)
        shown = list[tuple[Output, str, str]]()  # with its title, and what was said of the system's outputs
        for system in (system_x, system_y):
            samples = outputs.of(item.item_id, system)
            words = _said(said.get(item.item_id, {}).get(system, ()), names)
            if not samples:
                st.caption(plain(f"{names.system(system)}: no output for this item."))
            for output in samples:
                title = names.system(system) + f", sample {output.sample} of {len(samples)}" * (len(samples) > 1)
                shown.append((output, title, f"{words} (all samples)" if words and len(samples) > 1 else words))
        if not shown:
            continue
        if not medium_of(shown[0][0]).has_words:
            for column, (output, title, words) in zip(st.columns(len(shown)), shown, strict=True):
                show_material(column, output)
                column.caption(plain(f"{title}. {words}"))
            continue
        cells = "".join(
            f"<article><h4>{escape(title)}</h4><small>{escape(words)}</small>{shown_text(output)}</article>"
            for output, title, words in shown
        )
        show_shown(st, cells, kind="spa-outputs")


def _said(scores: Sequence[ItemScore], names: Names) -> str:
    parts = []
    for each in scores:
        words = f"rated {number(each.value)}" if each.source == "ratings" else f"chosen by {percent(each.value)}"
        parts.append(f"{names.group(each.group)}: {words} (n = {each.n})")
    return "; ".join(parts)
