"""The files of an archive while they are put together: each name once, no secret among them."""

from __future__ import annotations

import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from json import dumps
from pathlib import Path, PurePosixPath

from spa.errors import AnalysisError, shortened, unreadable

WORD = re.compile(rb"[A-Za-z0-9_-]{8,}")  # shorter ones may stand anywhere
PLAIN = re.compile(r"[A-Za-z0-9_-]{8,}")
LONG = 30  # characters of a text that is looked for; shorter ones may be anybody's words
UNFIT = re.compile(r"[\x00-\x1f\x7f\\:]")  # in names: some system takes them for something else
DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")  # of Windows
LONGEST_NAME = 255  # bytes between two slashes


class Contents:
    """Files by their name in the archive, kept in a new folder, each with what it is.

    Parameters
    ----------
    folder : Path
        A new, empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._about: dict[str, str] = {}
        self._folded: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        """Yield the names in order."""
        return iter(sorted(self._about))

    def about(self, name: str) -> str:
        """Return what a file is."""
        return self._about[name]

    def path(self, name: str) -> Path:
        """Return where the content of a file lies."""
        return self.folder / name

    def add(self, name: str, source: str | bytes | Path, about: str) -> None:
        """Copy a file, a text or bytes into the archive.

        Raises
        ------
        AnalysisError
            If the archive has a file of that name (in any case of letters) or cannot have it, or the source cannot be
            read.
        """
        if not is_fit(name):
            raise AnalysisError(
                f"{shortened(repr(name), 120)}: expected a name that every system can write, got this; rename the file"
            )
        known = self._folded.setdefault(folded_name(name), name)
        if name in self._about or known != name:
            raise AnalysisError(
                f"{shortened(name, 120)}: expected one source of this name, got two; rename a file, or bundle them "
                "one by one"
            )
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            if isinstance(source, Path):
                shutil.copyfile(source, path)
            else:
                path.write_bytes(source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source)
        except OSError as error:
            raise AnalysisError(unreadable(source if isinstance(source, Path) else name, error)) from error
        self._about[name] = about

    def add_folder(self, folder: Path, place: str, about: str) -> None:
        """Copy whatever files a folder holds to a folder of the archive."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.add(f"{place}/{path.relative_to(folder).as_posix()}", path, about)

    def refuse_secrets(self, secrets: Mapping[str, str]) -> None:
        """Raise AnalysisError where a file holds one of these values, by value what each is."""
        plain = {value.encode(): what for value, what in secrets.items() if PLAIN.fullmatch(value)}
        others = {
            value.encode("utf-8", "surrogatepass"): what
            for value, what in secrets.items()
            if value.encode("utf-8", "surrogatepass") not in plain and len(value) >= 8
        }
        for name in self:
            content = self.path(name).read_bytes()
            found = plain.keys() & set(WORD.findall(content))
            held = next(iter(sorted(found)), None) or next((value for value in others if value in content), None)
            if held is not None:
                what = plain.get(held) or others[held]
                raise AnalysisError(
                    f"{shortened(name, 120)}: expected no secret in an archive, got {what}; take it out of the source"
                )

    def refuse_texts(self, texts: Iterable[str]) -> None:
        """Raise AnalysisError where a file holds the beginning of a text, as it is, in HTML or in JSON."""
        wanted = {form for text in texts for form in _forms_of(text)}
        for name in self:
            content = self.path(name).read_bytes()
            if any(form in content for form in wanted):
                raise AnalysisError(
                    f"{shortened(name, 120)}: expected no text of an item or output under --without-texts, got one; "
                    "take it out of the source, or bundle with the texts"
                )


def is_fit(name: str) -> bool:
    """Return whether a name leads to a file within the archive, on every system.

    >>> is_fit("tables/ratings.csv"), is_fit("../ratings.csv"), is_fit("/etc/passwd"), is_fit("nul.txt")
    (True, False, False, False)
    """
    parts = name.split("/")
    return (
        UNFIT.search(name) is None
        and {"", ".", ".."}.isdisjoint(parts)
        and not any(DEVICES.fullmatch(part) or part[-1] in ". " for part in parts)
        and all(len(part.encode("utf-8", "surrogatepass")) <= LONGEST_NAME for part in parts)
    )


def folded_name(name: str) -> str:
    """Return what two names have in common that some file systems take for one.

    >>> folded_name("Tables/Ratings.csv") == folded_name("tables/ratings.CSV")
    True
    """
    return unicodedata.normalize("NFC", name).casefold()


def name_in(folder: Path, path: Path) -> str:
    """Return the name of a file relative to a folder; of one that lies elsewhere ``elsewhere/`` and its own name."""
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        return str(PurePosixPath("elsewhere") / path.name)


def _forms_of(text: str) -> Iterator[bytes]:
    longest = max(text.splitlines(), key=len, default="").strip()[:80]
    if len(longest) >= LONG:
        for form in (longest, escape(longest), escape(longest, quote=False), dumps(longest)[1:-1]):
            yield form.encode("utf-8", "surrogatepass")
