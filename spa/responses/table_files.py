"""Tables as files, written whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import polars as pl

from spa.files import write_text, written_whole
from spa.responses.tidy_tables import Tables
from spa.tables.formulas import without_formulas

TableFormat = Literal["csv", "parquet", "jsonl"]
CARD = "README.md"
ABOUT = {
    "preferences": "chances that one system is preferred to another, one row an answer",
    "ratings": "ratings of single outputs, one row an answer",
    "choices": "choices between two outputs, one row an answer",
    "orders": "outputs put in order, best first, one row an output",
    "identical_pairs": "ratings of outputs that equal their source, one row an answer",
    "annotators": "one row an annotator, under a pseudonym",
    "exclusions": "whom reviewers left out of the analysis, and why",
    "decisions": "what two reviewers decided, who and when",
    "reading": "how long each output was on screen, one row an output on a page",
}


def write_tables(tables: Tables, folder: Path, *, format: TableFormat = "csv") -> list[Path]:
    """Write each table to a file of its own, whole or not at all, and return the paths."""
    paths = []
    for name, table in tables.files.items():
        paths.append(folder / f"{name}.{format}")
        write_table(table, paths[-1], format=format)
    return paths


def write_table(frame: pl.DataFrame, path: Path, *, format: TableFormat) -> None:
    """Write one table, whole or not at all; texts of a CSV that a spreadsheet would run get an apostrophe in front."""
    with written_whole(path, private=True) as temporary:
        if format == "csv":
            without_formulas(frame).write_csv(temporary)
        elif format == "parquet":
            frame.write_parquet(temporary)
        else:
            frame.write_ndjson(temporary)


def write_dataset(tables: Tables, folder: Path, *, title: str, language: str) -> dict[Path, int]:
    """Write ``data/TABLE.parquet`` for each table that has rows, and a card, as the Hugging Face hub reads them.

    The card names the study by its ``title`` and ``language`` and leaves the licence open, which whoever publishes the
    answers chooses. Return the files written and the rows that each holds.
    """
    filled = {name: table for name, table in tables.files.items() if not table.is_empty()}
    written: dict[Path, int] = {}
    for name, frame in filled.items():
        path = folder / "data" / f"{name}.parquet"
        write_table(frame, path, format="parquet")
        written[path] = frame.height
    write_text(folder / CARD, _card(list(filled), title=title, language=language))
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
