"""What stands in a cell as something to show: taken by its medium, its files found, looked at and copied.

Neutral copies are made once, and kept beside the study by the hash of what they are made of.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from spa.errors import ResponseError
from spa.files import written_whole
from spa.media import medium_of
from spa.media.captions import CAPTIONS, captions_of
from spa.media.medium import Medium, MediumFiles, NeutralCopy
from spa.records.clean_text import cleaned
from spa.records.materials import Material, ShownFile
from spa.records.problems import quote
from spa.study.output_files import OutputFileRow
from spa.waiting import SHOWN

FOLDER = ".spa-copies"  # in that of the study
RULE = 1  # how copies are made: another one where that changes what is seen


class NeutralFile(NamedTuple):
    """What people and models are shown in the place of a file, and what is said of that."""

    path: Path
    marks: tuple[str, ...]
    seconds: float | None = None
    loudness: float | None = None


class NeutralCopies:
    """The copies of one study. Where its folder cannot be written to they are kept elsewhere until the process ends."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._found = _names_in(self._folder)
        self._refused: dict[str, str] = {}

    def of(self, file: Path, files: MediumFiles) -> NeutralFile:
        """Return the copy of a file, made if there is none; itself where its medium makes no copies.

        Raise ValueError, with what is wrong and what to do, if the file cannot be shown.
        """
        if files.neutral is None:
            return NeutralFile(file, ())
        key = f"{_digest(file)}-{RULE}"
        if key in self._refused:
            raise ValueError(self._refused[key])
        if key not in self._found:
            try:
                copy = files.neutral(file.read_bytes())
            except ValueError as error:
                self._refused[key] = str(error)
                raise
            self._keep(key, f"{key}{_said(copy)}{copy.suffix}", copy.content)
        path = self._found[key]
        marks, *measures = path.stem.removeprefix(key).split("_")
        found = {name: float(value) for name, _, value in (one.partition("=") for one in measures)}
        return NeutralFile(path, tuple(marks.split("-")[1:]), **found)

    def make(self, wanted: Iterable[Path], files: MediumFiles) -> None:
        """Make the copies of several files, as many at once as there are processors; what is wrong is said later."""
        with SHOWN.get()() as told, ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as threads:
            copies = [threads.submit(self.of, file, files) for file in dict.fromkeys(wanted)]
            told(f"copying clips: 0 of {len(copies):,}")
            for done, made in enumerate(as_completed(copies), start=1):
                with suppress(ValueError, OSError):
                    made.result()
                told(f"copying clips: {done:,} of {len(copies):,}")

    def _keep(self, key: str, name: str, content: bytes) -> None:
        path = self._folder / name
        try:
            _write(path, content)
        except (ResponseError, OSError):
            self._folder = _folder_for_now()
            path = self._folder / name
            _write(path, content)
        self._found[key] = path


