"""What raters and people wrote: a map on which a point opens its text and output, keywords, and reviewed errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import streamlit as st

from analysis.explanations.separation import METHOD
from analysis.figures.drawing import COLOURS
from analysis.figures.plain_text import shown_name
from analysis.results.words import Names, number
from streamlit_app import loading
from streamlit_app.rendering import plain, show_counts, show_sections

if TYPE_CHECKING:
    from analysis.explanations.exploration import Exploration
    from analysis.explanations.texts import ExplainedText

MAP, KEYWORDS, ERRORS = "Map", "Keywords", "Errors found"
PICK = "picked"  # the name of the selection in the chart
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
STARTS = 60  # characters of a text in the list
EVERYBODY = "everybody"


def show() -> None:
    """Draw the page."""
    st.title("Explanations")
    state = loading.state()
    names, errors = loading.analysed(state).names, loading.errors_reviewed(state)
    parts = [MAP, KEYWORDS, *([ERRORS] if errors else [])]
    part = st.segmented_control("Part", parts, default=MAP, required=True, label_visibility="collapsed")
    if part == ERRORS and errors:
        show_sections({errors.id: errors})
        return
    if not loading.is_explored(state):
        _wait(state)
        return
    (_map if part == MAP else _keywords)(loading.exploration(state), names)


@st.fragment(run_every=2)
def _wait(state: str) -> None:
    if loading.is_explored(state):
        st.rerun()
    st.info("Reading what was written\N{HORIZONTAL ELLIPSIS}", icon="spinner")


def _map(found: Exploration, names: Names) -> None:
    groups = list(dict.fromkeys(one.group for one in found.texts))
    chosen = EVERYBODY
    if len(groups) > 1:
        chosen = st.selectbox(
            "Written by", [EVERYBODY, *groups], format_func=lambda one: one if one == EVERYBODY else names.group(one)
        )
    places = [place for place, one in enumerate(found.texts) if chosen in (EVERYBODY, one.group)]
    left, right = st.columns([3, 2])
    with left:
        picked = _chart(found, places, names)
    with right:
        lines = {at: f"{names.criterion(found.texts[at].criterion)}: {found.texts[at].text[:STARTS]}" for at in places}
        invitation = "Choose a point or a text"
        listed = st.selectbox("Text", places, index=None, placeholder=invitation, format_func=lines.__getitem__)
        place = listed if picked is None else picked
        if place is not None:
            _open(found.texts[place], names)
    st.caption(plain(_how(found)))
    for row in found.separations:
        if chosen in (EVERYBODY, row.group):
            st.caption(plain(f"{names.group(row.group)}: {row.words()}."))


def _how(found: Exploration) -> str:
    shown = len(found.texts)
    some = f" {shown:,} of {found.n_texts:,} texts, drawn at random." if found.n_texts > shown else ""
    return (
        f"Texts that lie close are worded alike: {found.projection} of {found.embedding}.{some} Distances on a map "
        f"mislead. {METHOD}"
    )


def _chart(found: Exploration, places: Sequence[int], names: Names) -> int | None:
    """Draw the map; return the text whose point was picked."""
    rows = [
        {
            "point": place,
            "x": float(found.points[place, 0]),
            "y": float(found.points[place, 1]),
            "criterion": shown_name(names.criterion(found.texts[place].criterion)),
            "item": shown_name(found.texts[place].item_id or ""),
        }
        for place in places
    ]
    criteria = list(dict.fromkeys(row["criterion"] for row in rows))
    scale = {
        "domain": criteria,
        "range": [COLOURS[number % len(COLOURS)] for number in range(len(criteria))],
    }
    shapes = {"domain": criteria, "range": [SHAPES[number % len(SHAPES)] for number in range(len(criteria))]}
    legend = {"orient": "bottom", "columns": 2, "title": None}
    by = {"field": "criterion", "type": "nominal", "legend": legend}
    across: dict[str, Any] = {"type": "quantitative", "axis": None, "scale": {"zero": False}}
    spec = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 70},
        "params": [{"name": PICK, "select": {"type": "point", "fields": ["point"]}}],
        "encoding": {
            "x": {"field": "x", **across},
            "y": {"field": "y", **across},
            "color": {**by, "scale": scale},
            "shape": {**by, "scale": shapes},
            "opacity": {"condition": {"param": PICK, "value": 0.9}, "value": 0.25},
            "tooltip": [{"field": name, "type": "nominal"} for name in ("criterion", "item")],
        },
        "height": 460,
        "usermeta": {"embedOptions": {"renderer": "svg"}},
    }
    told = f"A map of {len(rows):,} texts by criterion; the list beside it opens each of them."
    event: Any = st.vega_lite_chart(spec, on_select="rerun", selection_mode=PICK, alt=told)
    picked: list[Mapping[str, Any]] = event["selection"].get(PICK) or []
    return int(picked[0]["point"]) if picked and picked[0]["point"] in places else None


def _open(one: ExplainedText, names: Names) -> None:
    """Show a text beside the output that it speaks of."""
    systems = [names.system(system) for system in (one.system, one.system_y) if system is not None]
    about = [names.criterion(one.criterion), " over ".join(systems), one.item_id or ""]
    answer = "" if one.value is None else f": {number(one.value)}"
    st.markdown(f"**{plain(', '.join(filter(None, about)))}**{plain(answer)}")
    st.caption(plain(f"{names.group(one.group)}, {one.annotator_id}"))
    _quote(one.text)
    if not loading.has_store() or one.item_id is None:
        return
    outputs = loading.workspace().outputs
    for system, sample in ((one.system, one.sample), (one.system_y, one.sample_y)):
        samples = () if system is None else outputs.of(one.item_id, system)
        output = samples[int(sample or 1) - 1] if samples else None
        if output is None:
            continue
        st.markdown(f"**{plain(names.system(system))}**")
        if output.image is not None:
            st.image(str(output.image))
        else:
            _quote(output.text or "")


def _quote(text: str) -> None:
    parts = "".join(f'<p dir="auto">{escape(part)}</p>' for part in text.split("\n") if part.strip())
    st.html(f'<div class="spa-report">{parts}</div>')


def _keywords(found: Exploration, names: Names) -> None:
    groups = list(dict.fromkeys(row.group for row in found.keywords))
    if not groups:
        st.info("These texts have no keywords.")
        return
    group = groups[0] if len(groups) == 1 else st.selectbox("Written by", groups, format_func=names.group)
    table: dict[int, dict[str, object]] = {}
    criteria = list(dict.fromkeys(row.criterion for row in found.keywords if row.group == group))
    for row in found.keywords:
        if row.group == group:
            empty: dict[str, object] = {"Rank": row.rank, **{names.criterion(one): None for one in criteria}}
            table.setdefault(row.rank, empty)[names.criterion(row.criterion)] = f"{row.keyword} ({row.n_texts:,})"
    show_counts([*table.values()])
    st.caption(plain(f"In brackets, how many texts hold it. {found.keyword_note()}"))
