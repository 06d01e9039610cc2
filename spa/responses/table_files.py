"""Tables as files: written whole or not at all; CSV and JSON lines read as texts, mistakes named by their lines."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import polars as pl

from spa.errors import ResponseError, shortened
from spa.files import csv_mistake, json_object, unique_keys, write_text, written_whole
from spa.responses.tidy_tables import Tables

TableFormat = Literal["csv", "parquet", "jsonl"]
FORMULA = r"^'*[=+\-@\t\r]"  # a spreadsheet runs a cell that begins so; apostrophes, lest one of ours be mistaken
GUARDED = r"^'('*[=+\-@\t\r])"
PARQUET = "a Parquet file"
KINDS = {  # how files begin that are not texts
    b"PAR1": PARQUET,
    b"PK\x03\x04": "a workbook or zip file",
    b"\x1f\x8b": "a gzip file",
    b"\x28\xb5\x2f\xfd": "a zstd file",
}
SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
BOM = b"\xef\xbb\xbf"
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
    with written_whole(path) as temporary:
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


def without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before the texts that a spreadsheet would run as a formula; numbers are left alone.

    :func:`read_csv` takes it off again.
    """
    texts = pl.col(pl.String)
    return frame.with_columns(pl.when(texts.str.contains(FORMULA)).then("'" + texts).otherwise(texts).name.keep())


def without_formula(text: str) -> str:
    """Put an apostrophe before one text that a spreadsheet would run.

    >>> without_formula("=1+1"), without_formula("'=1+1"), without_formula("1+1")
    ("'=1+1", "''=1+1", '1+1')
    """
    return f"'{text}" if re.match(FORMULA, text) else text


def check_table_file(path: Path) -> None:
    """Refuse what is no file, and a file that is of another kind than its name says.

    Raise ResponseError with what was expected and found.
    """
    try:
        if not path.is_file():
            found = "a folder" if path.is_dir() else "a pipe or device" if path.exists() else "no such file"
            raise ResponseError(f"{path}: expected a file, got {found}; name a file with a table")
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise ResponseError(f"{path}: cannot be read: {error.strerror or error}") from error
    found = next((kind for signature, kind in KINDS.items() if start.startswith(signature)), "another kind of file")
    if path.suffix.lower() == ".parquet":
        if found != PARQUET:
            raise ResponseError(f"{path}: expected {PARQUET}, got {found if start else 'an empty file'}")
    elif found != "another kind of file":
        raise ResponseError(f"{path}: expected text, got {found}; save the table as CSV, JSONL or Parquet")