class MaterialReader:
    """Reads the cells of one study. ``problems`` are of cells, ``unshown`` of files that are broken, each said once.

    ``absent`` are pictures that outputs name, which are not in the study's folder: models make them up.
    """

    def __init__(self, folder: Path | None) -> None:
        self.problems: list[str] = []
        self.unshown: dict[Path, str] = {}
        self.absent: list[str] = []
        self._folder = folder
        self._copies: NeutralCopies | None = None

    def read(self, medium: Medium, cell: str, row: OutputFileRow, *, given: bool = True) -> Material:
        """Return what is shown of a cell; what is wrong with it becomes a problem.

        What is ``given`` names files that are there; what a system made may name others, which are not shown.
        """
        text = self._taken(medium, cleaned(cell), row)
        if medium.files is None:
            return Material(medium=medium.key, text=text, within=tuple(self._within(medium, text, row, given=given)))
        if not text:
            return Material(medium=medium.key, text=None)
        file = row.file.parent / text
        shown = self._file(medium, text, file, row)
        if shown is None:
            return Material(medium=medium.key, text=None, file=file)
        captions = captions_of(file) if medium.files.streamed else None
        return Material(
            medium=medium.key,
            text=None,
            file=file,
            copy=shown.path,
            marks=shown.marks,
            seconds=shown.seconds,
            loudness=shown.loudness,
            captions=captions,
            captions_copy=None if captions is None else self._captions(captions, row),
        )

    def prepare(self, medium: Medium, cells: Iterable[tuple[str, OutputFileRow]]) -> None:
        """Make the copies of long files, several at once, before their cells are read one by one."""
        files = medium.files
        if files is None or not files.streamed:
            return
        named = [(text, row.file.parent / text, row) for cell, row in cells if (text := cleaned(cell)).strip()]
        fit = [file for name, file, row in named if not any(self._unfit(medium, name, file, row))]
        if fit:
            self._copies = self._copies or NeutralCopies(self._folder or named[0][2].file.parent)
            self._copies.make(fit, files)

    def _taken(self, medium: Medium, text: str, row: OutputFileRow) -> str:
        """Return what a medium takes of a cell; add a problem where it takes nothing of it."""
        if not text.strip():
            return text
        try:
            return medium.takes(text)
        except ValueError as error:
            self.problems.append(f"{row.place}: {error}; correct it or remove the item")
            return text

    def _within(self, medium: Medium, text: str, row: OutputFileRow, *, given: bool) -> Iterator[ShownFile]:
        """Yield the files that a text names, each once."""
        if medium.holds is None:
            return
        held = medium_of(medium.holds)
        for name, path in dict(medium.names_within(text)).items():
            file = row.file.parent / path
            if not given and ("\0" in path or not self._inside(path, file, row) or not file.exists()):
                self.absent.append(f"{row.place}: {quote(path)}")
                continue
            shown = self._file(held, path, file, row)
            if shown is not None:
                yield ShownFile(
                    name=name,
                    medium=held.key,
                    file=file,
                    copy=shown.path,
                    marks=shown.marks,
                    seconds=shown.seconds,
                )

    def _file(self, medium: Medium, name: str, file: Path, row: OutputFileRow) -> NeutralFile | None:
        """Return what is shown in the place of a file; say of one that cannot be shown, once, why."""
        unfit = [*self._unfit(medium, name, file, row)]
        self.problems += unfit
        if unfit or medium.files is None or file in self.unshown:
            return None
        try:
            self._copies = self._copies or NeutralCopies(self._folder or row.file.parent)
            return self._copies.of(file, medium.files)
        except (ValueError, OSError) as error:
            expected = f"{medium.one} that can be shown"
            self.unshown[file] = f"{row.place}: expected {expected}, got {quote(name)}, {error}"
            return None

    def _captions(self, file: Path, row: OutputFileRow) -> Path | None:
        """Return what is shown in the place of a clip's captions; say of those that cannot be shown, once, why."""
        if file in self.unshown:
            return None
        try:
            self._copies = self._copies or NeutralCopies(self._folder or row.file.parent)
            if not self._inside(file.name, file, row):
                raise ValueError("which is a link to elsewhere; copy it there")
            return self._copies.of(file, CAPTIONS).path
        except (ValueError, OSError) as error:
            self.unshown[file] = f"{row.place}: expected {CAPTIONS.formats} captions, got {quote(file.name)}, {error}"
            return None

    def _unfit(self, medium: Medium, name: str, file: Path, row: OutputFileRow) -> Iterator[str]:
        if medium.files is None or "\0" in name:
            yield f"{row.place}: expected {medium.one}, got {quote(name)}, no such file; correct its name"
            return
        if not self._inside(name, file, row):
            expected = f"{medium.one} in the study's folder, its path relative to the outputs file"
            yield f"{row.place}: expected {expected}, got {quote(name)}; copy the {medium.noun} there"
            return
        try:
            fits = medium.files.fits(file)
        except FileNotFoundError:
            do = "paths are relative to the outputs file"
            yield f"{row.place}: expected {medium.one}, got {quote(name)}, no such file; {do}"
        except OSError as error:
            yield f"{row.place}: expected {medium.one}, got {quote(name)}: {error.strerror}"
        else:
            if not fits:
                expected = f"a {medium.files.formats} {medium.noun}"
                yield f"{row.place}: expected {expected}, got {quote(name)}, which is none; convert it"

    def _inside(self, name: str, file: Path, row: OutputFileRow) -> bool:
        """Tell whether a file is in the study's folder or beside the table, wherever links lead."""
        found = Path(os.path.realpath(file))
        inside = any(found.is_relative_to(place) for place in (row.file.parent, self._folder) if place is not None)
        return inside and not Path(name).is_absolute()


def _said(copy: NeutralCopy) -> str:
    """Return what is said of a copy, as the end of its name."""
    measures = {"seconds": copy.seconds, "loudness": copy.loudness}
    measured = (f"_{name}={value!r}" for name, value in measures.items() if value is not None)
    return "".join((*(f"-{mark}" for mark in copy.marks), *measured))


def _names_in(folder: Path) -> dict[str, Path]:
    """Return the copies in a folder by the beginning of their names: of what they are made, and how."""
    if not os.access(folder, os.R_OK | os.X_OK):
        return {}
    found = (path for path in folder.iterdir() if not path.name.startswith("."))
    return {"-".join(path.stem.partition("_")[0].split("-")[:2]): path for path in found if os.access(path, os.R_OK)}


def _write(path: Path, content: bytes) -> None:
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    with written_whole(path, private=True) as temporary:
        temporary.write_bytes(content)


@lru_cache(maxsize=1)
def _folder_for_now() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="spa-copies-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _digest(file: Path) -> str:
    """Return the hash of what stands in a file, computed anew when the file has changed."""
    seen = file.stat()
    return _digest_of(str(file.resolve()), seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)


@lru_cache(maxsize=100_000)
def _digest_of(path: str, *seen: int) -> str:
    with open(path, "rb") as file:
        digest = sha256()
        while part := file.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()[:32]
