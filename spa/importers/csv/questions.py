"""One cell of a question as rows of a tidy table."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from spa.errors import ResponseError, shortened
from spa.files import unique_keys
from spa.importers.csv.mapping import QuestionColumn
from spa.importers.csv.sheets import Cell, SheetRow
from spa.importers.csv.words import NONE_GIVEN, RowPair, WordMeanings, is_no_answer, number, winner
from spa.importers.tables import Row
from spa.tables.verdicts import COLUMNS, Sides

TABLE_OF = {"rating": "ratings", "preference": "preferences", "choice": "choices", "rank": "orders", "order": "orders"}
EMPTY = "empty"


def pair_columns(question: QuestionColumn) -> tuple[str, str]:
    """Return the columns that name the two systems of a comparison, the tidy table's where they have none."""
    columns = question.system_x_column, question.system_y_column
    return COLUMNS if columns[0] is None or columns[1] is None else (columns[0], columns[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question in one row: its cell, who answered, about which item, by which criterion."""

    question: QuestionColumn
    words: WordMeanings
    row: SheetRow
    place: str  # "answers.csv, row 2, q1"
    cell: Cell
    shared: Row  # annotator_id, annotator_kind, assignment_id, criterion
    item: str | None
    seconds: float | None = None

    def answers(self) -> Iterator[Row]:
        """Yield rows of the table of the question's kind.

        Raise ResponseError where the mapping or the cell does not fit the question, NotUnderstood where the cell holds
        a word that nobody explained.
        """
        yield from {
            "rating": self._ratings,
            "preference": self._preference,
            "choice": self._choice,
            "rank": self._ratings,
            "order": self._order,
        }[self.question.kind]()

    def _ratings(self) -> Iterator[Row]:
        if self._system() is not None:
            cells: Mapping[str, Cell] = {str(self._system()): self.cell}
        elif self.cell is None:
            cells = dict.fromkeys(self.question.systems)
        else:
            cells = self._systems_in_cell()
        for system, cell in cells.items():
            shared = {**self.shared, "item_id": self._item(), "system": system}
            value, reason = self._number(cell)
            if self.question.kind == "rating":
                yield {**shared, "score": value, "seconds": self.seconds, "missing_reason": reason}
                continue
            if value is not None and (value < 1 or value != int(value)):
                raise ResponseError(f"{self.place}: expected a rank from 1, the best, got {_quoted(cell)}")
            yield {**shared, "rank": None if value is None else int(value), "missing_reason": reason}

    def _system(self) -> str | None:
        column = self.question.system_column
        if column is None:
            return self.question.system
        system = self.row.text(column)
        if system is None:
            raise ResponseError(f"{self.place}: expected a system in column {column!r}, got nothing")
        return system

    def _systems_in_cell(self) -> Mapping[str, Cell]:
        cell = self.cell
        read = _json(cell, self.place) if isinstance(cell, str) and cell.startswith("{") else cell
        if not isinstance(read, dict):
            raise ResponseError(
                f"{self.place}: expected `system` or `system_column` of a {self.question.kind} in the mapping, or a "
                f'cell such as {{"SYSTEM": VALUE}}, got none and {_quoted(cell)}'
            )
        systems = self.question.systems
        named: dict[str, Cell] = {}
        for key, value in read.items():
            name = self._labelled(key.strip())
            if systems and name not in systems:
                raise ResponseError(f"{self.place}: system {_quoted(name)} is none of {_quoted(', '.join(systems))}")
            if name in named:
                raise ResponseError(f"{self.place}: expected each system once, got {_quoted(name)} twice")
            named[name] = _plain(value)
        return {**named, **{name: None for name in systems if name not in named}}

    def _number(self, cell: Cell) -> tuple[float | None, str | None]:
        """Return a number, and the reason where there is none."""
        if cell is None:
            return None, EMPTY
        if isinstance(cell, list | dict):
            raise ResponseError(f"{self.place}: expected one number, got {_quoted(json.dumps(cell))}")
        value = number(cell, self.words)
        return value, None if value is not None else shortened(cell, 40)

    def _preference(self) -> Iterator[Row]:
        question = self.question
        value, reason = self._number(self.cell)
        low, high = question.scale or ((0.0, 100.0) if question.percent else (0.0, 1.0))
        if value is not None:
            value = (value - low) / (high - low)
            if not 0 <= value <= 1:
                raise ResponseError(
                    f"{self.place}: expected a preference from {low:g} to {high:g} (percent = true reads 0 to 100, "
                    f"scale = [LOW, HIGH] others), got {_quoted(self.cell)}"
                )
        yield {
            **self.shared,
            **self._pair_columns(),
            "item_id": self.item,
            "exposure": question.exposure,
            "preference": value,
            "missing_reason": reason,
        }

    def _choice(self) -> Iterator[Row]:
        won, reason = None, EMPTY
        if self.cell is not None:
            if isinstance(self.cell, list | dict):
                raise ResponseError(f"{self.place}: expected one winner, got {_quoted(json.dumps(self.cell))}")
            won, reason = winner(self.cell, self.words, self._named_pair()), shortened(self.cell, 40)
        yield {
            **self.shared,
            **self._pair_columns(),
            "item_id": self._item(),
            "winner": won,
            "missing_reason": None if won is not None else reason,
        }

    def _named_pair(self) -> RowPair:
        sides: dict[str | None, Sides] = {"name": "names", "side": "places"}
        return RowPair(
            systems=self._pair(), columns=pair_columns(self.question), sides=sides.get(self.question.winner_is)
        )

    def _pair_columns(self) -> Row:
        system_x, system_y = self._pair()
        return {"system_x": system_x, "system_y": system_y}

    def _pair(self) -> tuple[str, str]:
        question, row = self.question, self.row
        if question.systems_in is not None:
            return self._pair_in_cell(question.systems_in)
        system_x = row.text(question.system_x_column) if question.system_x_column else question.system_x
        system_y = row.text(question.system_y_column) if question.system_y_column else question.system_y
        if system_x is None or system_y is None or system_x == system_y:
            found = f", got {_quoted(system_x)} twice" if system_x is not None and system_x == system_y else ""
            raise ResponseError(
                f"{self.place}: expected `system_x` and `system_y`, two systems, of a comparison in the mapping, or "
                f"their columns `system_x_column` and `system_y_column`{found}"
            )
        return system_x, system_y

    def _pair_in_cell(self, column: str) -> tuple[str, str]:
        text = self.row.text(column) or ""
        separator = self.question.separator
        if separator is None:
            raise ResponseError(f"{self.place}: expected `separator`, what stands between the systems in {column!r}")
        parts = [part.strip() for part in text.split(separator)]
        if len(parts) > 2:
            raise ResponseError(
                f"{self.row.place}, {column}: expected two systems around one {separator!r}, got {_quoted(text)}; a "
                "name holds the separator: name the systems in columns of their own, or by a pattern in `split`"
            )
        if len(parts) < 2 or not all(parts) or parts[0] == parts[1]:
            raise ResponseError(
                f"{self.row.place}, {column}: expected two systems around {separator!r}, got {_quoted(text)}"
            )
        return parts[0], parts[1]

    def _order(self) -> Iterator[Row]:
        shared = {**self.shared, "item_id": self._item()}
        if self.cell is None or (isinstance(self.cell, str) and self._is_missing(self.cell)):
            reason = EMPTY if self.cell is None else shortened(self.cell, 40)
            for system in self.question.systems:
                yield {**shared, "system": system, "rank": None, "missing_reason": reason}
            return
        rank, seen = 1, set[str]()
        for place in self._ordered():
            for system in place:
                if system in seen:
                    raise ResponseError(f"{self.place}: expected each system once, got {_quoted(system)} twice")
                seen.add(system)
                yield {**shared, "system": system, "rank": rank, "missing_reason": None}
            rank += len(place)

    def _is_missing(self, cell: str) -> bool:
        explained = self.words.explained(cell)
        return explained in NONE_GIVEN or (explained is None and is_no_answer(cell))

    def _ordered(self) -> list[list[str]]:
        """Return the systems, best first, those of one place together."""
        cell = _json(self.cell, self.place) if isinstance(self.cell, str) and self.cell.startswith("[") else self.cell
        if isinstance(cell, dict):
            raise ResponseError(f'{self.place}: expected systems, best first; {{"SYSTEM": RANK}} is kind = "rank"')
        if isinstance(cell, list):
            places = [[str(name) for name in one] if isinstance(one, list) else [str(one)] for one in cell]
        else:
            separator = self.question.separator or (">" if ">" in str(cell) else ",")
            places = [one.split("=") if separator == ">" else [one] for one in str(cell).split(separator)]
            places = _whole_names(places, separator, self.question.systems)
        return [[self._ordered_name(name.strip()) for name in place] for place in places]

    def _labelled(self, name: str) -> str:
        """Return the system that a label stands for in this row, a name without a label as it is."""
        column = self.question.labels.get(name)
        if column is None:
            return name
        system = self.row.text(column)
        if system is None:
            raise ResponseError(
                f"{self.place}: expected the system {_quoted(name)} stands for in {column!r}, got nothing"
            )
        return system

    def _ordered_name(self, name: str) -> str:
        named = self._labelled(name) if name in self.question.labels else self.words.explained(name) or name
        systems = self.question.systems
        if not named or (systems and named not in systems):
            raise ResponseError(
                f"{self.place}: expected a system of {_quoted(', '.join(systems))}, got {_quoted(name)}; `separator` "
                "says what stands between them, `values` what a label stands for"
            )
        return named

    def _item(self) -> str:
        if self.item is None:
            raise ResponseError(
                f"{self.place}: expected the item, from `item` of the question or of the mapping, got neither"
            )
        return self.item


def _whole_names(places: list[list[str]], separator: str, systems: tuple[str, ...]) -> list[list[str]]:
    """Put together the parts of names that hold the separator.

    >>> _whole_names([["alpha"], ["beta"], [" v2"]], ",", ("beta, v2", "alpha"))
    [['alpha'], ['beta, v2']]
    """
    if not systems or any(len(place) != 1 for place in places):
        return places
    parts = [place[0] for place in places]
    whole: list[list[str]] = []
    while parts:
        sizes = range(len(parts), 1, -1)
        size = next((size for size in sizes if separator.join(parts[:size]).strip() in systems), 1)
        whole.append([separator.join(parts[:size])])
        parts = parts[size:]
    return whole


def _json(text: str, place: str) -> Any:
    try:
        return json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else error
        raise ResponseError(f"{place}: expected JSON, got {_quoted(text)}: {shortened(reason)}") from error


def _plain(value: object) -> Cell:
    if value is None or isinstance(value, list | dict):
        return value
    return (str(value).lower() if isinstance(value, bool) else str(value).strip()) or None


def _quoted(text: object) -> str:
    return shortened(repr(text))
