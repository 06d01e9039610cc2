"""What each column of a file was taken for, in one line each, with the argument that corrects it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.answers.column_contents import FEW, SHORT, Columns, shown
from analysis.answers.column_names import is_turn, plain_name
from analysis.answers.extremes import PageColumns
from spa.errors import ArgumentProblem

WHAT = {
    "annotator_id": "annotator",
    "item_id": "item",
    "system": "system",
    "system_x": "first system",
    "system_y": "second system",
    "criterion": "criterion",
    "annotator_kind": "kind of annotator",
    "score": "score",
    "winner": "winner",
    "preference": "preference",
    "rank": "rank",
    "severity": "severity",
    "repeat": "number of an answer that was given again",
}
COUNTED = {"annotator_id": "annotators", "item_id": "items"}  # of the others the values are named
MEASURED = ("score", "preference", "rank")
LISTED = 12
MEAN_OPINION = re.compile("d?mos|(?:mean)?opinionscore|mos(?:score|mean)|meanmos")
SWAPPED = re.compile(
    "(?:is|was|were|sides?|order|positions?)?(?:swap|swapped|flip|flipped|reversed|switched)(?:sides?|order)?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnFound:
    """What a column was taken for, in one line, and the argument that corrects it."""

    note: str
    otherwise: ArgumentProblem

    def line(self, options: Mapping[str, str]) -> str:
        """Return the line with the option (parameter -> option) that corrects it."""
        option = options.get(self.otherwise.parameter)
        return f"{self.note}; else {self.otherwise if option is None else self.otherwise.with_option(option)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFound:
    """What a file is, and what :class:`analysis.Reading` says of it."""

    place: str
    kind: str
    mapping: Mapping[str, str] = field(default_factory=dict)
    criteria: tuple[str, ...] = ()
    systems: Mapping[str, str] = field(default_factory=dict)
    annotator_columns: tuple[str, ...] = ()
    llms: tuple[str, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)
    restated: Mapping[str, str] = field(default_factory=dict)
    page: PageColumns | None = None
    unnamed: bool = False
    means: bool = False
    columns: tuple[ColumnFound, ...] = ()

    def notes(self) -> tuple[str, ...]:
        """Return what each column was taken for."""
        return tuple(one.note for one in self.columns)


def with_lines(
    table: TableFound, columns: Columns, roles: Mapping[str, str], *, unread: Sequence[str], judges: Sequence[str]
) -> TableFound:
    """Return what a file is with a line for each of its columns.

    Parameters
    ----------
    table : TableFound
    columns : Columns
        Of the file.
    roles : mapping of str to str
        Our column -> the file's, those of our own names, too.
    unread : sequence of str
        Columns that were taken for nothing.
    judges : sequence of str
        One or two annotators who may be LLMs.
    """
    answers = {"orders": "ranks", "choices": "winners"}.get(table.kind, "scores")
    new = {role: name for name, role in table.mapping.items()}
    said = [kind_said(table.kind), *(role_said(columns, role, new[role]) for role in WHAT if role in new)]
    said += [llms_said(table.llms)] if table.llms else people_said(judges)
    said += nameless_said(roles.get("score", ""), means=table.means) if table.unnamed or table.means else []
    said += swapped_said(unread) if table.kind in ("choices", "preferences") else []
    said += [won_said(roles["system_x"], roles["system_y"])] if table.constants else []
    said += [criteria_said(table.criteria)] if table.criteria else []
    said += [restated_said(name, of) for name, of in table.restated.items()]
    said += [page_said(table.page)] if table.page is not None else []
    said += [systems_said(table.systems, answers)] if table.systems and table.page is None else []
    said += [annotator_columns_said(table.annotator_columns, answers)] if table.annotator_columns else []
    return replace(table, columns=tuple(said))


def kind_said(kind: str) -> ColumnFound:
    """Say what kind of table it is."""
    other = "ratings" if kind != "ratings" else "choices"
    otherwise = ArgumentProblem(other, in_command=" FILE", after=", or the option of its kind")
    return ColumnFound(note=f"table: {kind}", otherwise=otherwise)


def role_said(columns: Columns, role: str, name: str) -> ColumnFound:
    """Say which column has a role, and how many or which values it has."""
    n = columns.distinct(name)
    of = COUNTED.get(role)
    ends = columns.ends(name) if role in MEASURED and columns.numeric(name) else None
    if ends is not None:
        about = f"{ends[0]:g} to {ends[1]:g}"
    elif of is None:
        values = columns.values(name) if n <= FEW else []
        about = shown([value if len(value) <= SHORT else f"{value[:SHORT]}..." for value in values])
    else:
        about = f"{n:,} {of if n > 1 else of[:-1]}"
    note = f"{WHAT[role]}: column {shown([name])}" + (f" ({about})" if about else "")
    old, new, after = "YOURS", role, ""
    if role == "criterion" and is_turn(name):
        old, new, after = name, "turn", " (means over turns)"
    command = f" {shlex.quote(f'{old}={new}')}"
    otherwise = ArgumentProblem("mapping", in_python=f"={ {old: new} }", in_command=command, after=after)
    return ColumnFound(note=note, otherwise=otherwise)


def llms_said(names: Sequence[str]) -> ColumnFound:
    """Say which annotators are taken for LLMs."""
    otherwise = ArgumentProblem(
        "constants", in_python="={'annotator_kind': 'human'}", in_command=" annotator_kind=human"
    )
    return ColumnFound(note=f"LLMs, by their names: {shown(names)}", otherwise=otherwise)


def people_said(names: Sequence[str]) -> list[ColumnFound]:
    """Say which annotators are taken for people, where they are few."""
    if not names:
        return []
    otherwise = ArgumentProblem("llms", in_python=f"={[names[0]]}", in_command=f" {shlex.quote(names[0])}")
    note = f"{'people' if len(names) > 1 else 'a person'}: {shown(names)}"
    return [ColumnFound(note=note, otherwise=otherwise)]


def won_said(won: str, lost: str) -> ColumnFound:
    """Say that one column names the system that won, another the one that lost."""
    note = f"winner: the system in {shown([won])}, over that in {shown([lost])}"
    after = f" (where that in {shown([won])} lost)"
    otherwise = ArgumentProblem("constants", in_python="={'winner': 'y'}", in_command=" winner=y", after=after)
    return ColumnFound(note=note, otherwise=otherwise)


def swapped_said(names: Sequence[str]) -> list[ColumnFound]:
    """Say that a column of swapped sides turns no winner."""
    name = next((name for name in names if SWAPPED.fullmatch(plain_name(name))), None)
    if name is None:
        return []
    otherwise = ArgumentProblem(
        "drop", in_python=f"={ {name: ('VALUE',)} }", in_command=f" {shlex.quote(name)}=VALUE", after=" (swapped rows)"
    )
    note = f"{shown([name])}: not read, so a winner is one of the two columns as they stand, not as they were shown"
    return [ColumnFound(note=note, otherwise=otherwise)]


def nameless_said(score: str, *, means: bool) -> list[ColumnFound]:
    """Say how answers are taken of which no column says whose they are."""
    return [_opinion_said(score)] if means else [_unnamed_said(), *_means_said(score)]


def _means_said(name: str) -> list[ColumnFound]:
    """Say that scores without people, called means, are read as those of one person."""
    if not re.match("mean|avg|average", plain_name(name)):
        return []
    otherwise = ArgumentProblem("means", in_python="=True", after=" (of several people, one per output)")
    return [ColumnFound(note=f"{shown([name])}: taken as scores of one person an output", otherwise=otherwise)]


def are_means(name: str, columns: Columns) -> bool:
    """Whether scores without people are mean opinion scores, as their name and their fractions say."""
    fractions = columns.frame[name].drop_nulls().str.contains(r"[.,]0*[1-9]").any() if name else False
    return bool(fractions) and MEAN_OPINION.fullmatch(plain_name(name)) is not None


def _opinion_said(name: str) -> ColumnFound:
    """Say that scores are taken for means of several people."""
    otherwise = ArgumentProblem("unnamed", in_python="=True", after=" (of one person an output)")
    return ColumnFound(note=f"{shown([name])}: taken as means of several people, one per output", otherwise=otherwise)


def _unnamed_said() -> ColumnFound:
    """Say how answers are taken of which no column says whose they are."""
    otherwise = ArgumentProblem(
        "constants",
        in_python="={'annotator_id': 'NAME'}",
        in_command=" annotator_id=NAME",
        after=" (one annotator; {file}: one a file; of an LLM add annotator_kind=llm alike)",
    )
    note = "annotator: no column, so answers are those of unnamed people and are tested by item"
    return ColumnFound(note=note, otherwise=otherwise)


def criteria_said(names: Sequence[str]) -> ColumnFound:
    """Say which columns of scores are a criterion each."""
    note = f"scores: column{'s' * (len(names) > 1)} {shown(names, LISTED)}, a criterion each"
    return ColumnFound(note=note, otherwise=_those("criteria", names[0], f"={(names[0], '...')}"))


def restated_said(name: str, of: str) -> ColumnFound:
    """Say which column is not read, as it says what another says."""
    note = f"{shown([name])}: says of every annotator what {shown([of])} says, and is not read"
    both = (of, name)
    otherwise = ArgumentProblem(
        "criteria", in_python=f"={both}", in_command=f" {shlex.quote(','.join(both))}", after=" (a criterion each)"
    )
    return ColumnFound(note=note, otherwise=otherwise)


def page_said(page: PageColumns) -> ColumnFound:
    """Say which columns name the best and the worst of which systems."""
    several = "the list in" if page.listed else "the systems in"
    note = f"best and worst: columns {shown([page.best, page.worst])}, of {several} {shown(page.shown, LISTED)}"
    otherwise = ArgumentProblem("mapping", in_python="={'YOURS': 'best'}", in_command=" YOURS=best")
    return ColumnFound(note=note, otherwise=otherwise)


def annotator_columns_said(names: Sequence[str], answers: str) -> ColumnFound:
    """Say which columns of answers are an annotator each."""
    note = f"{answers}: columns {shown(names, LISTED)}, an annotator each"
    otherwise = ArgumentProblem(
        "criteria",
        in_python=f"={(names[0], '...')}",
        in_command=f" {shlex.quote(f'{names[0]},...')}",
        after=" (a criterion each)",
    )
    return ColumnFound(note=note, otherwise=otherwise)


def systems_said(systems: Mapping[str, str], answers: str) -> ColumnFound:
    """Say which columns of answers are a system each."""
    pairs = [name if name == system else f"{name} ({system})" for name, system in systems.items()]
    first = next(iter(systems))
    otherwise = _those("systems", first, f"={ {first: systems[first]} }")
    return ColumnFound(note=f"{answers}: columns {shown(pairs, LISTED)}, a system each", otherwise=otherwise)


def _those(parameter: str, first: str, in_python: str) -> ArgumentProblem:
    """Return the argument that names columns of scores."""
    return ArgumentProblem(
        parameter,
        in_python=in_python,
        in_command=f" {shlex.quote(f'{first},...')}",
        after=" (those that are scores)",
    )