def utf8_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1.

    Raise ResponseError where the file cannot be read, or a line is not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                content = line.removeprefix(BOM) if number == 1 else line
                try:
                    yield number, content.decode()
                except UnicodeDecodeError as error:
                    raise ResponseError(
                        f"{path}, line {number}: expected UTF-8, got the byte 0x{content[error.start]:02x} that is "
                        "not UTF-8; save the file as UTF-8"
                    ) from error
    except OSError as error:
        raise ResponseError(f"{path}: cannot be read: {error.strerror or error}") from error


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON lines file with the numbers of their lines.

    Numbers are texts as they are written: ``1.0`` stays "1.0". Raise ResponseError where a line is no JSON object, has
    a key twice, or is not UTF-8.
    """
    check_table_file(path)
    decoder = json.JSONDecoder(
        object_pairs_hook=unique_keys, parse_int=str, parse_float=str, parse_constant=_refuse_constant
    )
    for number, line in utf8_lines(path):
        if not (text := line.strip(" \t\r\n")):
            continue
        place = f"{path}, line {number}"
        try:
            read = json_object(text, decoder)
            if "\\u" in text:
                json.dumps(read, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            raise ResponseError(f"{place}: expected UTF-8, got half of a surrogate pair") from error
        except ValueError as error:
            raise ResponseError(f"{place}: {error}") from error
        yield number, read


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"expected JSON, got {name}; write null where there is no number")


def read_csv(path: Path, *, coded: Container[str] = ()) -> pl.DataFrame:
    """Read a CSV file as texts, as they are written; empty cells are null.

    The apostrophe that :func:`without_formulas` put in front of a text is taken off. A blank line is a row of nulls.
    Columns named in ``coded`` are of polars' categorical type: four bytes a row. Raise ResponseError where the file is
    no CSV with commas, a header of different names, and as many values in each line.
    """
    (frame,) = read_csv_batches(path, coded=coded)
    return frame


def read_csv_batches(path: Path, *, rows: int | None = None, coded: Container[str] = ()) -> Iterator[pl.DataFrame]:
    """Yield a CSV file as :func:`read_csv` reads it, about ``rows`` rows at a time; without a row, one empty frame."""
    check_table_file(path)
    uneven_checked = False
    try:
        first = pl.read_csv(path, infer_schema=False, has_header=False, n_rows=1, glob=False)
        if not any(first.row(0)):
            _refuse_uneven(path)
        _check_header(path, ["" if name is None else name for name in first.row(0)])
        types = {name: pl.Categorical() for name in first.row(0) if name in coded}
        for frame in _csv_frames(path, types, rows):
            if not uneven_checked and _may_be_uneven(frame):
                _refuse_uneven(path)
                uneven_checked = True
            yield _unguarded(frame)
    except pl.exceptions.NoDataError as error:
        raise ResponseError(f"{path}: expected a header and one row an answer, got an empty file") from error
    except pl.exceptions.PolarsError as error:
        _refuse_uneven(path)
        found = shortened(str(error).partition("\n")[0], 160)
        raise ResponseError(f"{path}: expected CSV, got a mistake: {found}") from error
    except OSError as error:
        raise ResponseError(f"{path}: cannot be read: {error.strerror or error}") from error


def _csv_frames(path: Path, types: Mapping[str, pl.DataType], rows: int | None) -> Iterator[pl.DataFrame]:
    if rows is None:
        yield pl.read_csv(path, infer_schema=False, schema_overrides=types, glob=False)
        return
    lazy = pl.scan_csv(path, infer_schema=False, schema_overrides=types, glob=False)
    batches = lazy.collect_batches(chunk_size=rows, maintain_order=True)
    found = False
    for frame in batches:
        if frame.height:
            found = True
            yield frame
    if not found:
        yield lazy.collect()


def _may_be_uneven(frame: pl.DataFrame) -> bool:
    """Return whether a line may be too short, which polars fills with nulls."""
    last = pl.col(frame.columns[-1])
    return frame.filter(last.is_null() & pl.any_horizontal(pl.all().is_not_null())).height > 0


def _unguarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Take off the apostrophes of :func:`without_formulas`."""
    guarded = [column for column in frame.columns if _texts(frame[column]).str.starts_with("'").any()]
    return frame.with_columns(
        pl.col(name).cast(pl.String).str.replace(GUARDED, "$1").cast(frame.schema[name]) for name in guarded
    )


def _texts(column: pl.Series) -> pl.Series:
    return column.unique(maintain_order=True).cast(pl.String) if column.dtype == pl.Categorical else column


def _check_header(path: Path, header: list[str]) -> None:
    if any("\0" in name for name in header):
        raise ResponseError(f"{path}, line 1: expected UTF-8, got a NUL byte; save the file as UTF-8")
    if any("\r" in name for name in header):
        raise ResponseError(f"{path}: expected lines that end in LF, got CR only; save the file with LF or CRLF")
    if len(header) == 1:
        _refuse_separator(path, header[0])
    doubled = sorted(name for name, times in Counter(header).items() if name and times > 1)
    if doubled:
        raise ResponseError(
            f"{path}: column {shortened(', '.join(doubled))} stands in the header twice; remove or rename one"
        )


def _refuse_separator(path: Path, header: str) -> None:
    found = next((name for sign, name in SEPARATORS.items() if sign in header), None)
    if found is not None:
        raise ResponseError(
            f"{path}: columns must be separated by commas, this file has {found}: {shortened(repr(header))}; "
            "save it again as comma-separated"
        )


def _refuse_uneven(path: Path) -> None:
    """Name the first line that has other values than the header, or a quote that is out of place."""
    for number, line in utf8_lines(path):
        if number == 1 and "," not in line:
            _refuse_separator(path, line.strip())
    with path.open(encoding="utf-8-sig", newline="") as stream:
        mistake = csv_mistake(stream)
    if mistake is not None:
        raise ResponseError(f"{path}, {mistake}")
