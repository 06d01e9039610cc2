"""Ids of a table in parts: written in one way slice by slice, and what only all parts together show."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.answers.columns import ROLES
from analysis.answers.given_names import FRACTION, FRACTIONAL, written
from analysis.answers.identity import changes, distinct, models_of, seen_of, with_ids
from analysis.answers.input_files import InputFile
from analysis.answers.joins import unmet, without_answers
from analysis.answers.options import Reading
from analysis.answers.order import Order
from analysis.answers.people import met_logins, person_of_login, refuse_models
from analysis.answers.reading import RawTable
from analysis.answers.same_names import NearNames, explicit_same, find_near_names
from analysis.answers.tables import AnswerTables
from spa.errors import AnalysisError, ArgumentProblem, shortened

Visits = frozenset[tuple[str, str | None]]  # annotators, or their assignments


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsFound:
    """How the ids of a part are written, and which of the names that options and tables beside give it has.

    Attributes
    ----------
    whole, other : frozenset of str
        Columns in which every id of a slice is a whole number with ".0" behind it, and those with another id.
    joined : frozenset of (str, str)
        Column and name of those that the options ``same`` and ``people`` concern.
    met : frozenset of (str, str or None)
        Annotators and assignments of the tables beside.
    """

    whole: frozenset[str] = frozenset()
    other: frozenset[str] = frozenset()
    joined: frozenset[tuple[str, str]] = frozenset()
    met: Visits = frozenset()


def identified_slice(table: RawTable, reading: Reading, named: Visits) -> tuple[RawTable, Reading, IdsFound]:
    """Write the ids of some rows in one way: the table, what options then call its annotators, and what was found.

    Raises
    ------
    AnalysisError
        As of :func:`analysis.answers.identity.identified`.
    """
    seen = seen_of(table)
    names = {role: distinct([seen], role) for role in ROLES}
    names = {role: own for role, own in names.items() if len(own)}
    whole = frozenset(
        role for role, own in names.items() if own[0].endswith(FRACTION) and own.str.contains(FRACTIONAL).all()
    )
    names = {role: own.str.strip_suffix(FRACTION) if role in whole else own for role, own in names.items()}
    renamed = explicit_same(reading.same)
    annotators = frozenset(names["annotator_id"].to_list()) if "annotator_id" in names else frozenset()
    llms = tuple(written(llm, annotators, renamed.get("annotator_id", {})) for llm in reading.llms)
    person_of = {}
    if reading.people is not None:
        person_of = person_of_login(reading.people, annotators, "annotator_id" in whole)
        refuse_models(reading.people, person_of, models_of({"": [table]}, llms))
    given = {**renamed, "annotator_id": {**renamed.get("annotator_id", {}), **person_of}}
    joined = ((role, name) for role, own in given.items() if role in names for name in names[role] if name in own)
    done = with_ids(table, changes(renamed, person_of), whole, seen)
    return (
        done,
        replace(
            reading,
            llms=llms,
            rescale={written(name, annotators, given["annotator_id"]): own for name, own in reading.rescale.items()},
        ),
        IdsFound(
            whole=whole,
            other=frozenset(names) - whole,
            joined=frozenset(joined),
            met=_met(done.frame, named),
        ),
    )


def _met(frame: pl.DataFrame, named: Visits) -> Visits:
    """Return those of some annotators and assignments that stand in a table."""
    if not named or "annotator_id" not in frame.columns:
        return frozenset()
    own = frame.filter(pl.col("annotator_id").is_in([*{annotator for annotator, _ in named}]))
    assignment = pl.col("assignment_id") if "assignment_id" in frame.columns else pl.lit(None)
    visits = own.select(pl.col("annotator_id").cast(pl.String), assignment.cast(pl.String)).unique().rows()
    return named & {*visits, *((annotator, None) for annotator, _ in visits)}


def together(each_ids: Iterable[IdsFound]) -> IdsFound:
    """Return what several slices or parts have together."""
    each = list(each_ids)
    return IdsFound(
        **{name: frozenset().union(*(getattr(one, name) for one in each)) for name in IdsFound.__dataclass_fields__}
    )


def written_llms(reading: Reading, seen: pl.Series, key_of: Callable[[Sequence[str]], pl.Series]) -> list[str]:
    """Return the LLMs as the parts write them; ``seen`` are keys of annotators, and ``key_of`` those of names."""
    joined = explicit_same(reading.same).get("annotator_id", {})
    found = []
    for llm in reading.llms:
        ways = [llm, written(llm, (), joined), *(written(llm, (one,), joined) for one in _ways(llm))]
        there = key_of(ways).is_in(seen).to_list()
        found.append(next((way for way, met in zip(ways, there, strict=True) if met), llm))
    return found


def _ways(name: str) -> tuple[str, ...]:
    composed = unicodedata.normalize("NFC", name.strip())
    return composed, composed.removesuffix(FRACTION)


def two_ways(by_address: Sequence[tuple[str, IdsFound]]) -> list[str]:
    """Name a part whose ids are written 5.0 where they are 5 in another, or in other rows of it."""
    for role in ROLES:
        plain = next((address for address, ids in by_address if role in ids.other), None)
        split = next((address for address, ids in by_address if role in ids.whole), None)
        if plain is not None and split is not None:
            where = "in its other rows" if plain == split else f"in {plain}"
            return [
                f"{split}: expected {role} as {where}, got fractional numbers, by which 5.0 is another than 5; save it "
                "as text or whole numbers in every part"
            ]
    return []


def unmet_options(reading: Reading, ids: IdsFound) -> list[str]:
    """Return a problem for each name that ``same`` joins and no part has."""
    return [
        ArgumentProblem(
            "same",
            in_python=f"={[f'{role}:{old}={new}']!r}",
            in_command=f" {shortened(f'{role}:{old}={new}')}",
            after=f": no part has the name {shortened(repr(old), 40)}",
        )
        for role, own in explicit_same(reading.same).items()
        for old, new in own.items()
        if (role, old) not in ids.joined
    ]


def said_of_people(reading: Reading, ids: IdsFound) -> tuple[str, ...]:
    """Return what is to be said of the table of people; refuse one that no part meets."""
    if reading.people is None:
        return ()
    annotators = {name for role, name in ids.joined if role == "annotator_id"}
    return met_logins(reading.people, person_of_login(reading.people, annotators, True), annotators, ())


def refuse_unmet(place: str, must_meet: Visits, met: Visits) -> None:
    """Refuse exclusions of annotators and assignments that no part has."""
    annotators = {annotator for annotator, _ in must_meet}
    lacking = sorted(annotators - {annotator for annotator, _ in met})
    problems = [unmet(place, "annotators who answered", lacking, len(annotators), (), "annotator_id")] * bool(lacking)
    wrong = sorted((a, str(visit)) for a, visit in must_meet - met if visit is not None and a not in lacking)
    problems += [
        f"{place}: expected an assignment of {shortened(repr(annotator), 30)}, got {shortened(repr(visit), 30)}, so "
        "that nothing would be excluded"
        for annotator, visit in wrong[:3]
    ]
    if problems:
        raise AnalysisError(*problems)


def beside_inputs(beside: AnswerTables, absent: Visits) -> tuple[InputFile, ...]:
    """Return the files of the tables beside, with how many annotators of theirs have no answers.

    Raises
    ------
    AnalysisError
        When nobody in the table of annotators has.
    """
    if beside.annotators is None:
        return beside.inputs
    ids = beside.annotators["annotator_id"].to_list()
    lacking = [name for name in ids if (name, None) in absent]
    if len(lacking) == len(ids):
        raise AnalysisError(unmet("annotators", "annotators that have answers", lacking, len(ids), (), "annotator_id"))
    if not lacking:
        return beside.inputs
    note = without_answers(len(lacking), len(ids), "annotator_id")
    return tuple(replace(one, notes=(*one.notes, note)) if one.table == "annotators" else one for one in beside.inputs)


def near_names_of_parts(order: Order, annotators: pl.DataFrame | None) -> tuple[NearNames, ...]:
    """Return the names of systems, criteria and annotators (``None``: too many) that are nearly the same."""
    criteria = {name.partition("\x1f")[0] for name in order.criteria}
    people = () if annotators is None else annotators["annotator_id"].to_list()
    return find_near_names({"system": order.systems, "criterion": criteria, "annotator_id": people})
