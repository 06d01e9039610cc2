"""The columns of one file that hold its answers: two systems and who won, scores, or columns of scores."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.answers.column_contents import is_text, shown
from analysis.answers.column_names import likeliest, plain_name, sides_named
from analysis.answers.column_roles import ColumnRoles
from analysis.answers.unsettled import better_and_worse
from analysis.answers.wide_columns import (
    best_and_rest,
    is_made,
    restated,
    scored_columns,
    systems_on_one_scale,
    vote_columns,
    won_and_lost,
)

ANSWERED = ("choice", "vote", "rate", "selected")  # a score where a row is about one system
ALWAYS_ONE = "; where one is always the same, say --set system_x=NAME"


def compared_systems(table: ColumnRoles) -> tuple[str, str] | None:
    """Return the columns of the two systems of a comparison."""
    if {"system_x", "system_y"} & table.settled:
        return table.roles.get("system_x", ""), table.roles.get("system_y", "")
    if "score" in table.settled or "system" in table.settled:
        return None
    pairs = [pair for pair in sides_named(table.free) if all(map(table.columns.is_name, pair))]
    if not pairs and not likeliest(table.free, "score")[:1]:
        pairs = table.columns.compared_by(table.free) or _always_the_same(table)
    if not pairs and (pair := won_and_lost(table.columns, table.free)) is not None:
        table.constants = {"winner": "x"}
        table.settled.add("winner")
        return pair
    if pairs and all(table.columns.same(*sides) for pair in pairs[1:] for sides in zip(pair, pairs[0], strict=True)):
        return pairs[0]
    if pairs:
        table.doubt([*dict.fromkeys(pair[0] for pair in pairs)], "system_x")
        return pairs[0]
    if not pairs and (liked := _preferred_texts(table)) is not None:
        table.unsettled.no_systems_of_preferred(liked)
        return None
    texts = sides_named([name for name in table.free if is_text(name)], texts=True)
    won = [name for _, name in likeliest(table.free, "winner") if table.columns.is_word(name)]
    asked = bool({"winner", "preference"} & table.settled)
    votes = vote_columns(table.columns, table.free)
    said = won or asked or len(votes) > 1 or table.unsettled.votes_in_lists()
    if texts and said and not likeliest(table.free, "system"):
        table.unsettled.no_systems_of_sides(texts[0], votes if len(votes) > 1 else ())
    elif (asked and not _rated(table)) or (won and _is_won(table, won[0])):
        return "", ""
    return None


def _always_the_same(table: ColumnRoles) -> list[tuple[str, str]]:
    """Return the pairs of columns called as two sides, each of one name throughout, beside a winner."""
    sides = [pair for pair in sides_named(table.free, texts=True) if table.columns.height > 1]
    alone = [pair for pair in sides if all(table.columns.distinct(name) == 1 for name in pair)]
    named = [pair for pair in alone if all(map(table.columns.is_name, pair)) and not table.columns.same_names(*pair)]
    return [pair for pair in named if table.columns.winners(table.without(pair), pair)]


def _preferred_texts(table: ColumnRoles) -> tuple[str, str] | None:
    """Return the columns of texts that were preferred and of the others, where nothing names systems or scores."""
    if _rated(table) or "winner" in table.settled or sides_named(table.free):
        return None
    pairs = best_and_rest([*table.free, *table.unsettled.lists])
    height = table.columns.height
    plain = [pair for pair in pairs if not {*pair} & {*table.unsettled.lists}]
    long = [pair for pair in plain if all(2 * table.columns.distinct(name) > height > 1 for name in pair)]
    found = [pair for pair in pairs if pair not in plain] + long
    return found[0] if found else None


def _is_won(table: ColumnRoles, name: str) -> bool:
    """Whether a column says who won where nothing else is rated."""
    clear = {name for place, name in likeliest(table.free, "winner") if place <= 1}
    return name in clear and not table.columns.scored(name) and not _rated(table)


def _rated(table: ColumnRoles) -> bool:
    """Whether columns are called system or score."""
    called = [*likeliest(table.free, "score"), *likeliest(table.free, "system")]
    return bool(called or {"system", "score"} & table.settled)


def find_winner(table: ColumnRoles, first: str, second: str) -> str:
    """Find who won, or how likely the first is preferred; return the kind of table."""
    for role, name in (("system_x", first), ("system_y", second)):
        if role not in table.settled and name:
            table.take(role, name)
        elif role not in table.settled:
            table.unsettled.lack(role, better_and_worse(table.free, table.roles.get("winner")) or ALWAYS_ONE)
    if {"preference", "winner"} & table.settled:
        return "preferences" if "preference" in table.settled else "choices"
    numbers = [name for _, name in likeliest(table.free, "preference") if table.columns.numeric(name)]
    words = table.columns.winners(table.free, (first, second)) if first and second else []
    called = [n for _, n in likeliest(table.free, "winner") if n not in numbers and table.columns.is_word(n)]
    sure = [name for name in called if name in words] or called
    winners = sure or ([] if numbers else words)
    if len(numbers) + len(winners) == 1 or (winners and not numbers and not table.rivals(winners)):
        table.take("preference" if numbers else "winner", [*numbers, *winners][0])
    elif numbers and not winners and not table.rivals(numbers):
        table.take("preference", numbers[0])
    elif numbers and winners:
        table.doubt([*winners, *numbers][:1], "winner", more=f", or {numbers[0]}=preference")
    elif winners or numbers:
        people = {*winners} <= {*vote_columns(table.columns, winners)} and "annotator_id" not in table.settled
        more = f"; if each is one person's: --annotator-columns {','.join(winners)}" if people else ""
        table.doubt(winners or numbers, "winner" if winners else "preference", more=more)
    else:
        rated = sides_named([name for name in table.free if table.columns.numeric(name)], texts=True)
        both = f"; {shown(rated[0])} are a score of each: spa import csv makes a rating of either" if rated else ""
        table.unsettled.lack("winner", both)
    return "preferences" if "preference" in table.roles else "choices"


def find_scores(table: ColumnRoles) -> None:
    """Find the column of scores, or those of criteria or systems."""
    if "score" in table.settled:
        return
    named = likeliest(table.free, "score")
    called = [(place, name) for place, name in named if table.columns.scored(name)]
    about = [table.roles[role] for role in ("item_id", "annotator_id", "system") if role in table.roles]
    scored = scored_columns(table.columns, table.free, about)
    if not (called or scored):  # of the plainest name, whatever it holds: reading says what its words may count
        called = [(place, name) for place, name in named if place <= 2 and table.columns.is_word(name)]
    clear = [name for place, name in called if place <= 2]
    if len(clear) > 1 or (not clear and len(called) > 1 and len(scored) <= len(called)):
        table.unsettled.several(clear or [name for _, name in called])
        table.settled.add("score")
    elif clear or (len(called) == 1 and {*scored} <= {called[0][1]}):
        table.take("score", clear[0] if clear else called[0][1])
    elif not scored or (not table.options.each and table.unsettled.answers_in_lists()):
        table.unsettled.lack("score")
    elif "criterion" in table.settled:
        if len(scored) == 1:
            table.take("score", scored[0])
        else:
            table.unsettled.several(scored)
            table.settled.add("score")
    elif len(scored) == 1 and plain_name(scored[0]) in ANSWERED:
        table.take("score", scored[0])
    else:
        _wide(table, scored)


def _wide(table: ColumnRoles, scored: Sequence[str]) -> None:
    """Take several columns of scores for criteria, where systems are named, or for systems."""
    systems = None if "system" in table.settled else systems_on_one_scale(table.columns, scored)
    if systems is not None:
        table.systems = systems
    else:
        if "system" not in table.settled:
            find_systems(table)
        if "system" in table.settled:
            table.criteria = tuple(_stated_once(table, scored))
        else:
            table.unsettled.systems_or_criteria(scored)
    table.settled |= {"system", "score", *(("criterion",) if table.criteria else ())}
    table.free = table.without(scored)


def _stated_once(table: ColumnRoles, scored: Sequence[str]) -> list[str]:
    """Leave out columns made of others, as their names and their numbers say.

    Asked is where the numbers alone say it, and where one is turned: then nobody knows in which high means good.
    """
    if "annotator_id" not in table.roles or len(scored) < 2:
        return [*scored]
    for made, of, way in restated(table.columns, scored, table.roles["annotator_id"]):
        if way > 0 and is_made(made) and not is_made(of):
            table.restated[made] = of
        else:
            left = [name for name in scored if name != made and name not in table.restated]
            table.unsettled.stated_twice(of, made, way, left, [*scored])
    return [name for name in scored if name not in table.restated]


def find_systems(table: ColumnRoles) -> None:
    """Find the column of systems by contents, where no name says it."""
    names = [n for n in table.columns.systems_like(table.free) if not table.follows(n, "item_id", "annotator_id")]
    needed = not table.told_apart() and all(map(table.told_apart, names))
    if len(names) == 1 and "annotator_id" in table.settled and needed:
        table.take("system", names[0])
    elif names and "annotator_id" in table.settled:
        table.doubt(names, "system")
    elif names:
        table.doubt(names, "system", "annotator_id")
