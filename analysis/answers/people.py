"""A table of logins and people: annotator ids that are batches or accounts of one person."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from analysis.answers.given_names import FRACTION, FRACTIONAL, written
from analysis.answers.same_names import did_you_mean
from spa.errors import AnalysisError, TableError, shortened
from spa.tables.near_matches import as_shown, nearest_names
from spa.tables.options import TableOptions
from spa.tables.reading import open_table, reading
from spa.tables.source import Wanted

COLUMNS = ("annotator_id", "person")


@dataclass(frozen=True, slots=True, kw_only=True)
class Logins:
    """Who each login is: annotator id -> person. Logins that are not named keep their ids.

    Raises
    ------
    AnalysisError
        When a person is a login of somebody else, so that it is not clear who is meant.
    """

    person_of: Mapping[str, str]
    place: str = "people"
    sha256: str | None = None

    def __post_init__(self) -> None:
        """Refuse chains."""
        for login, person in self.person_of.items():
            other = self.person_of.get(person, person)
            if other != person:
                raise AnalysisError(
                    f"{self.place}: {shortened(repr(login), 40)} is the person {shortened(repr(person), 40)}, which is "
                    f"itself a login of {shortened(repr(other), 40)}; expected people who are nobody's login"
                )


def read_people(path: Path) -> Logins:
    """Read a table with a row a login: ``annotator_id`` and ``person``, or two columns of any names in this order.

    Raises
    ------
    AnalysisError
        When the file cannot be read, has other columns, an empty cell, or two people of one login.
    """
    try:
        with reading(path):
            options = TableOptions()
            columns = tuple(open_table(path, Wanted(columns=frozenset()), options).schema)
            named = COLUMNS if {*COLUMNS} <= {*columns} else columns
            if len(named) != 2:
                raise AnalysisError(
                    f"{path}: expected the columns annotator_id and person, or two columns, got "
                    f"{shortened(', '.join(columns), 200)}"
                )
            source = open_table(path, Wanted(columns=frozenset(named)), options)
            logins, people = (_texts(source.values(name)) for name in named)
            first = source.first_row
        content = path.read_bytes()
    except TableError as error:
        raise AnalysisError(*error.problems) from error
    person_of: dict[str, str] = {}
    for row, (login, person) in enumerate(zip(logins, people, strict=True), first):
        if not login and not person:
            continue
        if not login or not person:
            raise AnalysisError(f"{path}, row {row}: expected a login and a person, got an empty cell")
        if person_of.setdefault(login, person) != person:
            raise AnalysisError(
                f"{path}, row {row}: expected one person a login, got {shortened(repr(person_of[login]), 40)} and "
                f"{shortened(repr(person), 40)} for {shortened(repr(login), 40)}"
            )
    if not person_of:
        raise AnalysisError(f"{path}: expected a row a login, got none")
    return Logins(person_of=person_of, place=str(path), sha256=hashlib.sha256(content).hexdigest())


def _texts(values: list[object]) -> list[str]:
    return ["" if value is None else unicodedata.normalize("NFC", str(value).strip()) for value in values]


def person_of_login(logins: Logins | None, annotators: Collection[str], whole: bool) -> dict[str, str]:
    """Return the person of each login, as the answers write ids; ``whole`` says that these had ".0" behind them."""
    if logins is None:
        return {}
    given = logins.person_of
    people = pl.Series([*{*given.values()}], dtype=pl.String)
    shorten = whole and people.str.contains(FRACTIONAL).all()
    return {
        written(login, annotators, {}): person.removesuffix(FRACTION) if shorten else person
        for login, person in given.items()
    }


def refuse_models(logins: Logins, person_of: Mapping[str, str], models: Collection[str]) -> None:
    """Refuse a table of people that makes an LLM a person, or a person an LLM."""
    mixed = [pair for pair in person_of.items() if pair[0] != pair[1] and not {*models}.isdisjoint(pair)]
    if mixed:
        login, person = (shortened(repr(name), 40) for name in mixed[0])
        raise AnalysisError(f"{logins.place}: expected people alone, got an LLM in the row of {login} and {person}")


def met_logins(
    logins: Logins, person_of: Mapping[str, str], annotators: Collection[str], people: Collection[str]
) -> tuple[str, ...]:
    """Return what is to be said of a table of people: how many logins answered, how many did not, and who lacks a row.

    Raises
    ------
    AnalysisError
        When none answered, or one of the ``people`` who answered lacks a row but for the way of writing.
    """
    there = [login for login in person_of if login in annotators]
    if not there:
        hint = did_you_mean([*person_of], annotators, "annotator_id")
        raise AnalysisError(
            f"{logins.place}: expected ids of annotators, got {len(person_of):,} that no table has, such as "
            f"{', '.join(shortened(repr(one), 30) for one in [*person_of][:3])}{hint}"
        )
    n = len({person_of[login] for login in there})
    said = [f"{len(there):,} annotator ids are {n:,} {'person' if n == 1 else 'people'}"]
    if len(there) < len(person_of):
        said.append(f"{len(person_of) - len(there):,} of {len(person_of):,} ids have no answers")
    absent = sorted({*people} - person_of.keys() - {*person_of.values()})
    if absent:
        near = nearest_names(absent, person_of.keys())
        if near:
            one = absent[[name in near for name in absent].index(True)]
            raise AnalysisError(
                f"{logins.place}: expected a row for {as_shown(one)}, who answered, got one for {as_shown(near[one])}; "
                "write both in one way, or give each a row"
            )
        named = ", ".join(shortened(repr(name), 30) for name in absent[:3])
        said.append(f"{len(absent):,} annotators who answered have no row and count as they are ({named})")
    return tuple(said)
