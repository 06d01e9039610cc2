"""The same outputs in the shapes in which people keep them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

SYSTEMS = ("alpha-1", "beta 2", "gamma/3")
WORDS = "river stone light house garden people morning evening music winter".split()
PROMPTS = {f"q{n}": f"Write a line about {WORDS[n]} and {WORDS[n - 1]}." for n in range(8)}
TEXTS = {
    (item, system): f"{system[0].upper()} sings of {WORDS[n]}, and then of {WORDS[(n + k) % 10]}, at length {n}."
    for n, item in enumerate(PROMPTS)
    for k, system in enumerate(SYSTEMS)
}
Rows = Sequence[Mapping[str, object]]


def long_rows() -> list[dict[str, object]]:
    """Return a row an output, with figures that are no outputs."""
    return [
        {"id": item, "prompt": PROMPTS[item], "model": system, "response": text, "latency": 0.5 + n, "tokens": 80}
        for n, ((item, system), text) in enumerate(TEXTS.items())
    ]


def wide_rows() -> list[dict[str, object]]:
    """Return a row an item, with a column of pandas, a category and a reference."""
    return [
        {"Unnamed: 0": n, "prompt": prompt, **{system: TEXTS[item, system] for system in SYSTEMS}}
        | {"category": ("prose", "verse")[n % 2], "reference": f"A person sings of {WORDS[n]} as well."}
        for n, (item, prompt) in enumerate(PROMPTS.items())
    ]


def chat_rows() -> list[dict[str, object]]:
    """Return answers as an endpoint gives them, beside what was asked."""
    return [
        {
            "id": f"chatcmpl-{n}",
            "model": system,
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": PROMPTS[item]}],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"total_tokens": 90 + n},
        }
        for n, ((item, system), text) in enumerate(TEXTS.items())
    ]


def write_csv(path: Path, rows: Rows) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_lines(path: Path, rows: Rows) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")
    return path


def write_parquet(path: Path, rows: Rows) -> Path:
    pl.DataFrame([dict(row) for row in rows]).write_parquet(path)
    return path


def write_sheet(path: Path, rows: Rows) -> Path:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    sheet.append(list(rows[0]))
    for row in rows:
        sheet.append(list(row.values()))
    book.save(path)
    return path


def write_folder(path: Path) -> Path:
    """Write a text file for each system and item."""
    for (item, system), text in TEXTS.items():
        file = path / system.replace("/", "-") / f"{item}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return path


def write_files(path: Path) -> list[Path]:
    """Write one file for each system."""
    return [
        write_lines(
            path / f"{system.replace('/', '-')}.jsonl",
            [{"instruction": prompt, "output": TEXTS[item, system]} for item, prompt in PROMPTS.items()],
        )
        for system in SYSTEMS
    ]


SHAPES: dict[str, Callable[[Path], list[Path]]] = {
    "long CSV": lambda folder: [write_csv(folder / "long.csv", long_rows())],
    "wide CSV": lambda folder: [write_csv(folder / "wide.csv", wide_rows())],
    "chat": lambda folder: [write_lines(folder / "chat.jsonl", chat_rows())],
    "folder": lambda folder: [write_folder(folder / "texts")],
    "Parquet": lambda folder: [write_parquet(folder / "long.parquet", long_rows())],
    "Excel": lambda folder: [write_sheet(folder / "long.xlsx", long_rows())],
    "a file a system": write_files,
}
