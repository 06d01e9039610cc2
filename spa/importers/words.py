"""What words in the cells of a question mean, and what is proposed for those that nobody explained."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from spa.errors import shortened
from spa.importers.tables import number_of

SIDES = ("x", "y", "tie")
NO_ANSWER = ("na", "n/a", "none", "null", "-")
TIES = ("similar", "same", "equal", "neither", "both", "no preference", "draw", "no difference", "equally good")
NONSENSE = ("garbage", "invalid", "error", "skip", "skipped", "?", "don't know", "unsure", "other")
SHOWN = 6  # words that a message proposes values for


class NotUnderstood(Exception):
    """A cell holds a word that has no meaning yet; ``expected`` says what was expected in its place."""

    def __init__(self, expected: str, word: str) -> None:
        super().__init__(word)
        self.expected = expected
        self.word = word


@dataclass(frozen=True, slots=True, kw_only=True)
class WordMeanings:
    """What a mapping says of the words of a question."""

    values: Mapping[str, str | float]
    missing: tuple[str, ...] = ()

    def explained(self, word: str) -> str | None:
        """Return what a word is said to mean, "" where it is no answer; ``None`` where nothing is said.

        Letter case and how a number is written make no other word where none is written exactly so.

        >>> words = WordMeanings(values={"True": "x", "2": "y", "same": "tie"}, missing=("-99",))
        >>> [words.explained(word) for word in ("true", "2.0", "Same", "-99.0", "left")]
        ['x', 'y', 'tie', '', None]
        """
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
    return word.casefold() in NO_ANSWER


def number(word: str, words: WordMeanings) -> float | None:
    """Return the number that a cell holds, ``None`` where it holds a word for no answer.

    Raise NotUnderstood where it holds something else.
    """
    explained = words.explained(word)
    if explained == "" or (explained is None and is_no_answer(word)):
        return None
    value = number_of(word if explained is None else explained)
    if value is None:
        raise NotUnderstood("a finite number (`values` turns words into numbers)", word)
    return value


def winner(word: str, words: WordMeanings, pair: tuple[str, str], winner_is: str | None) -> str | None:
    """Return x, y or tie, ``None`` where a cell holds a word for no answer.

    A cell, or what ``values`` says of it, is the name of one of the row's systems, or x, y or tie. Raise NotUnderstood
    where it is neither, or where the two readings differ and ``winner_is`` does not say which holds.
    """
    explained = words.explained(word)
    if explained == "":
        return None
    meant = word if explained is None else explained
    named = _named(meant, pair) if winner_is != "side" else None
    side = meant.casefold() if winner_is != "name" or meant.casefold() == "tie" else ""
    if named is not None and side in SIDES and side != named:
        raise NotUnderstood(
            f'what {meant!r} is, the name of a system and a side (winner_is = "name" or "side" says which)', word
        )
    if named is not None:
        return named
    if side in SIDES:
        return side
    if explained is None and is_no_answer(word):
        return None
    raise NotUnderstood("x, y or tie (`values` turns words into them), or a system of the row", word)


def _named(word: str, pair: tuple[str, str]) -> str | None:
    exact = [side for side, system in zip(SIDES, pair, strict=False) if system == word]
    alike = [side for side, system in zip(SIDES, pair, strict=False) if system.casefold() == word.casefold()]
    found = exact or alike
    return found[0] if len(found) == 1 else None


@dataclass(slots=True)
class Unexplained:
    """WordMeanings of a question that have no meaning yet: the first with its place, and all others."""

    place: str
    expected: str
    words: dict[str, None] = field(default_factory=dict)

    def line(self, kind: str) -> str:
        """Say what was found, with ``values`` to be pasted."""
        first, *more = self.words
        others = f" and {len(more)} other words" if len(more) > 1 else " and another word" if more else ""
        proposed = proposed_values(self.words, "NUMBER" if kind != "choice" else "x, y or tie")
        return f"{self.place}: expected {self.expected}, got {shortened(repr(first))}{others}; {proposed}"


def proposed_values(words: Iterable[str], otherwise: str) -> str:
    """Return a line of the mapping that explains words: ties and what is no answer are filled in.

    >>> print(proposed_values(["similar", "left", "right", "garbage"], "x, y or tie"))
    add values = { similar = "tie", left = "x", right = "y", garbage = "" }
    >>> print(proposed_values(["good"], "NUMBER"))
    add values = { good = NUMBER }
    """
    given = []
    listed = list(words)
    for word in listed[:SHOWN]:
        meant = _proposed(word.casefold()) if otherwise != "NUMBER" or word.casefold() in NONSENSE else None
        value = f'"{meant}"' if meant is not None else otherwise if otherwise == "NUMBER" else f'"{otherwise}"'
        given.append(f"{_toml_key(word)} = {value}")
    more = f", and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return f"add values = {{ {', '.join(given)} }}{more}"


def _proposed(word: str) -> str | None:
    if word in NONSENSE:
        return ""
    if word in TIES:
        return "tie"
    sides = {
        "x": ("left", "a", "1", "first", "model_a", "true"),
        "y": ("right", "b", "2", "second", "model_b", "false"),
    }
    return next((side for side, several in sides.items() if word in several), None)


def _toml_key(word: str) -> str:
    plain = word.isascii() and word.replace("_", "").replace("-", "").isalnum()
    escaped = shortened(word, 40).replace("\\", "\\\\").replace('"', '\\"')
    return word if plain and len(word) <= 40 else f'"{escaped}"'


def is_zero(word: str) -> bool:
    """Whether a cell is the number 0."""
    return number_of(word) == 0
