"""Files to take away; no cell of a CSV is run as a formula by a spreadsheet."""

from __future__ import annotations

import polars as pl
import streamlit as st

from spa.responses.table_files import without_formulas


def csv_button(label: str, frame: pl.DataFrame, name: str) -> None:
    """Offer a table as CSV, its texts that begin like a formula with an apostrophe in front."""
    st.download_button(label, without_formulas(frame).write_csv(), name, "text/csv", on_click="ignore")
