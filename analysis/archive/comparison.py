"""Two reports of the same answers: which bytes differ, and which numbers, to nine digits."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spa.errors import AnalysisError, shortened

RESULTS = "results.json"
DIGITS = 9
SHOWN = 10  # differences
ASIDE = ("versions",)  # keys of settings that say with what it was made
CHECKS = ("verification",)  # keys that count what was checked, of which later versions check more


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A number that is not the recorded one; ``None``: there is none."""

    path: str
    recorded: float | None
    now: float | None

    def __str__(self) -> str:
        """Return it in words."""
        return f"{RESULTS}: {self.path}: recorded {_shown(self.recorded)}, now {_shown(self.now)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What became of a report that was made again.

    Attributes
    ----------
    equal_bytes : bool
        Whether every file is the recorded one.
    same : bool
        Whether it is the same report: equal bytes, or, where versions changed, equal numbers.
    files : tuple of str
        Names of the files that differ, or that only one of the two reports has.
    numbers : tuple of Difference
        Numbers that differ in their first nine digits.
    versions : mapping of str to (str, str)
        Libraries of another version, with the recorded one and the present one; "" where there is none.
    """

    equal_bytes: bool
    same: bool
    files: tuple[str, ...]
    numbers: tuple[Difference, ...]
    versions: Mapping[str, tuple[str, str]]

    def lines(self) -> Iterator[str]:
        """Yield what is to be said."""
        changed = [f"{name} {old or 'none'} -> {new or 'none'}" for name, (old, new) in self.versions.items()]
        yield f"versions that changed: {', '.join(changed) if changed else 'none'}"
        if self.equal_bytes:
            yield "the report is the recorded one, byte by byte"
            return
        if not self.numbers:
            yield f"every number of {RESULTS} is the recorded one to {DIGITS} digits"
        for one in self.numbers[:SHOWN]:
            yield str(one)
        if len(self.numbers) > SHOWN:
            yield f"... and {len(self.numbers) - SHOWN:,} more numbers"
        more = f" and {len(self.files) - SHOWN:,} more" if len(self.files) > SHOWN else ""
        yield f"files that differ: {', '.join(self.files[:SHOWN])}{more}"
        yield "the report is the same" if self.same else "the report DIFFERS from the recorded one"


def compare_reports(recorded: Path, made: Path, *, versions: Mapping[str, str], now: Mapping[str, str]) -> Comparison:
    """Compare a report with the one in an archive.

    Parameters
    ----------
    recorded, made : Path
        Their folders.
    versions, now : mapping of str to str
        Versions of the libraries then and now.

    Raises
    ------
    AnalysisError
        If the recorded report has no ``results.json``.
    """
    names = {*_names(recorded), *_names(made)}
    files = tuple(name for name in sorted(names) if not _equal(recorded / name, made / name))
    both = {name: (versions.get(name, ""), now.get(name, "")) for name in sorted({*versions, *now})}
    changed = {name: pair for name, pair in both.items() if pair[0] != pair[1]}
    numbers = tuple(_differences("", _read(recorded / RESULTS), _read(made / RESULTS))) if files else ()
    return Comparison(
        equal_bytes=not files,
        same=not files or bool(changed and not numbers),
        files=files,
        numbers=numbers,
        versions=changed,
    )


def _names(folder: Path) -> Iterator[str]:
    return (path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _equal(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and one.read_bytes() == other.read_bytes()


def _read(path: Path) -> Any:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise AnalysisError(f"report/{RESULTS}: expected what spa report writes, got {shortened(error)}") from error
    settings = found.get("settings") if isinstance(found, dict) else None
    if isinstance(settings, dict):
        found["settings"] = {key: value for key, value in settings.items() if key not in ASIDE}
    return {key: value for key, value in found.items() if key not in CHECKS} if isinstance(found, dict) else found


def _differences(path: str, recorded: Any, now: Any) -> Iterator[Difference]:
    """Yield the numbers of the recorded results that are others now, or that are no longer there."""
    if isinstance(recorded, dict):
        there = now if isinstance(now, dict) else {}
        for key, value in recorded.items():
            yield from _differences(f"{path}.{key}" if path else key, value, there.get(key))
    elif isinstance(recorded, list):
        listed = now if isinstance(now, list) else []
        for place in range(max(len(recorded), len(listed))):
            old, new = (values[place] if place < len(values) else None for values in (recorded, listed))
            yield from _differences(f"{path}[{place}]", old, new)
    elif _is_number(recorded) or _is_number(now):
        old, new = (value if _is_number(value) else None for value in (recorded, now))
        if old is None or new is None or not math.isclose(old, new, rel_tol=10.0 ** (1 - DIGITS) / 2, abs_tol=1e-300):
            yield Difference(path=path, recorded=old, now=new)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.12g}"
