"""Hidden references and anchors: rated as the others, but no part of order, tests and strengths."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from analysis.answers.columns import ANSWERS
from analysis.answers.groups import distinct
from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.records.system_roles import WEBMUSHRA, UnrankedSystem

SIDES = ("system_x", "system_y")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnrankedRatings:
    """What left the tables: the ``systems`` with their roles, and the rows of the ``ratings`` that are about them.

    ``unaltered`` are items in which the mid anchor hardly differs from the hidden reference.
    """

    systems: tuple[UnrankedSystem, ...] = ()
    ratings: pl.DataFrame | None = None
    unaltered: frozenset[str] = frozenset()

    def of(self, role: str) -> list[str]:
        """Return the systems of a role."""
        return [one.system for one in self.systems if one.role == role]


def named_as_webmushra(systems: Collection[str], roles: Mapping[str, object]) -> tuple[UnrankedSystem, ...]:
    """Return those of webMUSHRA's three names that are there, where nobody says what they are.

    It needs the reference and an anchor: a name alone is no layout.

    >>> [one.system for one in named_as_webmushra({"reference", "anchor35", "a"}, {})]
    ['reference', 'anchor35']
    >>> named_as_webmushra({"reference", "a"}, {}), named_as_webmushra({"reference", "anchor35"}, {"anchor35": None})
    ((), ())
    """
    there = [one for one in WEBMUSHRA if one.system in systems and one.system not in roles]
    return tuple(there) if {"hidden_reference", "anchor"} <= {one.role for one in there} else ()


def recognised_words(systems: Sequence[UnrankedSystem], roles: Mapping[str, object]) -> Iterator[str]:
    """Say what was recognised, of which nobody ``roles`` what it is, with the option that corrects it."""
    if found := [one for one in systems if one.system not in roles]:
        names = ", ".join(f"{one.system} ({one.role})" for one in found)
        yield (
            f"{names}: named as webMUSHRA names the hidden reference and the anchors, so rated, but not ranked or "
            f"tested; --role {found[0].system}=system takes one for a system"
        )


def without_unranked(
    tables: Mapping[str, pl.DataFrame],
    roles: Mapping[str, UnrankedSystem | None],
    *,
    complete: bool = True,
) -> tuple[dict[str, pl.DataFrame], UnrankedRatings]:
    """Take hidden references and anchors out of all tables; keep what was rated of them.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        Checked tables by name.
    roles : mapping of str to UnrankedSystem or None
        By system; ``None`` for one that is a system as others.
    complete : bool
        Whether each name must have answers; in a study that goes on some have none yet.

    Raises
    ------
    AnalysisError
        When no table names a system, or nothing else is left.
    """
    there = _named(tables)
    if complete and (unknown := [name for name in roles if name not in there]):
        after = f": no such system (there are: {shortened(', '.join(sorted(there)), 200)})"
        raise AnalysisError(
            *(
                ArgumentProblem(
                    "system_roles", in_python=f"={{{name!r}: ...}}", in_command=f" {shortened(name)}=...", after=after
                )
                for name in unknown
            )
        )
    ratings = tables.get("ratings")
    rated = set() if ratings is None else {*distinct(ratings, "system")["system"].cast(pl.String).to_list()}
    found = [one for one in roles.values() if one is not None]
    found += named_as_webmushra(rated, roles) if complete else ()
    if not found:
        return dict(tables), UnrankedRatings()
    names = [one.system for one in found]
    left = {kind: table.filter(~_about(table, names)) for kind, table in tables.items()}
    empty = [kind for kind, table in left.items() if table.is_empty() and not tables[kind].is_empty()]
    if not {*ANSWERS} & ({*left} - {*empty}):
        listed = shortened(", ".join(names), 120)
        raise AnalysisError(f"all answers are about hidden references and anchors ({listed}); expected others beside")
    own = None if ratings is None else ratings.filter(_about(ratings, names))
    order = {one.system: place for place, one in enumerate(found)}
    return (
        {kind: table for kind, table in left.items() if kind not in empty},
        UnrankedRatings(
            systems=tuple(sorted(found, key=lambda one: (one.role != "hidden_reference", order[one.system]))),
            ratings=own,
        ),
    )


def _about(table: pl.DataFrame, names: Sequence[str]) -> pl.Expr:
    columns = [name for name in ("system", *SIDES) if name in table.columns]
    if not columns:
        return pl.lit(value=False)
    return pl.any_horizontal(pl.col(name).cast(pl.String).is_in(names).fill_null(value=False) for name in columns)


def _named(tables: Mapping[str, pl.DataFrame]) -> set[str]:
    return {
        str(system)
        for table in tables.values()
        for column in ("system", *SIDES)
        if column in table.columns
        for system in distinct(table, column)[column].to_list()
    }
