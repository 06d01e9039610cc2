"""Neutral copies of files that are shown, made once and kept beside the study by the hash of what they are made of."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from spa.errors import ResponseError
from spa.files import written_whole
from spa.media.medium import MediumFiles, NeutralCopy
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
