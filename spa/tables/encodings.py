"""How a text file is encoded: by its byte order mark, as UTF-8, or as the options say."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from spa.errors import ArgumentProblem, TableError, shortened

MARKS = {  # the longer ones first
    codecs.BOM_UTF32_LE: ("utf-32", "UTF-32"),
    codecs.BOM_UTF32_BE: ("utf-32", "UTF-32"),
    codecs.BOM_UTF8: ("utf-8-sig", "UTF-8"),
    codecs.BOM_UTF16_LE: ("utf-16", "UTF-16"),
    codecs.BOM_UTF16_BE: ("utf-16", "UTF-16"),
}
USUAL = "cp1252"  # what Excel and Windows write in western Europe and America
PIECE = 1 << 20  # bytes at a time
NO_UTF8 = (b"\0", b"\x1b")  # bytes of other encodings that UTF-8 would let pass: of UTF-16, and of ISO 2022


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file in UTF-8, and what it was read as where that was something else."""

    path: Path
    encoding: str | None = None


@contextmanager
def in_utf8(path: Path, encoding: str | None) -> Iterator[TextFile]:
    """Yield the text of a file in UTF-8: the file itself, or a temporary one.

    Parameters
    ----------
    path : Path
        The file. A byte order mark says what it is.
    encoding : str, optional
        Of a file that has no such mark and is not UTF-8.

    Raises
    ------
    TableError
        When ``encoding`` is none, or the file cannot be read as that. Whether a file without a mark is UTF-8 is not
        looked at here unless ``encoding`` is given; :func:`bad_byte` says where it is not.
    """
    with path.open("rb") as stream:
        start = stream.read(4)
    found, name = next((known for mark, known in MARKS.items() if start.startswith(mark)), (None, None))
    if found is None and encoding is not None and not _is_utf8(path, known_encoding(encoding)):
        found, name = encoding, encoding
    if found is None or name is None or name == "UTF-8":
        yield TextFile(path)
        return
    with TemporaryDirectory(prefix="spa-decoded-") as folder:
        inside = Path(folder) / path.name
        _rewrite(path, found, inside)
        yield TextFile(inside, name)


def known_encoding(encoding: str) -> str:
    """Return an encoding of texts; raise TableError if there is none of that name."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError):
        raise TableError(
            ArgumentProblem(
                "encoding",
                in_python=f"={shortened(repr(encoding))}",
                in_command=f" {shortened(encoding)}",
                after=": expected an encoding such as cp1252, latin-1 or utf-16-le, got no known one",
            )
        ) from None
    return encoding


def _is_utf8(path: Path, encoding: str) -> bool:
    if codecs.lookup(encoding).name == "utf-8":
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with path.open("rb") as stream:
            while piece := stream.read(PIECE):
                decoder.decode(piece)
                if any(sign in piece for sign in NO_UTF8):
                    return False
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _rewrite(path: Path, encoding: str, inside: Path) -> None:
    decoder = codecs.getincrementaldecoder(encoding)()
    line = 1
    with path.open("rb") as stream, inside.open("wb") as whole:
        while True:
            piece = stream.read(PIECE)
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeError as error:
                before = error.object[: error.start] if isinstance(error, UnicodeDecodeError) else b""
                line += before.decode(encoding, errors="replace").count("\n")
                raise TableError(
                    f"{path}, line {line}: expected {encoding}, got bytes that are not; "
                    "name the encoding that the file has"
                ) from error
            line += text.count("\n")
            whole.write(text.encode("utf-8", errors="replace"))
            if not piece:
                return


def bad_byte(path: Path) -> TableError | None:
    """Return what to say of a file that is not UTF-8: its first byte that is none, and the line."""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return TableError(
                    _not_utf8(path, number, f"the byte 0x{line[error.start]:02x} that is not UTF-8", USUAL)
                )
    return None


def nul_in_header(path: Path, line: int) -> TableError:
    """Return what to say of a header with NUL bytes, as UTF-16 without a mark has."""
    with path.open("rb") as stream:
        start = stream.read(2)
    return TableError(_not_utf8(path, line, "a NUL byte", "utf-16-be" if start.startswith(b"\0") else "utf-16-le"))


def _not_utf8(path: Path, line: int, got: str, likely: str) -> ArgumentProblem:
    return ArgumentProblem(
        "encoding",
        before=f"{path}, line {line}: expected UTF-8, got {got}; save the file as UTF-8, or say what it is: ",
        in_python=f"={likely!r}",
        in_command=f" {likely}",
    )
