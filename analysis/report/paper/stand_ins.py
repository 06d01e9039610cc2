"""What stands for letters that pdflatex cannot set, such as Chinese ones: "[name 1]", declared where it is used."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import is_dataclass
from itertools import count
from typing import Any, TypeVar

from analysis.report.latex import BEYOND_LATIN
from analysis.statistics.record import rows_with_fields, with_fields

Value = TypeVar("Value")
NUMBERS = frozenset({int, bool, float, type(None)})
RUN = re.compile(rf"{BEYOND_LATIN.pattern}+")
TAKEN = re.compile(r"\[name (\d+)\]")
SPACES = re.compile("[\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]")
STRAY = "?"  # for a letter that no text held beforehand
MOST_DECLARED = 40  # in the comment of one file


class StandIns:
    """Replaces runs of letters beyond Latin, the same run by the same name wherever it stands.

    Parameters
    ----------
    texts : str
        All that is to be printed. Runs are numbered as they first appear in it; numbers that it holds in such names
        itself are not used.

    >>> stand_ins = StandIns("\u516c\u5f0f, \u9e66\u9e49")
    >>> stand_ins.printable("\u9e66\u9e49 over \u516c\u5f0f")
    '[name 2] over [name 1]'
    """

    def __init__(self, texts: str) -> None:
        taken = set(TAKEN.findall(texts))
        free = (f"[name {number}]" for number in count(1) if str(number) not in taken)
        runs = () if texts.isascii() else dict.fromkeys(RUN.findall(_set_as_one(texts)))
        self._names: dict[str, str] = dict(zip(runs, free, strict=False))

    @property
    def declared(self) -> Mapping[str, str]:
        """What each stand-in stands for."""
        return {name: run for run, name in self._names.items()}

    def printable(self, value: Value) -> Value:
        """Return a text, or all texts of records, without letters beyond Latin."""
        changed: Any = value
        if isinstance(value, str):
            changed = value if value.isascii() else self._text(value)
        elif is_dataclass(value) and not isinstance(value, type):
            changed = with_fields(value, self.printable, NUMBERS)
        elif isinstance(value, Mapping):
            changed = {self.printable(key): self.printable(item) for key, item in value.items()}
        elif isinstance(value, tuple):
            changed = rows_with_fields(value, self.printable, NUMBERS) or tuple(map(self.printable, value))
        return changed  # type: ignore[no-any-return]

    def _text(self, text: str) -> str:
        shown = RUN.sub(self._stand_in, _set_as_one(text))
        return text if shown == text else shown

    def _stand_in(self, found: re.Match[str]) -> str:
        return self._names.get(found[0], STRAY)

    def comments(self, text: str) -> list[str]:
        """Return the lines of LaTeX comments that declare the stand-ins of a text."""
        used = dict.fromkeys(f"[name {number}]" for number in TAKEN.findall(text))
        declared = self.declared
        lines = [f"% {name} stands for {declared[name]}" for name in used if name in declared]
        more = len(lines) - MOST_DECLARED
        return lines if more <= 0 else [*lines[:MOST_DECLARED], f"% and {more} more, which paper.tex lists"]


def _set_as_one(text: str) -> str:
    """Return a text with letters and their accents as one, and every space as one that LaTeX knows."""
    return SPACES.sub(" ", unicodedata.normalize("NFC", text))
