"""The people side by side, under pseudonyms: consistency, severity, speed, agreement and habits."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import polars as pl
import streamlit as st

from analysis.monitoring.annotator_profiles import AnnotatorProfile
from spa.responses.table_files import without_formulas
from streamlit_app import loading
from streamlit_app.queue import address
from streamlit_app.rendering import plain

COLUMNS = {
    "annotator_id": ("Annotator", "a code that leads nowhere outside this study"),
    "group": ("Group", "people, or simulated annotators"),
    "excluded": ("Excluded", "by which rule"),
    "answers": ("Answers", "usable ones"),
    "missing": ("Missing", "questions without a usable answer"),
    "minutes": ("Minutes", "from taking the form to the last answer"),
    "largest_sum": ("Largest sum", "of P(x better) and P(y better) of one pair: 1 is coherent, 2 contradicts itself"),
    "severity": ("Severity", "mean score minus that of the others for the same outputs; negative is severe"),
    "correlation": ("Agreement", "correlation of the scores with the mean scores of the others"),
    "distance": ("Distance", "mean distance of the stated chances from those of the others"),
    "same_answer": ("Same answer", "share of answers that are the most frequent one: 1 is straight-lining"),
    "first_column": ("First column", "mean score of the first column minus that of the others"),
    "left_share": ("Left wins", "share of choices won by the output shown first; 0.5 is no habit"),
    "outputs_seen": ("Outputs seen", "share of outputs on screen to their end; empty where nothing was measured"),
    "seconds_per_output": ("Seconds per output", "median time that an output was on screen"),
}
WHOLE = ("annotator_id", "group", "excluded", "answers", "missing")  # the others have decimals
FORM = "form"  # column of links; not in the file to take away
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
        st.info("No person has handed in a form yet.")
        return
    frame = _frame(people, found.rules)
    shown = frame.drop([name for name in frame.columns if frame[name].null_count() == frame.height])
    height = min(600, 38 * (frame.height + 1))
    blank = shown.with_columns(pl.col(pl.String).fill_null(""))
    if loading.has_store():
        handed_in = {visit.annotator_id: address(visit) for visit in loading.visits() if visit.outcome is not None}
        blank.insert_column(1, pl.Series(FORM, [handed_in.get(each.annotator_id) for each in people], dtype=pl.String))
    st.dataframe(blank, hide_index=True, column_config=_config(blank.columns), height=height)
    with st.expander("What the columns say"):
        explained = [COLUMNS[name] for name in shown.columns]
        st.markdown("\n".join(f"- **{title}**: {plain(explanation)}" for title, explanation in explained))
    csv, name = without_formulas(shown).write_csv(), f"{loading.options().name}-annotators.csv"
    st.download_button("Download as CSV", csv, name, "text/csv", on_click="ignore")
    _spread(shown)


def _frame(people: list[AnnotatorProfile], rules: dict[str, tuple[str, ...]]) -> pl.DataFrame:
    rows = [asdict(each) for each in people]
    frame = pl.DataFrame(rows, infer_schema_length=None).with_columns(
        minutes=pl.col("seconds").cast(pl.Float64) / 60,
        excluded=pl.Series([", ".join(rules.get(each.annotator_id, ())) or None for each in people], dtype=pl.String),
    )
    return frame.select(*COLUMNS)


def _config(columns: list[str]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for name in columns:
        if name == FORM:
            config[name] = st.column_config.LinkColumn("Form", help="as this person saw it", display_text="open")
            continue
        title, explanation = COLUMNS[name]
        if name in WHOLE:
            config[name] = st.column_config.Column(title, help=explanation)
        else:
            config[name] = st.column_config.NumberColumn(title, help=explanation, format="%.2f")
    return config


def _spread(frame: pl.DataFrame) -> None:
    """Draw one measure of everybody, so that who stands apart is seen."""
    offered = [name for name in DRAWN if name in frame.columns]
    if not offered:
        return
    measure = st.selectbox("Show the spread of", offered, format_func=DRAWN.__getitem__)
    drawn = frame.select("annotator_id", "group", "excluded" if "excluded" in frame.columns else "group", measure)
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
    alt = f"{DRAWN[measure]} of every annotator; the table above holds the numbers."
    st.vega_lite_chart({"layer": [dots], "height": 140}, alt=alt)
