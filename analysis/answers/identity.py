"""Who is who: the ids by which tables are joined, written in one way in all of them.

Ids are texts and never read as numbers: ``1e5``, ``007`` and ids of twenty digits stay as they are written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import polars as pl

from analysis.answers.columns import NAMED, NOTHING, OTHER_NAMES, ROLES, Scale
from analysis.answers.given_names import FRACTION, FRACTIONAL, written
from analysis.answers.options import Reading
from analysis.answers.people import met_logins, person_of_login, refuse_models
from analysis.answers.reading import RawTable
from analysis.answers.same_names import Names, Renamed, explicit_same, parse_same
from analysis.statistics.coding import FEW, Different, translate

Seen: TypeAlias = Mapping[str, pl.Series]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Identified:
    """Tables whose ids are written in one way, and how names given by options are.

    Attributes
    ----------
    names : mapping of str to mapping of str to frozenset of str
        The different names of each column, by kind of table.
    renamed : mapping of str to mapping of str to str
        What the option ``same`` joined.
    people : tuple of str
        What is to be said of the table of people.
    """

    tables: dict[str, list[RawTable]]
    reading: Reading
    names: Mapping[str, Mapping[str, frozenset[str]]]
    renamed: Renamed = field(default_factory=dict)
    people: tuple[str, ...] = ()

    @property
    def together(self) -> dict[str, frozenset[str]]:
        """Return the different names of each column over all tables."""
        return {role: union(self.names, role) for role in ROLES}

    @property
    def own_names(self) -> dict[str, frozenset[str]]:
        """Return those of them that the files give: unnamed annotators have none of their own."""
        nameless = self.reading.unnamed or self.reading.means
        return {role: own for role, own in self.together.items() if not nameless or role != "annotator_id"}

    def about_people(self) -> tuple[str, ...]:
        """Say in an error that rows of one person may be those of several ids."""
        if self.reading.people is None:
            return ()
        what = "a person answers a cell once, whichever id was used, and has one row in a table of annotators"
        return (f"{self.reading.people.place}: {self.people[0]}; {what}",)


def identified(raw: Mapping[str, Sequence[RawTable]], reading: Reading, *, complete: bool = True) -> Identified:
    """Write the ids of all tables in one way.

    Letters are composed (NFC). Where every id of a file's column is digits followed by ".0", it is the whole number,
    unless another file that has other ids in the column, too, writes one of them so.
    Then names are joined as ``reading.same`` and ``reading.people`` say; tables that are not ``complete`` need not have
    all of these.

    Raises
    ------
    AnalysisError
        When an option joins names that no table has, or people and an LLM.
    """
    seen = {kind: [seen_of(table) for table in tables] for kind, tables in raw.items()}
    files = {(kind, place): own for kind, several in seen.items() for place, own in enumerate(several)}
    composed = {file: {role: distinct([own], role) for role in ROLES} for file, own in files.items()}
    whole = {role: _written_as_fractions({file: own[role] for file, own in composed.items()}) for role in ROLES}
    names: dict[str, dict[str, frozenset[str]]] = {kind: {} for kind in seen}
    for (kind, place), roles in composed.items():
        for role, own in roles.items():
            if len(own):
                plain = _plain(own, (kind, place) in whole[role])
                names[kind][role] = names[kind].get(role, frozenset()).union(plain)
    together = {role: union(names, role) for role in ROLES}
    annotators = together["annotator_id"]
    renamed = parse_same(reading.same, together) if complete else explicit_same(reading.same)
    llms = tuple(written(llm, annotators, renamed.get("annotator_id", {})) for llm in reading.llms)
    person_of: Mapping[str, str] = {}
    said: tuple[str, ...] = ()
    if reading.people is not None:
        person_of = person_of_login(reading.people, annotators, bool(whole["annotator_id"]))
        models = models_of(raw, llms)
        refuse_models(reading.people, person_of, models)
        said = met_logins(reading.people, person_of, annotators, annotators - models) if complete else ()
    changed = changes(renamed, person_of)
    return Identified(
        tables={
            kind: [
                with_ids(table, changed, [role for role, there in whole.items() if (kind, place) in there], own)
                for place, (table, own) in enumerate(zip(tables, seen[kind], strict=True))
            ]
            for kind, tables in raw.items()
        },
        reading=replace(
            reading,
            llms=llms,
            scales=_scales(reading.scales, together["criterion"], renamed),
            rescale={written(name, annotators, changed["annotator_id"]): own for name, own in reading.rescale.items()},
            controls=tuple(written(name, together["system"], renamed.get("system", {})) for name in reading.controls),
            system_roles={
                name: role and replace(role, system=name)
                for given, role in reading.system_roles.items()
                for name in [written(given, together["system"], renamed.get("system", {}))]
            },
        ),
        names={
            kind: {
                role: frozenset(changed.get(role, {}).get(name, name) for name in own) if changed.get(role) else own
                for role, own in roles.items()
            }
            for kind, roles in names.items()
        },
        renamed=renamed,
        people=said,
    )


def beside_agreed(raw: Mapping[str, Sequence[RawTable]], kinds: Collection[str]) -> dict[str, list[RawTable]]:
    """Write the ids of tables of some ``kinds`` as the other tables, whose ids agree, write them."""
    seen = {kind: [seen_of(table) for table in tables] for kind, tables in raw.items()}
    renamed: dict[str, dict[str, str]] = {}
    for role in ROLES:
        known = frozenset(distinct([one for kind in seen if kind not in kinds for one in seen[kind]], role).to_list())
        own = distinct([one for kind in seen if kind in kinds for one in seen[kind]], role).to_list()
        new = {name: written(name, known, {}) for name in own if name not in known}
        if any(name != given for given, name in new.items()):
            renamed[role] = {given: name for given, name in new.items() if given != name}
    return {
        kind: [with_ids(table, renamed, (), one) for table, one in zip(tables, seen[kind], strict=True)]
        if kind in kinds
        else [*tables]
        for kind, tables in raw.items()
    }


def union(names: Mapping[str, Names], role: str) -> frozenset[str]:
    """Return the names of a column over several tables."""
    return frozenset().union(*(own.get(role, ()) for own in names.values()))


def with_ids(table: RawTable, renamed: Renamed, whole: Collection[str], seen: Seen | None = None) -> RawTable:
    """Return a table with ids written in one way.

    Parameters
    ----------
    table : RawTable
    renamed : mapping of str to mapping of str to str
        Role -> name, with composed letters -> the name that it is joined to.
    whole : collection of str
        Roles whose whole numbers end in ".0".
    seen : mapping of str to Series, optional
        The different names of each column, as they are written.
    """
    seen = seen_of(table) if seen is None else seen
    columns: list[pl.Series] = []
    notes = list(table.notes)
    for role, own in (*ROLES.items(), *((name, (name,)) for name in OTHER_NAMES)):
        joined, there = renamed.get(role, {}), [name for name in own if name in seen]
        letters: set[str] = set()
        others: set[str] = set()
        for name in there:
            composed = _composed(seen[name])
            changed = composed is not seen[name] and (composed != seen[name]).any()
            letters |= {*seen[name].filter(composed != seen[name]).to_list()} if changed else set()
            plain = composed.str.strip_suffix(FRACTION) if role in whole else composed
            here = {*plain.filter(plain.is_in([*joined])).to_list()} if joined else set()
            others |= here
            if role in whole or changed or here:
                columns.append(_rewritten(table.frame[name], joined, whole=role in whole))
        if role in whole and there:
            notes.append(f"{role}: whole numbers written with {FRACTION} read without it")
        if letters:
            notes.append(f"{role}: {_names(len(letters))} read with composed letters (NFC)")
        if others:
            notes.append(f"{role}: {_names(len(others))} joined to another")
    return replace(table, frame=table.frame.with_columns(columns), notes=tuple(notes)) if columns else table


def seen_of(table: RawTable) -> dict[str, pl.Series]:
    """Return the different names of each column of names, as they are written."""
    names = (name for name in table.frame.columns if name in NAMED)
    return {name: _unique(table.frame[name], table.different) for name in names}


def _scales(scales: Iterable[Scale], criteria: Collection[str], renamed: Renamed) -> tuple[Scale, ...]:
    joined = renamed.get("criterion", {})
    return tuple(
        scale if scale.criterion is None else replace(scale, criterion=written(scale.criterion, criteria, joined))
        for scale in scales
    )


def distinct(seen: Sequence[Seen], role: str) -> pl.Series:
    """Return the different names of a role over the files of a kind, with composed letters."""
    each = [_composed(own[name]) for own in seen for name in ROLES[role] if name in own]
    return Different().of(pl.concat(each)) if each else pl.Series(dtype=pl.String)


def _unique(column: pl.Series, different: Different) -> pl.Series:
    seen = different.of(column).cast(pl.String)
    seen = seen.drop_nulls() if seen.has_nulls() else seen
    if len(seen) <= FEW:
        names = seen.to_list()
        return seen.filter([name not in NOTHING for name in names]) if {*NOTHING} & {*names} else seen
    return seen.filter(~seen.is_in(NOTHING))


def _composed(names: pl.Series) -> pl.Series:
    if len(names) <= FEW:
        plain = all(name is None or name.isascii() for name in names.to_list())
    else:
        plain = (names.str.len_bytes() == names.str.len_chars()).all()
    return names if plain else names.str.normalize("NFC")


def _written_as_fractions(by_file: Mapping[tuple[str, int], pl.Series]) -> frozenset[tuple[str, int]]:
    """Return the files, by kind of table and place, in which every name is a whole number followed by ".0"."""
    fractional = {file: own.filter(own.str.contains(FRACTIONAL)) for file, own in by_file.items() if len(own)}
    found = {file for file, own in fractional.items() if len(own) == len(by_file[file])}
    while True:
        kept = frozenset().union(*(own.to_list() for file, own in fractional.items() if file not in found))
        held = {file for file in found if kept and fractional[file].is_in([*kept]).any()}
        if not held:
            return frozenset(found)
        found -= held


def _plain(names: pl.Series, whole: bool) -> list[str]:
    listed: list[str] = (names.str.strip_suffix(FRACTION) if whole else names).to_list()
    return listed


def _rewritten(column: pl.Series, joined: Mapping[str, str], *, whole: bool) -> pl.Series:
    def change(names: pl.Series) -> pl.Series:
        names = _composed(names)
        if whole:
            names = names.str.strip_suffix(FRACTION)
        return names.replace(dict(joined)) if joined else names

    if isinstance(column.dtype, pl.Categorical):
        changed = translate(column, lambda seen: change(seen).cast(pl.Categorical))
    else:
        changed = change(column)
    return changed.alias(column.name)


def _names(n: int) -> str:
    return "1 name" if n == 1 else f"{n:,} names"


def changes(renamed: Renamed, person_of: Mapping[str, str]) -> dict[str, Mapping[str, str]]:
    """Return what each name becomes, by its column: what it is joined to, and of a login the person."""
    joined = renamed.get("annotator_id", {})
    annotators = {**person_of, **{old: person_of.get(new, new) for old, new in joined.items()}}
    moved = {old: new for old, new in annotators.items() if old != new}
    return {**renamed, "annotator_id": moved}


def models_of(raw: Mapping[str, Sequence[RawTable]], llms: Sequence[str]) -> set[str]:
    """Return the annotators that an option or a column calls LLMs."""
    frames = [table.frame for tables in raw.values() for table in tables]
    said = [frame for frame in frames if {"annotator_id", "annotator_kind"} <= {*frame.columns}]
    models = [one.filter(pl.col("annotator_kind") == "llm")["annotator_id"] for one in said]
    each = [_composed(_unique(one, Different())) for one in models]
    return {*llms, *(name for names in each for name in names.to_list())}
