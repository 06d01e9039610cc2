"""How many annotators are needed, and what they cost, for the differences that matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st
import tomlkit

from analysis.planning.assumptions import Assumptions
from analysis.planning.plan import PowerPlan, make_plan
from analysis.planning.plan_text import NAMES, curve_csv, curve_svg, notes
from analysis.planning.ranked import share_components
from analysis.planning.study_design import study_assumptions
from analysis.planning.variance import Components
from streamlit_app import blinding, downloads, loading
from streamlit_app.rendering import plain, show_figure

MOST = 500  # annotators of the slider
POWERS = (0.8, 0.9)
JUDGED = {
    "spa": "Outputs read of each system",
    "likert": "Outputs rated of each system",
    "ranking": "Orders with both systems",
    "choices": "Choices between both systems",
}


def show() -> None:
    """Draw the page."""
    st.title("Plan")
    _, _, designs = study_assumptions(loading.options().path)
    kinds = [design.kind for design in designs]
    kind = st.segmented_control("Plan for", kinds, default=kinds[0], format_func=NAMES.__getitem__, required=True)
    design = next(design for design in designs if design.kind == kind)
    annotators, design = _choose(design)
    difference = _difference(design)
    found = _estimate(design, difference, annotators)
    _show_needs(found, annotators)
    show_figure(curve_svg(found), "Power by number of annotators recruited, in the worst case of the Holm correction.")
    study = loading.workspace().study
    downloads.offer("Power curves (CSV)", lambda: curve_csv(found), f"{study.id}-power-{kind}.csv", "text/csv")
    for note in notes(found):
        st.caption(plain(note))
    _export(annotators, design)


def _choose(design: Assumptions) -> tuple[int, Assumptions]:
    people = loading.workspace().study.people
    columns = st.columns(4)
    annotators = columns[0].slider("Annotators", 2, MOST, min(people.annotators, MOST))
    shares = design.kind in ("ranking", "choices")
    times = max(times for times, _ in design.judged) if shares else design.n_items
    n_items = columns[1].slider(JUDGED[design.kind], 1, max(50, times), times)
    excluded = columns[2].slider("Excluded (%)", 0, 60, round(100 * design.exclusion_rate))
    known, most = (design.components.annotator_sd, 0.49) if shares else (design.sd, design.largest)
    sd = columns[3].number_input("SD between annotators", 0.01, most, known, 0.01, format="%.2f")
    changed = replace(design, exclusion_rate=excluded / 100)
    if n_items != times:
        changed = replace(changed, judged=((n_items, 1.0),)) if shares else replace(changed, n_items=n_items)
    if abs(sd - known) >= 0.005:
        components = share_components(sd) if shares else Components(annotator_sd=sd)
        changed = replace(changed, components=components, source="set on this page")
    return annotators, changed


def _difference(design: Assumptions) -> float:
    if design.kind != "likert":
        return st.slider("Difference to find: preference for the better system (%)", 51, 90, 60) / 100 - 0.5
    return st.slider("Difference to find (points)", 0.05, min(2.0, design.largest - 0.05), 0.3, 0.05)


@st.cache_data(show_spinner=False, max_entries=50)
def _estimate(design: Assumptions, difference: float, annotators: int) -> PowerPlan:
    rng = np.random.default_rng(loading.workspace().study.seed)
    return make_plan(design, differences=[round(difference, 4)], powers=POWERS, annotators=annotators, rng=rng)


def _show_needs(found: PowerPlan, annotators: int) -> None:
    design = found.assumptions
    columns = st.columns(len(found.rows) + 2)
    for column, row in zip(columns, found.rows, strict=False):
        need = row.need.annotators
        column.metric(
            f"Annotators for {100 * row.need.power:.0f}% power", "not achievable" if need is None else f"{need:,}"
        )
    cost = design.cost(annotators)
    columns[-2].metric(f"Pay for {annotators:,}", "not set" if cost is None else f"{cost:,.2f} {design.currency}")
    smallest = found.detectable[0].difference if found.detectable else None
    columns[-1].metric(
        f"Smallest difference that {annotators:,} find with {100 * POWERS[0]:.0f}% power",
        "nothing" if smallest is None else design.shown(smallest),
    )


def with_plan(text: str, *, annotators: int, exposure: int | None) -> str:
    r"""Return a study file, every comment kept, with other annotators and, for SPA, outputs read of a system.

    >>> with_plan('id = "s"  # kept\n', annotators=40, exposure=None)
    'id = "s"  # kept\n\n[people]\nannotators = 40\n'
    """
    document = tomlkit.parse(text)
    document.setdefault("people", tomlkit.table())["annotators"] = annotators
    spa = document.get("spa")
    if exposure is not None and spa is not None and "exposure_study" not in spa:
        spa["exposure"] = exposure
    return tomlkit.dumps(document)


def _export(annotators: int, design: Assumptions) -> None:
    """Offer the study file, which names the systems."""
    if not blinding.may_show():
        return
    path = loading.options().path
    exposure = design.n_items if design.kind == "spa" else None
    text = with_plan(path.read_text(encoding="utf-8"), annotators=annotators, exposure=exposure)
    downloads.offer("Study file with these numbers", lambda: text, path.name, "application/toml")
    st.caption("An existing store keeps its assignments; for more annotators, further ones are drawn.")
