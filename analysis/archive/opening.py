"""An archive from somebody else, opened with care: every name and size is looked at before a byte is written."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from analysis.archive.contents import folded_name, is_fit
from analysis.archive.crate import HIGHEST_RATIO, METADATA, SMALL
from spa.errors import AnalysisError, expected_got, shortened, unreadable

MOST_FILES = 50_000
MOST_BYTES = 4 << 30  # of all files together
LARGEST_METADATA = 64 << 20  # bytes
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
DO = "take the archive as spa bundle wrote it"
PART = 1 << 20


def extract_crate(path: Path, folder: Path) -> list[str]:
    """Check an archive and write its files to a new folder; return their names, without the metadata's.

    Raises
    ------
    AnalysisError
        If it is no archive of ``spa bundle``: a name leads out of the folder or stands twice, an entry is no plain
        file, it unpacks to far more than it is, has no metadata, or a file is not the one that these name. Nothing is
        written for what names and sizes tell.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = {entry.filename: entry for entry in _checked(path, archive.infolist())}
            listed = _listed(path, archive, entries)
            for name, entry in entries.items():
                _extract(path, archive, entry, folder / name, listed.get(name))
            return sorted(listed)
    except OSError as error:
        raise AnalysisError(unreadable(path, error)) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise AnalysisError(expected_got(str(path), "a zip archive", f"a broken one ({error})", DO)) from error


def _checked(path: Path, entries: list[zipfile.ZipInfo]) -> Iterator[zipfile.ZipInfo]:
    """Yield the files of an archive; raise AnalysisError before the first where one of them must not be written."""
    files = [entry for entry in entries if not (entry.filename.endswith("/") and not entry.file_size)]
    if len(entries) > MOST_FILES:
        raise _refused(path, f"at most {MOST_FILES:,} files", f"{len(entries):,}")
    for entry in entries:
        _check_entry(path, entry)
    total = sum(entry.file_size for entry in files)
    if total > MOST_BYTES:
        raise _refused(path, f"at most {MOST_BYTES:,} bytes unpacked", f"{total:,}")
    _check_names(path, [entry.filename for entry in files])
    yield from files


def _check_entry(path: Path, entry: zipfile.ZipInfo) -> None:
    name = entry.orig_filename
    shown = repr(shortened(name))
    if name != entry.filename or not is_fit(name.removesuffix("/")):
        raise _refused(path, "names of files within the archive, which every system can write", shown)
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR) or (kind == stat.S_IFDIR) > name.endswith("/"):
        raise _refused(path, "plain files", f"{shown}, a link or device")
    if entry.flag_bits & 1 or entry.compress_type not in METHODS:
        raise _refused(path, "files stored or deflated, without a password", shown)
    if entry.file_size > SMALL and entry.file_size > HIGHEST_RATIO * entry.compress_size:
        ratio = entry.file_size // max(entry.compress_size, 1)
        raise _refused(path, f"files that unpack to at most {HIGHEST_RATIO} times their size", f"{shown}, {ratio:,}")


def _check_names(path: Path, names: Iterable[str]) -> None:
    known: dict[str, str] = {}
    for name in names:
        if folded_name(name) in known:
            raise _refused(path, "each name once", f"{shortened(name)!r} twice")
        known[folded_name(name)] = name
    for name in known:
        places = name.split("/")
        if inside := next((place for n in range(1, len(places)) if (place := "/".join(places[:n])) in known), None):
            raise _refused(path, "files or folders", f"{shortened(inside)!r}, which is both")


def _listed(path: Path, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]) -> dict[str, str]:
    """Return the SHA-256 of every file that the metadata name: those that are there, and no others."""
    if METADATA not in entries:
        raise _refused(path, f"a research object with {METADATA}", "none")
    if entries[METADATA].file_size > LARGEST_METADATA:
        raise _refused(path, f"{METADATA} of at most {LARGEST_METADATA:,} bytes", f"{entries[METADATA].file_size:,}")
    try:
        found = dict(_files_in(json.loads(archive.read(METADATA))))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _refused(path, f"{METADATA} as spa bundle writes it", f"another ({shortened(error)})") from error
    there = entries.keys() - {METADATA}
    if absent := sorted(found.keys() - there):
        raise _refused(path, f"the file {shortened(absent[0])!r}, which its metadata name", "none")
    if more := sorted(there - found.keys()):
        raise _refused(path, "files that its metadata name", f"{shortened(more[0])!r}, too")
    return found


def _files_in(metadata: Any) -> Iterator[tuple[str, str]]:
    for entity in metadata["@graph"]:
        if entity["@type"] == "File":
            yield unquote(entity["@id"]), str(entity["sha256"])


def _extract(path: Path, archive: zipfile.ZipFile, entry: zipfile.ZipInfo, place: Path, expected: str | None) -> None:
    digest, size = hashlib.sha256(), 0
    place.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(entry) as stream, place.open("xb") as into:
        while part := stream.read(PART):
            size += len(part)
            if size > entry.file_size:
                raise _refused(path, f"{entry.file_size:,} bytes in {shortened(entry.filename)!r}", "more")
            digest.update(part)
            into.write(part)
    if expected is not None and digest.hexdigest() != expected:
        got = f"{digest.hexdigest()[:12]}: it was changed"
        raise _refused(path, f"{shortened(entry.filename)!r} with the SHA-256 {expected[:12]}", got)


def _refused(path: Path, expected: str, got: str) -> AnalysisError:
    return AnalysisError(expected_got(shortened(str(path), 120), expected, got, DO))
