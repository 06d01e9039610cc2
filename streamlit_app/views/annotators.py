"""The people side by side, under pseudonyms: consistency, severity, speed, agreement and habits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any
from urllib.parse import quote

import polars as pl
import streamlit as st

from analysis.monitoring.annotator_profiles import AnnotatorProfile
from analysis.monitoring.short_names import short_names
from spa.responses.visits import PersonVisit
from spa.tables.formulas import without_formulas
from streamlit_app import downloads, loading
from streamlit_app.queue import address
from streamlit_app.rendering import plain

COLUMNS = {
    "annotator_id": (
        "Annotator",
        "beginning of the id, which is unknown outside this study; the CSV file has it whole",
    ),
    "group": ("Group", "people or simulated annotators"),
    "excluded": ("Excluded", "rule of the plan that excludes this annotator"),
    "signs": ("Signs", "signs of careless answering, which exclude nobody by themselves"),
    "answers": ("Answers", "usable answers"),
    "missing": ("Missing", "questions without a usable answer"),
    "minutes": ("Minutes", "from opening the form to the last answer"),
    "largest_sum": (
        "Largest sum",
        "largest P(x better) + P(y better) of a pair: 1 is consistent, 2 a full contradiction",
    ),
    "severity": ("Severity", "own mean score minus the others' for the same outputs; negative means severe"),
    "correlation": ("Agreement", "correlation of the scores with the mean scores of the others"),
    "distance": ("Distance", "mean absolute difference between own preferences and the others' mean"),
    "same_answer": ("Same answer", "share of the annotator's most frequent answer; 1 is straight-lining"),
    "first_column": (
        "First column",
        "mean score of outputs in the first column minus that of outputs in other columns",
    ),
    "left_share": ("First wins", "share of choices won by the output shown first; 0.5 means no preference for a side"),
    "outputs_seen": ("Outputs seen", "share of outputs scrolled to their end; empty where not measured"),
    "seconds_per_output": ("Seconds per output", "median time that an output was on screen"),
}
WHOLE = ("annotator_id", "group", "excluded", "signs", "answers", "missing")  # the others have decimals
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"]
DRAWN = {name: title for name, (title, _) in COLUMNS.items() if name not in WHOLE}


def show() -> None:
    """Draw the page."""
    st.title("Annotators")
    state = loading.state()
    found = loading.analysed(state)
    kinds = {row.group: row.annotator_kind for row in found.results.groups}
    people = [each for each in loading.profiles(state) if kinds.get(each.group) != "llm"]
    if not people:
        st.info("Nobody has submitted a form yet.")
        return
    frame = _frame(people, found.rules, found.signs)
    shown = frame.drop([name for name in frame.columns if frame[name].null_count() == frame.height])
    height = min(600, 38 * (frame.height + 1))
    names = short_names([each.annotator_id for each in people])
    blank = shown.with_columns(pl.col(pl.String).fill_null("")).with_columns(_linked(names))
    st.dataframe(blank, hide_index=True, column_config=_config(blank.columns, names), height=height)
    with st.expander("What the columns mean"):
        explained = [COLUMNS[name] for name in shown.columns]
        st.markdown("\n".join(f"- **{title}**: {plain(explanation)}" for title, explanation in explained))
    name = f"{loading.options().name}-annotators.csv"
    downloads.offer("Download as CSV", lambda: without_formulas(shown).write_csv(), name, "text/csv")
    _spread(shown)


def _frame(
    people: list[AnnotatorProfile], rules: dict[str, tuple[str, ...]], signs: dict[str, tuple[str, ...]]
) -> pl.DataFrame:
    rows = [asdict(each) for each in people]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        minutes=pl.col("seconds").cast(pl.Float64) / 60,
        excluded=_joined(people, rules),
        signs=_joined(people, signs),
    )
    return frame.select(*COLUMNS)


def _joined(people: list[AnnotatorProfile], said: dict[str, tuple[str, ...]]) -> pl.Series:
    """Return what is said of each, in one cell."""
    return pl.Series([", ".join(said.get(each.annotator_id, ())) or None for each in people], dtype=pl.String)


def _linked(names: Mapping[str, str]) -> pl.Series:
    """Return short names or, where there is a store, links to submissions; they end in whole ids, which are found."""
    if not loading.has_store():
        return pl.Series("annotator_id", list(names.values()))
    links = {visit.annotator_id: address(visit) for visit in sorted(loading.visits(), key=_ended)}
    return pl.Series("annotator_id", [f"{links.get(name, '')}#{quote(name)}" for name in names])


def _ended(visit: PersonVisit) -> bool:
    return visit.outcome is not None


def _config(columns: list[str], names: Mapping[str, str]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for name in columns:
        title, explanation = COLUMNS[name]
        if name == "annotator_id" and loading.has_store():
            length = min(len(short) for short in names.values())
            shown = f"#([0-9a-f]{{{length}}}(?=[0-9a-f]+$)|.+$)"
            config[name] = st.column_config.LinkColumn(title, help=f"{explanation}; opens the form", display_text=shown)
        elif name in WHOLE:
            config[name] = st.column_config.Column(title, help=explanation)
        else:
            config[name] = st.column_config.NumberColumn(title, help=explanation, format="%.2f")
    return config


def _spread(frame: pl.DataFrame) -> None:
    """Draw one measure of everybody, so that who stands apart is seen."""
    offered = [name for name in DRAWN if name in frame.columns]
    if not offered:
        return
    measure = st.selectbox("Show the distribution of", offered, format_func=DRAWN.__getitem__)
    drawn = frame.select("annotator_id", *(["excluded"] if "excluded" in frame.columns else []), measure)
    rows = [
        {"value": row[measure], "who": row["annotator_id"], "excluded": row.get("excluded") or "kept"}
        for row in drawn.to_dicts()
    ]
    dots = {
        "data": {"values": [row for row in rows if row["value"] is not None]},
        "transform": [{"calculate": "random()", "as": "jitter"}],
        "mark": {"type": "circle", "size": 70, "opacity": 0.65},
        "encoding": {
            "x": {"field": "value", "type": "quantitative", "title": DRAWN[measure], "scale": {"zero": False}},
            "yOffset": {"field": "jitter", "type": "quantitative"},
            "color": {"field": "excluded", "type": "nominal", "title": None, "scale": {"range": COLOURS}},
            "tooltip": [
                {"field": "who", "type": "nominal", "title": "annotator"},
                {"field": "value", "type": "quantitative", "format": ".2f"},
                {"field": "excluded", "type": "nominal"},
            ],
        },
    }
    alt = f"{DRAWN[measure]} of every annotator; the numbers are in the table above."
    st.vega_lite_chart({"layer": [dots], "height": 140}, alt=alt)
