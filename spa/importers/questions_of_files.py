"""What formats share whose files name no systems: which system a question is about, what its words count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import click

from spa.errors import ResponseError, shortened
from spa.importers.foreign_files import number_of
from spa.tables.verdicts import MISSING, Outcome, place_outcome, proposals

if TYPE_CHECKING:
    from spa.importers.tables import Row

VERDICTS = ("x", "y", "tie", "both_bad", MISSING)
SYSTEM, ITEMS = "system", ("item_id", "item", "id")  # columns that are taken where none is named
SHOWN = 6  # words that a message lists
Kind = Literal["ratings", "choices", "unread"]


def _pairs(expected: str) -> Any:
    def read(context: click.Context, option: click.Parameter, texts: tuple[str, ...]) -> dict[str, str]:
        found: dict[str, str] = {}
        for text in texts:
            name, sign, value = text.rpartition("=")
            if not sign or not name or not value:
                raise click.BadParameter(f"expected {expected}, got {shortened(repr(text))}", context, option)
            found[name] = value.strip()
        return found

    return read


def _values(context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = _pairs("WORD=VALUE")(context, option, given)
    for word, value in found.items():
        if value not in VERDICTS and number_of(value) is None:
            problem = f"expected a number, x, y, tie, both_bad or missing, got {shortened(repr(f'{word}={value}'))}"
            raise click.BadParameter(problem, context, option)
    return found


def _sides(context: click.Context, option: click.Parameter, given: str | None) -> tuple[str, str] | None:
    if given is None:
        return None
    parts = [part.strip() for part in given.split(",")]
    if len(parts) != 2 or not all(parts) or parts[0] == parts[1]:
        raise click.BadParameter(f"expected two systems, X,Y, got {shortened(repr(given))}", context, option)
    return parts[0], parts[1]


def value_option() -> click.Option:
    """Return the option that says what words count."""
    return click.Option(
        ["--value", "values"],
        multiple=True,
        metavar="WORD=VALUE",
        callback=_values,
        help="What a word in a column of answers counts: a number; x, y, tie, both_bad; missing. Repeatable.",
    )


def question_options() -> tuple[click.Option, ...]:
    """Return the options that say what the questions of a file are about."""
    return (
        click.Option(
            ["--item-column"], metavar="COLUMN", help="Column that names the item. [default: item_id, item, id]"
        ),
        click.Option(
            ["--system-column"], metavar="COLUMN", help="Column that names the system rated. [default: system]"
        ),
        click.Option(
            ["--of", "of"],
            multiple=True,
            metavar="QUESTION=SYSTEM",
            callback=_pairs("QUESTION=SYSTEM"),
            help="The system that a question rates; repeatable.",
        ),
        click.Option(
            ["--compared", "sides"],
            metavar="X,Y",
            callback=_sides,
            help="The systems that are compared, first and second; or the columns that name them.",
        ),
        value_option(),
        click.Option(
            ["--question", "only"],
            multiple=True,
            metavar="QUESTION",
            help="Read this question; repeatable. [default: all]",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionsAsked:
    """What the options say of the questions of a file."""

    item_column: str | None = None
    system_column: str | None = None
    of: Mapping[str, str] = field(default_factory=dict)
    sides: tuple[str, str] | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    only: Sequence[str] = ()

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> QuestionsAsked:
        """Return what a request's options say."""
        names = ("item_column", "system_column", "of", "sides", "values", "only")
        return cls(**{name: options[name] for name in names if options.get(name)})

    def wants(self, question: str) -> bool:
        """Whether a question is to be read."""
        return not self.only or question in self.only

    def check_names(self, questions: Iterable[str], place: object) -> None:
        """Raise ResponseError where an option names a question that there is not."""
        known = dict.fromkeys(questions)
        for name in (*self.of, *self.only):
            if name not in known:
                listed = shortened(", ".join(known) or "none", 160)
                raise ResponseError(f"{place}: no question {shortened(repr(name))}; there are {listed}")

    def item(self, data: Mapping[str, Any], otherwise: object, place: str) -> str:
        """Return the item of a record."""
        names = ITEMS if self.item_column is None else (self.item_column,)
        found = next((data[name] for name in names if _said(data.get(name))), None)
        if found is None and self.item_column is not None:
            raise ResponseError(f"{place}: expected {self.item_column}, which names the item, got none")
        return str(otherwise if found is None else found).strip()

    def system(self, question: str, data: Mapping[str, Any], place: str) -> str:
        """Return the system that a question of a record rates."""
        if question in self.of:
            return self.of[question]
        column = self.system_column or SYSTEM
        if not _said(data.get(column)):
            raise ResponseError(
                f"{place}, {shortened(question)}: expected the system that it rates, got none in {column}; say "
                f"--system-column COLUMN, --of {shortened(question, 30)}=SYSTEM, or --question with those to read"
            )
        return str(data[column]).strip()

    def compared(self, question: str, data: Mapping[str, Any], place: str) -> tuple[str, str]:
        """Return the systems that a question of a record compares, the first (left) and the second."""
        if self.sides is None:
            raise ResponseError(
                f"{place}, {shortened(question)}: expected which systems are compared, got only their places; say "
                "--compared X,Y: the first (left) and the second system, or the columns that name them"
            )
        first, second = (str(data[side]).strip() if _said(data.get(side)) else side for side in self.sides)
        if first == second:
            raise ResponseError(f"{place}: expected two systems, got {shortened(repr(first))} twice; check --compared")
        return first, second

    def kind(self, question: str, words: Iterable[str], place: object) -> Kind:
        """Return what the words of a question are.

        Raise ResponseError where they may be verdicts or scores, and no option says which.
        """
        distinct = list(dict.fromkeys(words))
        counted = [self.values[word] for word in distinct if word in self.values]
        verdicts = [value for value in counted if value in VERDICTS and value != MISSING]
        numbers = [value for value in counted if value not in VERDICTS]
        open_words = [word for word in distinct if word not in self.values]
        own = [word for word in open_words if number_of(word) is not None]
        places = {word: self._outcome(word) for word in open_words if word not in own}
        if own and not (verdicts or numbers) and len(distinct) == len(own) and {*own} <= {"0", "1", "2"}:
            raise self._ask(question, distinct, place)
        if (numbers or own) and not verdicts and len(numbers) + len(own) + counted.count(MISSING) == len(distinct):
            return "ratings"
        sure = [word for word, found in places.items() if found.status == "read"]
        if (verdicts or sure) and len(sure) + len(counted) == len(distinct) and not numbers:
            return "choices"
        if verdicts or numbers or any(found.status != "unknown" for found in places.values()):
            raise self._ask(question, [word for word in open_words if word not in sure] or open_words, place)
        return "unread"

    def _outcome(self, word: str) -> Outcome:
        """Return what a word says: a system of ``--compared`` by its name, else a place."""
        if self.sides is not None and word in self.sides:
            return Outcome(winner="x" if word == self.sides[0] else "y")
        return place_outcome(word)

    def _ask(self, question: str, words: Sequence[str], place: object) -> ResponseError:
        likely = proposals(words[:SHOWN])
        if all(number_of(word) is not None for word in words):  # places may count from 0 or 1, and 0 may be a tie
            likely = dict.fromkeys(sorted(words, key=float)[:SHOWN], "?")
        say = " ".join(f"--value {shortened(repr(f'{word}={value}'), 40)}" for word, value in likely.items())
        return ResponseError(
            f"{place}, {shortened(question, 40)}: expected words whose meaning is known; say what each counts (x is "
            f"the first of --compared), such as {say}; or which questions to read with --question"
        )

    def answer(self, kind: Kind, word: str) -> Row:
        """Return the cells that a word means."""
        value = self.values.get(word)
        if kind == "ratings":
            score = None if value == MISSING else number_of(word if value is None else value)
            return {"score": score, "missing_reason": "no answer" if score is None else None}
        verdict = self._outcome(word).word if value is None else value
        winner = None if verdict == MISSING else verdict
        return {"winner": winner, "missing_reason": "no answer" if winner is None else None}


def _said(value: object) -> bool:
    return value is not None and not isinstance(value, list | dict) and str(value).strip() != ""


def one_system_an_item(ratings: Sequence[Row]) -> list[str]:
    """Say so where no item has ratings of two systems: then another column names the items, or none can be compared."""
    systems: dict[object, set[object]] = {}
    for row in ratings:
        systems.setdefault(row["item_id"], set()).add(row["system"])
    if len({system for own in systems.values() for system in own}) < 2 or any(len(own) > 1 for own in systems.values()):
        return []
    return ["no item has ratings of two systems; if another column names the item, say --item-column COLUMN"]
