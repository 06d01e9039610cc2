"""A dataset folder of the Hugging Face hub: Parquet files and a card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from spa.exporters.export_format import ExportedFiles, ExportFormat, StudyExport
from spa.files import write_text
from spa.responses.table_files import table_words, write_table
from spa.responses.tidy_tables import answer_tables

CARD = "README.md"
TAGS = ("human-evaluation", "preference-elicitation")
SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M")  # those of the hub


def _write(study: StudyExport, folder: Path) -> ExportedFiles:
    """Write ``data/TABLE.parquet`` for each table that has rows, and the card.

    The table of answers with the most rows is the one that is loaded when none is named.
    """
    filled = {name: table for name, table in study.tables.files.items() if not table.is_empty()}
    rows: dict[Path, int | None] = {}
    for name, frame in filled.items():
        path = folder / "data" / f"{name}.parquet"
        write_table(frame, path, format="parquet")
        rows[path] = frame.height
    sizes = {name: frame.height for name, frame in filled.items()}
    write_text(folder / CARD, _card(sizes, title=study.title, language=study.language, licence=study.licence))
    return ExportedFiles(rows={**rows, folder / CARD: None})


def _card(sizes: Mapping[str, int], *, title: str, language: str, licence: str) -> str:
    """Return the card; its head is YAML, in which JSON strings are strings too."""
    first = max(sizes, key=lambda name: (name in answer_tables(), sizes[name]), default=None)
    configurations = []
    for name in sizes:
        configurations += [f"- config_name: {name}", f"  data_files: data/{name}.parquet"]
        configurations += ["  default: true"] if name == first else []
    size = SIZES[min(len(SIZES) - 1, max(0, len(str(max(sizes.values(), default=0))) - 3))]
    head = ["---", f"pretty_name: {json.dumps(title)}", f"language: [{json.dumps(language)}]"]
    head += [f"license: {json.dumps(licence)}", f"size_categories: [{json.dumps(size)}]", f"tags: {json.dumps(TAGS)}"]
    head += ["configs:", *configurations, "---"]
    about = table_words()
    lines = [f"- `{name}`: {about[name]}" for name in sizes]
    plain = " ".join(title.split()).replace("<", "&lt;")
    return "\n".join([*head, "", f"# {plain}", "", "Human and LLM judgements collected with spa-eval.", "", *lines, ""])


FORMAT = ExportFormat(key="huggingface", holds=None, write=_write)
