"""What kind of file it is, and the lines of a text file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from spa.errors import TableError, unreadable
from spa.tables.encodings import bad_byte, nul_in_header
from spa.tables.packing import PACKINGS

PARQUET, WORKBOOK, ARROW = "a Parquet file", "a workbook or zip file", "an Arrow file"
KINDS = {  # how files begin that are not texts
    b"PAR1": PARQUET,
    b"ARROW1": ARROW,
    b"\xff\xff\xff\xff": ARROW,
    b"FEA1": "one of the first kind of Feather; write it anew (pyarrow.feather.write_feather)",
    b"PK\x03\x04": WORKBOOK,
    b"\xd0\xcf\x11\xe0": "a workbook of an old kind or with a password",
    **{packing.begins: packing.kind for packing in PACKINGS},
}
BINARY = {  # by what names end in; the others are texts
    ".parquet": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".xlsx": WORKBOOK,
    **{packing.suffix: packing.kind for packing in PACKINGS},
}
POINTER = b"version https://git-lfs.github.com/spec/"
BOM = b"\xef\xbb\xbf"


def check_table_file(path: Path) -> None:
    """Refuse what is no file, and a file that is of another kind than its name says.

    Raise TableError with what was expected and found.
    """
    try:
        if not path.is_file():
            if not path.exists():
                raise TableError(f"{path}: no such file; check its name")
            found = "a folder" if path.is_dir() else "a pipe or device"
            raise TableError(f"{path}: expected a file, got {found}; name a file with a table")
        with path.open("rb") as stream:
            start = stream.read(len(POINTER))
    except OSError as error:
        raise TableError(unreadable(path, error)) from error
    if start == POINTER:
        raise TableError(f"{path}: expected a table, got a pointer of Git LFS; fetch the file itself: git lfs pull")
    found = next((kind for signature, kind in KINDS.items() if start.startswith(signature)), "another kind of file")
    expected = BINARY.get(path.suffix.lower())
    if expected is not None:
        if found != expected:
            raise TableError(f"{path}: expected {expected}, got {found if start else 'an empty file'}")
    elif found != "another kind of file":
        raise TableError(f"{path}: expected text, got {found}; save the table as CSV, JSONL or Parquet")


def utf8_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text file with their numbers, from 1.

    Raise TableError where the file cannot be read, or a line is not UTF-8.
    """
    try:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, start=1):
                content = line.removeprefix(BOM) if number == 1 else line
                if number == 1 and b"\0" in content:
                    raise nul_in_header(path, number)
                try:
                    yield number, content.decode()
                except UnicodeDecodeError as error:
                    raise bad_byte(path) or TableError(f"{path}, line {number}: expected UTF-8") from error
    except OSError as error:
        raise TableError(unreadable(path, error)) from error
