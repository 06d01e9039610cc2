"""What words in the cells of a question mean, and what is proposed for those that nobody explained."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spa.errors import shortened
from spa.importers.foreign_files import number_of
from spa.tables.scale_words import MISSING as MISSING_WORDS
from spa.tables.scale_words import proposed_numbers
from spa.tables.verdicts import COLUMNS, MISSING, Sides, orientation, outcome, place_outcome, proposals

NO_ANSWER = re.compile(MISSING_WORDS)
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
NONE_GIVEN = ("", MISSING)  # what a mapping says of a word that is no answer
SHOWN = 6  # words that a message proposes values for


class NotUnderstood(Exception):
    """A cell holds a word that has no meaning yet.

    ``expected`` says what was expected in its place, ``do`` what settles it, unless ``values`` do.
    """

    def __init__(self, expected: str, word: str, *, do: str | None = None) -> None:
        super().__init__(word)
        self.expected = expected
        self.word = word
        self.do = do


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMeanings:
    """What a mapping says of the words of a question."""

    values: Mapping[str, str | float]
    missing: tuple[str, ...] = ()
    decimal: str = "."
    _known: dict[str, str | None] = field(default_factory=dict, compare=False)  # words that were met

    def explained(self, word: str) -> str | None:
        """Return what a word is said to mean, "" where it is no answer; ``None`` where nothing is said.

        Letter case and how a number is written make no other word where none is written exactly so.

        >>> words = WordMeanings(values={"True": "x", "2": "y", "same": "tie"}, missing=("-99",))
        >>> [words.explained(word) for word in ("true", "2.0", "Same", "-99.0", "left")]
        ['x', 'y', 'tie', '', None]
        """
        if word not in self._known:
            self._known[word] = self._explained(word)
        return self._known[word]

    def _explained(self, word: str) -> str | None:
        if word in self.values:
            return _text(self.values[word])
        if word in self.missing:
            return ""
        same = {_text(value) for name, value in self.values.items() if _alike(name, word)}
        same |= {"" for name in self.missing if _alike(name, word)}
        return same.pop() if len(same) == 1 else None


def _text(value: str | float) -> str:
    return value.strip() if isinstance(value, str) else repr(value)


def _alike(name: str, word: str) -> bool:
    if name.strip().casefold() == word.casefold():
        return True
    number = number_of(name.strip())
    return number is not None and number == number_of(word)


def is_no_answer(word: str) -> bool:
    """Whether people write a word for no answer.

    >>> is_no_answer("N/A"), is_no_answer("0")
    (True, False)
    """
    return NO_ANSWER.match(word) is not None


def in_points(text: str, decimal: str) -> str:
    """Return a number with a decimal point; one that has a point already is left as it is.

    >>> in_points("3,5", ","), in_points("1.234,5", ","), in_points("3,5", ".")
    ('3.5', '1.234,5', '3,5')
    """
    return text.replace(",", ".") if decimal == "," and "." not in text else text


def number(word: str, words: WordMeanings) -> float | None:
    """Return the number that a cell holds, ``None`` where it holds a word for no answer.

    Raise NotUnderstood where it holds something else.
    """
    explained = words.explained(word)
    if explained in NONE_GIVEN or (explained is None and is_no_answer(word)):
        return None
    value = number_of(in_points(word, words.decimal) if explained is None else explained)
    if value is None:
        if words.decimal == "." and DECIMAL_COMMA.fullmatch(word):
            raise NotUnderstood("a number with a decimal point", word, do='add decimal = "," if the comma is one')
        raise NotUnderstood("a finite number (`values` turns words into numbers)", word)
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPair:
    """Both systems of a comparison, the columns that name them, and how a name that is also a place is read."""

    systems: tuple[str, str]
    columns: tuple[str, str] = COLUMNS
    sides: Sides | None = None


def winner(word: str, words: WordMeanings, pair: RowPair) -> str | None:
    """Return x, y, tie or both_bad, ``None`` where a cell holds a word for no answer.

    A cell, or what ``values`` says of it, is the name of one of the row's systems, or a word of
    :mod:`spa.tables.verdicts`. Raise NotUnderstood where it is neither, or where the two readings differ and nothing
    says which holds.
    """
    explained = words.explained(word)
    if explained in NONE_GIVEN:
        return None
    own = explained is None  # what `values` says is a side
    found = outcome(explained or word, *pair.systems, columns=pair.columns, sides=pair.sides, named=own)
    if found.status == "differs":
        do = 'say which it is by winner_is = "name" or winner_is = "side"'
        raise NotUnderstood("a system's name or a place, but not both", word, do=do)
    if found.status == "read" and not (explained is None and _is_letter_of_other_places(word, pair)):
        return None if found.winner is None else found.word
    if explained is None and is_no_answer(word):
        return None
    raise NotUnderstood("x, y or tie (`values` turns words into them), or a system of the row", word)


def _is_letter_of_other_places(word: str, pair: RowPair) -> bool:
    """Whether an X or Y is none of the two places: where these are called A and B, people write X for a tie."""
    family, _ = orientation(pair.columns)
    capital = word in ("X", "Y") and (family != ("x", "y") or pair.columns == COLUMNS)
    own = word in pair.systems
    return not own and (capital or (word.casefold() in ("x", "y") and family not in (("x", "y"), ("", ""))))


@dataclass(slots=True)
class Unexplained:
    """WordMeanings of a question that have no meaning yet: the first with its place, and all others."""

    place: str
    expected: str
    columns: tuple[str, str] = COLUMNS  # of the two systems of a comparison
    do: str | None = None
    words: dict[str, None] = field(default_factory=dict)

    def line(self, kind: str) -> str:
        """Say what was found, with ``values`` to be pasted."""
        first, *more = self.words
        others = f" and {len(more)} other words" if len(more) > 1 else " and another word" if more else ""
        proposed = self.do or proposed_values(self.words, self.columns if kind == "choice" else None)
        return f"{self.place}: expected {self.expected}, got {shortened(repr(first))}{others}; {proposed}"


def proposed_values(words: Iterable[str], columns: tuple[str, str] | None) -> str:
    """Return a line of the mapping that explains words, of a winner where the pair's ``columns`` are given.

    Ties and what is no answer are filled in.

    >>> print(proposed_values(["similar", "left", "right", "garbage"], COLUMNS))
    add values = { similar = "tie", left = "x", right = "y", garbage = "missing" }
    >>> print(proposed_values(["good", "poor", "garbage"], None))
    add values = { good = 4, poor = 2, garbage = "missing" }
    """
    listed = list(words)
    if columns is not None:
        meant = {
            word: "?" if word.casefold() in ("x", "y") else found for word, found in proposals(listed, columns).items()
        }
        proposed = {word: f'"{found}"' for word, found in meant.items()}
    else:
        numbers = proposed_numbers([word for word in listed if not _is_nonsense(word)])
        proposed = {word: f'"{MISSING}"' if word not in numbers else numbers[word] for word in listed}
        proposed = {word: value.replace("?", '"?"') for word, value in proposed.items()}
    given = [f"{_toml_key(word)} = {proposed[word]}" for word in listed[:SHOWN]]
    choices = "x, y, tie or missing" if columns is not None else "a number or missing"
    unclear = f'; write {choices} for "?"' if '"?"' in " ".join(given) else ""
    more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return f"add values = {{ {', '.join(given)} }}{more}{unclear}"


def _is_nonsense(word: str) -> bool:
    found = place_outcome(word)
    return found.status == "proposed" and found.winner is None


def _toml_key(word: str) -> str:
    plain = word.isascii() and word.replace("_", "").replace("-", "").isalnum()
    escaped = shortened(word, 40).replace("\\", "\\\\").replace('"', '\\"')
    return word if plain and len(word) <= 40 else f'"{escaped}"'


def is_zero(word: str) -> bool:
    """Whether a cell is the number 0."""
    return number_of(word) == 0
