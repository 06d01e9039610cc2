"""The tables as a dataset folder: one configuration a table, as the Hugging Face hub and library read it."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl

from spa.files import written_whole
from spa.responses.tidy_tables import TABLES, Tables

CARD = "README.md"
ABOUT = {
    "preferences": "chances that one system is preferred to another, one row an answer",
    "ratings": "ratings of single outputs, one row an answer",
    "choices": "choices between two outputs, one row an answer",
    "identical_pairs": "ratings of outputs that equal their source, one row an answer",
    "annotators": "one row an annotator, under a pseudonym",
    "exclusions": "whom reviewers left out of the analysis, and why",
}


def write_dataset(tables: Tables, folder: Path, *, title: str, language: str) -> dict[Path, int]:
    """Write ``data/TABLE.parquet`` for each table that has rows, and the card that names them.

    Parameters
    ----------
    tables : Tables
        What :func:`spa.responses.export.export_tables` returned.
    folder : Path
        Made where it does not exist.
    title, language : str
        Of the study. The licence is left open: who publishes the answers chooses it.

    Returns
    -------
    dict of Path to int
        The files written and the rows that each holds.
    """
    frames: dict[str, pl.DataFrame] = {name: getattr(tables, name) for name in TABLES}
    filled = {name: frame for name, frame in frames.items() if not frame.is_empty()}
    written: dict[Path, int] = {}
    for name, frame in filled.items():
        path = folder / "data" / f"{name}.parquet"
        with written_whole(path) as temporary:
            frame.write_parquet(temporary)
        written[path] = frame.height
    with written_whole(folder / CARD) as temporary:
        temporary.write_text(_card(list(filled), title=title, language=language), encoding="utf-8")
    written[folder / CARD] = len(filled)
    return written


def _card(names: list[str], *, title: str, language: str) -> str:
    """Return the card; its head is YAML, in which JSON strings are strings too."""
    configurations = [
        line for name in names for line in (f"- config_name: {name}", f"  data_files: data/{name}.parquet")
    ]
    head = ["---", f"pretty_name: {json.dumps(title)}", f"language: [{json.dumps(language)}]"]
    head += ["configs:", *configurations, "---"]
    lines = [f"- `{name}`: {ABOUT[name]}" for name in names]
    plain = " ".join(title.split()).replace("<", "&lt;")
    return "\n".join([*head, "", f"# {plain}", "", "Human and LLM judgements collected with spa-eval.", "", *lines, ""])
