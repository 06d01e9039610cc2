"""Names that may be one, and the option that makes them one."""

from __future__ import annotations

import shlex
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from spa.errors import AnalysisError, ArgumentProblem, shortened
from spa.tables.near_matches import NearMatch, as_shown, escaped, matches_shown, near_matches, nearest_names, unescaped

CALLED = {"annotator_id": "annotators", "item_id": "items", "system": "systems", "criterion": "criteria"}
VERSIONED = ("annotator_id", "system")  # columns in which a provider or a date may belong to a name
Names = Mapping[str, Collection[str]]  # the different names of each column, over all tables
Renamed = Mapping[str, Mapping[str, str]]  # column -> name -> the name that it is joined to


@dataclass(frozen=True, slots=True, kw_only=True)
class NearNames:
    """Names of a column, over all tables, that are nearly the same and count as different ones."""

    column: str
    matches: tuple[NearMatch, ...]


def find_near_names(names: Names) -> tuple[NearNames, ...]:
    """Return the names that are nearly the same, by column: systems, annotators, criteria, items."""
    found = {
        column: tuple(near_matches(names.get(column, ()), versions=column in VERSIONED))
        for column in ("system", "annotator_id", "criterion", "item_id")
    }
    return tuple(NearNames(column=column, matches=matches) for column, matches in found.items() if matches)


def near_names_words(near_names: NearNames) -> str:
    """Word the caveat, with the option that joins the names."""
    what, first = CALLED[near_names.column], near_names.matches[0].names
    n = sum(len(match.names) - 1 for match in near_names.matches)
    option = same_option(near_names.column, first[1], first[0])
    shown = matches_shown(near_names.matches)
    if n == 1:
        return f"The {what} {shown} have nearly the same name and count as two ({option} makes them one)."
    return (
        f"{n:,} {what} have nearly the names of others and count by themselves: {shown} ({option} makes two one; all "
        f"of them: --same {near_names.column})."
    )


def same_option(column: str, old: str, new: str) -> str:
    """Return the option, as it is typed, that joins one name to another."""
    return f"--same {shlex.quote(f'{column}:{escaped(old)}={escaped(new)}')}"


def did_you_mean(names: Sequence[str], known: Collection[str], column: str) -> str:
    """Return a question that offers the known name to which one of ``names`` is near; nothing where there is none."""
    near = nearest_names(names, known, versions=column in VERSIONED)
    return next((f"; did you mean {as_shown(near[name])}?" for name in names if name in near), "")


def how_to_join(names: Sequence[str], known: Collection[str], column: str) -> str:
    """Return the same with the option that joins the two, and all like them."""
    near = nearest_names(names, known, versions=column in VERSIONED)
    for name in names:
        if name in near:
            every = f"; all like them: --same {column}" if len(near) > 1 else ""
            option = same_option(column, name, near[name])
            return f"; did you mean {as_shown(near[name])}? ({option} makes them one{every})"
    return ""


def parse_same(texts: Sequence[str], names: Names) -> dict[str, dict[str, str]]:
    r"""Return what ``same`` joins: column -> name -> the name that it is joined to.

    Parameters
    ----------
    texts : sequence of str
        Each ``OLD=NEW`` or ``COLUMN:OLD=NEW``, or a column (item_id), whose names that are nearly the same all become
        one. In OLD and NEW ``\u200b`` stands for a character that cannot be typed.
    names : mapping of str to collection of str
        The different names of each column.

    Raises
    ------
    AnalysisError
        When a text says something else, names what no table has, or a name is joined to two.
    """
    joined: dict[str, dict[str, str]] = {}
    problems: list[str] = []
    for text in texts:
        if text in CALLED:
            matches = near_matches(names.get(text, ()), versions=text in VERSIONED)
            new = [(text, name, match.names[0]) for match in matches for name in match.names[1:]]
        else:
            new = list(_pairs(text, names))
            problems += _not_one(text, new, names)
        for column, old, name in new:
            if joined.setdefault(column, {}).setdefault(old, name) != name:
                problems.append(_problem(text, f"{shortened(repr(old), 40)} is joined to two names"))
    if not problems:
        problems += [
            _problem(f"{column}:{old}={name}", "two names are each joined to the other")
            for column, own in joined.items()
            for old, name in own.items()
            if _end(own, name) is None
        ]
    if problems:
        raise AnalysisError(*problems)
    return {column: {old: _end(own, name) or name for old, name in own.items()} for column, own in joined.items()}


def explicit_same(texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """Do what :func:`parse_same` does where nobody knows all names: each text must name the column.

    Raises
    ------
    AnalysisError
        When it does not, or a name is joined to two.
    """
    joined: dict[str, dict[str, str]] = {}
    for text in texts:
        column, rest = split_same(text)
        old, sign, new = (_composed(unescaped(part)) for part in rest.partition("="))
        if not (column and old and sign and new):
            expected = f"COLUMN:OLD=NEW of a table in parts ({', '.join(CALLED)})"
            raise AnalysisError(_problem(text, f"expected {expected}"))
        if joined.setdefault(column, {}).setdefault(old, new) != new or new in joined[column]:
            raise AnalysisError(_problem(text, "a name is joined to two, or to one that is joined itself"))
    return joined


def split_same(text: str) -> tuple[str, str]:
    """Return the column that a text begins with, or nothing, and the rest of it."""
    column, colon, rest = text.partition(":")
    return (column, rest) if colon and column in CALLED else ("", text)


def _pairs(text: str, names: Names) -> Iterator[tuple[str, str, str]]:
    """Yield column, old and new name for each column that has the old one."""
    given, rest = split_same(text)
    for column in [given] if given else CALLED:
        for place in (place for place, sign in enumerate(rest) if sign == "="):
            old, new = (
                next(
                    (own for own in (_composed(part), _composed(unescaped(part))) if own in names.get(column, ())), None
                )
                for part in (rest[:place], rest[place + 1 :])
            )
            new = new or _composed(unescaped(rest[place + 1 :]))
            if old and new:
                yield column, old, new
                break


def _not_one(text: str, found: Sequence[tuple[str, str, str]], names: Names) -> Iterator[str]:
    """Yield the problem of a text that joins nothing, or could mean two columns."""
    if len(found) > 1:
        columns = " and ".join(column for column, *_ in found)
        yield _problem(text, f"the columns {columns} have this name; say which: {found[0][0]}:{shortened(text, 40)}")
    if found:
        return
    column, rest = split_same(text)
    old, sign, new = rest.partition("=")
    if not (old and sign and new):
        yield _problem(text, f"expected OLD=NEW, COLUMN:OLD=NEW or a column ({', '.join(CALLED)})")
        return
    for one in [column] if column else CALLED:
        near = nearest_names([_composed(unescaped(old))], names.get(one, ()), versions=one in VERSIONED)
        if near:
            yield _problem(text, f"no table has this name; did you mean {escaped(next(iter(near.values())))}?")
            return
    yield _problem(text, f"no table has the name {shortened(repr(old), 40)}")


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text.strip())


def _end(joined: Mapping[str, str], name: str) -> str | None:
    """Return the name that a name is joined to at last; ``None`` where that is itself."""
    seen = {name}
    while name in joined:
        name = joined[name]
        if name in seen:
            return None
        seen.add(name)
    return name


def _problem(text: str, after: str) -> ArgumentProblem:
    return ArgumentProblem(
        "same",
        in_python=f"={[shortened(text)]!r}",
        in_command=f" {shlex.quote(shortened(text))}",
        after=f": {after}",
    )
