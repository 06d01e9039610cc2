"""One file of answers whose columns nobody explained: the role of each, by its name and by what it holds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import polars as pl

from analysis.answers.answer_roles import compared_systems, find_scores, find_systems, find_winner
from analysis.answers.column_contents import NO_NAMES, Columns, is_text, shown
from analysis.answers.column_names import is_llm, is_turn, kind_column, likeliest, sides_named, words_of
from analysis.answers.column_roles import ColumnRoles
from analysis.answers.columns import KINDS
from analysis.answers.columns_found import TableFound, are_means, with_lines
from analysis.answers.extremes import (
    BEST,
    SHOWN,
    WORST,
    PageColumns,
    extremes_alone,
    extremes_marked,
    page_given,
    page_listed,
)
from analysis.answers.names_asked import ask_of_names
from analysis.answers.options import Reading
from analysis.answers.unsettled import NO_RECORDS, Records, Unsettled, joint
from analysis.answers.wide_columns import (
    may_be_people,
    names_on_a_page,
    order_column,
    people_columns,
    rank_columns,
    rated_subjects,
)

MACHINES = frozenset("llm llms ai model models machine machines automatic auto bot gpt simulated synthetic".split())
PARTS = frozenset("batch block chunk fold form page part round run seed session split trial".split())
MOST_TURNS = 4  # that are a criterion each
FEWEST_ITEMS = 3  # that tell what a column is
FEW_PEOPLE = 2  # who may be LLMs under names of their own


def table_found(
    place: str, columns: Columns, lists: Sequence[str], options: Reading, records: Records = NO_RECORDS
) -> TableFound:
    """Return what one file is, and the role of each of its columns.

    Parameters
    ----------
    place : str
        The file, as lines name it.
    columns : Columns
        Of the file, those that hold plain values.
    lists : sequence of str
        Its other columns, of lists and objects.
    options : Reading
        What is known already.
    records : mapping of str to mapping, optional
        Column of lists -> the first record in them.

    Raises
    ------
    AnalysisError
        With a line for each column that may be two things, and one for those that are missing.
    """
    unsettled = Unsettled(place, columns.frame.columns, [*lists, *columns.holding_lists()], records)
    table = ColumnRoles(columns, options, unsettled)
    _ask_of_rows(table)
    pair = compared_systems(table)
    page = _find_page(table) if pair is None else None
    _find_annotator(table, pair)
    unsettled.refuse()  # of the shape of the table; the rest of it would mislead
    _find_item(table, compared=pair is not None)
    if page is not None:
        kind = "choices"
    else:
        kind = _find_order(table) if pair is None else find_winner(table, *pair)
        if pair is None:
            _find_system(table)
    _find_criterion(table)
    if kind == "ratings":
        find_scores(table)
    _find_by_contents(table, kind)
    wide = table.systems or options.systems
    if table.counts_rows is not None and not (unsettled or wide) and _one_system_each(table):
        unsettled.rows_for_items(table.counts_rows)
    ask_of_names(columns, table.roles, table.systems, options, unsettled)
    unsettled.refuse()
    return _made(place, table, kind, page)


def _find_page(table: ColumnRoles) -> PageColumns | None:
    """Find answers that name the best and the worst of several systems; ask what other names on a page are."""
    page = page_given(table.columns, table.options)
    if page is None and {"system", "score", "rank", "winner", "preference"} & table.settled:
        return None
    if page is None and (marks := extremes_marked(table.columns, table.free)) is not None:
        table.unsettled.marked_extremes(marks)
        return None
    page = page or page_listed(table.columns, table.free)
    if page is None and (named := names_on_a_page(table.columns, table.free)) is not None:
        options, ends = named
        if not ends:
            table.unsettled.places_of_an_order(options)
            return None
        page = PageColumns(best=ends[0], worst=ends[1], shown=(*options,))
    if page is None and (alone := extremes_alone(table.columns, table.free)) is not None:
        table.unsettled.nothing_shown(alone)
    if page is not None:
        table.free = table.without({page.best, page.worst, *page.shown})
        table.unsettled.lists = [name for name in table.unsettled.lists if name not in page.shown]
        table.settled |= {"system_x", "system_y", "winner", "system"}
    return page


def _ask_of_rows(table: ColumnRoles) -> None:
    """Ask of rows that may not count: of answers that ended early, and of totals."""
    chosen = {*table.options.keep, *table.options.drop}
    for name, early in table.columns.ended_early(chosen):
        others = [value for value in table.columns.values(name) if value not in early]
        table.unsettled.rows_that_may_not_count(name, early, others)
    if (matrix := table.columns.matrix()) is not None:
        table.unsettled.matrix(*matrix)
    elif (row_each := _one_row_each(table)) is not None:
        table.unsettled.one_row_a_system(*row_each)
    if (ended := table.columns.totals()) is not None and ended[0] not in chosen:
        table.unsettled.totals(*ended)


def _one_row_each(table: ColumnRoles) -> tuple[str, list[str]] | None:
    """Return the column of systems that has another one in every row, and those of numbers, where nobody is named."""
    ours = {"item_id", "annotator_id", "score", "criterion", "winner", "rank", "preference"} & table.settled
    names = [table.roles[role] for role in ("system",) if role in table.roles]
    names = names or [name for _, name in likeliest(table.free, "system")]
    if ours or len(names) != 1 or not table.columns.a_row_each(names[0]):
        return None
    others = table.without(names)
    numbers = [name for name in others if table.columns.numeric(name)]
    return (names[0], numbers) if len(numbers) > 1 and len(numbers) == len(others) else None


def _find_order(table: ColumnRoles) -> str:
    """Find what tells marked errors, or orders; return the kind of a table that compares no two systems a row."""
    ordered = bool({"system", "rank"} & table.settled)
    if table.take_named("severity", table.columns.is_word):
        return "spans"
    if not ordered and (ranks := rank_columns(table.columns, table.free)):
        table.systems = ranks
        table.settled |= {"system", "rank"}
        table.free = table.without(ranks)
        return "orders"
    if not ordered and (order := order_column(table.columns, table.free)) is not None:
        table.take("rank", order)
        table.settled.add("system")
        return "orders"
    return "orders" if table.take_named("rank", table.columns.numeric) else "ratings"


def _one_system_each(table: ColumnRoles) -> bool:
    """Whether the column of items may number rows or outputs: of several systems, it has one for each value."""
    system = table.roles.get("system", "")
    several = bool(system) and table.columns.distinct(system) > 1
    return several and table.columns.depends(system, table.roles["item_id"])


def _find_annotator(table: ColumnRoles, pair: tuple[str, str] | None) -> None:
    """Find who answered, and the kind of each."""
    if "annotator_id" not in table.settled:
        names = [name for _, name in likeliest(table.without(table.sides()), "annotator_id")]
        names = [name for name in names if table.columns.distinct(name) > 1] or names
        names = [] if people_columns(table.free) and {*names} <= {*rated_subjects(names)} else names
        if names and not table.rivals(names):
            table.take("annotator_id", names[0])
        elif names:
            table.doubt([names[0], *table.rivals(names)], "annotator_id")
        elif not table.unsettled and (people := people_columns(table.free)):
            _people_each(table, people, pair)
    kind = None if "annotator_kind" in table.settled else kind_column(table.free)
    if kind is not None and {*table.columns.values(kind)} <= {*KINDS}:
        table.take("annotator_kind", kind)
    elif kind is not None and "annotator_id" in table.roles and not table.options.llms:
        _ask_who_is_llm(table, kind, table.roles["annotator_id"])


def _people_each(table: ColumnRoles, people: Sequence[str], pair: tuple[str, str] | None) -> None:
    """Take columns that are called as people are for the answers of one each, where a row says of which outputs."""
    compared = pair is not None and all(pair) and {*table.columns.winners(people, pair)} >= {*people}
    about = "system" in table.settled or bool(likeliest(table.free, "system"))
    rated = pair is None and about and all(map(table.columns.scored, people))
    if not (compared or rated):
        table.unsettled.people_in_columns(people)
        return
    table.annotator_columns = tuple(people)
    table.settled |= {"annotator_id", "winner" if compared else "score"}
    table.free = table.without(people)


def _ask_who_is_llm(table: ColumnRoles, kind: str, who: str) -> None:
    """Ask who is an LLM where a column says it in words of its own."""
    words = [word for word in table.columns.values(kind) if {*words_of(word)} & MACHINES]
    if words:
        rows = table.columns.frame.filter(pl.col(kind).is_in(words))[who].drop_nulls().unique().sort()
        table.unsettled.machines(kind, words, rows.to_list())


def _find_item(table: ColumnRoles, *, compared: bool) -> None:
    """Find what the answers are about: of several columns that name it the finest."""
    if "item_id" in table.settled:
        return
    names = [name for _, name in likeliest(table.without(table.sides()), "item_id")]
    names += rated_subjects(table.free) if table.annotator_columns else []
    again = _crossing(table, [name for name in names if not table.columns.a_row_each(name)] or names)
    clear = [name for name in again if not table.columns.are_criteria(name)] or again
    weak = next((place for place, name in enumerate(clear) if _is_weak(name)), len(clear))
    plain = clear[:weak] or clear  # likelier than an id, or all: an id, and texts
    finest = [one for one in plain if all(table.columns.depends(name, one) for name in plain)]
    same = [name for name in plain if finest and table.columns.same(name, finest[0])]
    if same:
        finer = [name for name in clear if not table.columns.depends(name, same[0])]
        if finer and plain != clear and not _answered_once(table, same[0]):
            table.unsettled.together(same[0], finer[0])
        table.take("item_id", same[0])
        if _is_weak(same[0]):
            table.counts_rows = same[0]
    elif plain:
        crossed = [name for name in plain[1:] if not table.columns.depends(name, plain[0])]
        table.unsettled.together(plain[0], (crossed or plain[1:])[0])
        table.settled.add("item_id")


def _crossing(table: ColumnRoles, names: list[str]) -> list[str]:
    """Leave out names of outputs, of one system each, where another column says what several of them are about."""
    system = table.roles.get("system") or next((name for _, name in likeliest(table.free, "system")), None)
    if system is None or table.columns.distinct(system) < 2:
        return names
    shared = [name for name in names if not table.columns.depends(system, name) and _answered_once(table, name)]
    finer = [name for name in names if table.columns.depends(system, name)]
    outputs = [name for name in finer if any(table.columns.depends(one, name) for one in shared)]
    return [name for name in names if name not in outputs]


def _is_weak(name: str) -> bool:
    """Whether a name may as well be that of rows or outputs."""
    return words_of(name) in (["id"], ["index"], ["idx"], ["uid"], ["uuid"])


def _answered_once(table: ColumnRoles, item: str) -> bool:
    """Whether nobody answered twice about a system and an item, as far as the columns' names tell."""
    others = [name for _, name in likeliest(table.without([item]), "system")[:1]] + table.sides()
    others += [name for _, name in likeliest(table.without([item]), "criterion")[:1]]
    return table.told_apart(item, *others)


def _find_system(table: ColumnRoles) -> None:
    several = table.take_named("system", lambda name: table.columns.distinct(name) > 1)
    if not several:
        table.take_named("system", lambda name: table.columns.distinct(name) == 1)


def _find_criterion(table: ColumnRoles) -> None:
    if "criterion" in table.settled:
        return
    names = [name for _, name in likeliest(table.free, "criterion") if not table.columns.numeric(name)]
    names += [name for _, name in likeliest(table.free, "item_id") if table.columns.are_criteria(name)]
    names = [name for name in dict.fromkeys(names) if not table.follows(name, "item_id", "annotator_id", "system")]
    if names and not table.rivals(names):
        table.take("criterion", names[0])
    elif names:
        table.doubt(names, "criterion")


def turns_of_outputs(table: ColumnRoles) -> str | None:
    """Return the column of a few turns, where each output has a score of every one."""
    turns = [name for name in table.free if is_turn(name) and 2 <= table.columns.distinct(name) <= MOST_TURNS]
    if len(turns) != 1 or table.told_apart() or not table.told_apart(turns[0], every=turns[0]):
        return None
    return turns[0]


def _take_turns(table: ColumnRoles) -> None:
    """Take turns for criteria; ask what they are where there are criteria already."""
    name = None if table.unsettled else turns_of_outputs(table)
    if name is not None and ("criterion" in table.settled or table.criteria):
        table.unsettled.turns(name, table.columns.values(name), table.roles.get("criterion"))
    elif name is not None:
        table.take("criterion", name)


def _find_by_contents(table: ColumnRoles, kind: str) -> None:
    """Find by contents what no name says, and tell what is missing."""
    compared = kind in ("choices", "preferences")
    sides = [] if compared or "system" in table.settled else sides_named(table.free)
    if sides and "score" in table.roles:
        table.unsettled.scored_pair(sides[0], table.roles["score"])
    elif not compared and "system" not in table.settled:
        find_systems(table)
        if "system" not in table.settled:
            table.unsettled.lack("system", "; of one system say --set system=NAME")
    if "item_id" not in table.settled and kind != "preferences":
        _item_by_content(table)
    elif table.counts_rows is not None and compared and table.columns.a_row_each(table.counts_rows):
        if names := _items_by_content(table):
            table.doubt([table.counts_rows, *names], "item_id")
    if "annotator_id" not in table.settled:
        _annotator_by_content(table)
        if who := table.roles.get("annotator_id"):
            table.criteria = tuple(n for n in table.criteria if not table.columns.is_property(n, [who]))
    unclear = kind in ("orders", "spans") or bool(table.unsettled.lists)  # who answered may stand in a list
    if "annotator_id" not in table.settled and unclear and not (table.options.unnamed or table.options.means):
        table.unsettled.lack("annotator_id", "; of one annotator say --set annotator_id=NAME")
    nameless = "annotator_id" not in table.settled and not (table.options.unnamed or table.options.means)
    if nameless and may_be_people(table.criteria):
        table.unsettled.people_or_criteria(table.criteria)
    if kind == "ratings":
        _take_turns(table)
    if "criterion" not in table.settled and not table.unsettled and not table.told_apart():
        names = [name for name in table.repeating_names() if table.told_apart(name)]
        if names and "item_id" not in table.settled:
            table.doubt(names, "item_id", "criterion")
        elif len(names) == 1 and PARTS.isdisjoint(words_of(names[0])):
            table.take("criterion", names[0])
    if not table.unsettled and "repeat" not in table.settled and kind != "spans" and not table.told_apart():
        names = [n for n in table.free if table.columns.is_word(n) and not is_text(n) and table.told_apart(n)]
        if names:
            both = joint(table.roles, names[0], "item_id", "system")
            table.doubt(names, "repeat", *(() if "criterion" in table.settled else ("criterion",)), more=both)


def _items_by_content(table: ColumnRoles) -> list[str]:
    """Return the columns that tell apart what is answered several times without an item."""
    known = table.roles.get("item_id", "")
    if table.told_apart(without=known):
        return []
    return [
        name
        for name in table.free
        if FEWEST_ITEMS <= table.columns.distinct(name) <= table.columns.height // 2
        and not (table.columns.scored(name) or NO_NAMES.search(name))
        and not table.columns.frame[name].has_nulls()
        and table.told_apart(name, without=known)
    ]


def _item_by_content(table: ColumnRoles) -> None:
    names = _items_by_content(table)
    if len(names) == 1:
        table.take("item_id", names[0])
    elif names:
        table.doubt(names, "item_id")
    else:
        compared = "system_x" in table.settled
        more = "; where each row is about another item: --set item_id={row}" if compared else ""
        named = [] if compared else table.columns.holding_names(table.free, table.roles.get("system", ""))
        if named:
            more = f"; {shown(named[:1])} names outputs: --map {shlex.quote(f'{named[0]}=item_id')} --cut-system"
        table.unsettled.lack("item_id", more)


def _annotator_by_content(table: ColumnRoles) -> None:
    names = table.repeating_names()
    apart = [name for name in names if not table.told_apart() and table.told_apart(name)]
    if len(apart) == 1 and len(names) == 1 and "criterion" in table.settled:
        table.take("annotator_id", apart[0])
    elif names:
        roles = ("annotator_id",) if "criterion" in table.settled else ("annotator_id", "criterion")
        table.doubt(names, *roles, more="; of people whom no column names say --unnamed")


def _made(place: str, table: ColumnRoles, kind: str, page: PageColumns | None) -> TableFound:
    unnamed = "annotator_id" not in table.settled and not (table.options.unnamed or table.options.means)
    means = unnamed and are_means(table.roles.get("score", ""), table.columns)
    new = {role: name for role, name in table.roles.items() if name != role and name not in table.options.mapping}
    if page is not None:
        new |= {BEST: page.best, WORST: page.worst, **({SHOWN: page.shown[0]} if page.listed else {})}
        table.systems = {} if page.listed else {name: name for name in page.shown}
    found = TableFound(
        place=place,
        kind=kind,
        page=page,
        mapping={name: role for role, name in new.items() if name != role},
        criteria=table.criteria,
        restated=table.restated,
        systems=dict(table.systems),
        annotator_columns=table.annotator_columns,
        llms=tuple(filter(is_llm, _annotators(table))),
        constants=table.constants,
        unnamed=unnamed and not means,
        means=means,
    )
    return with_lines(found, table.columns, table.roles, unread=table.free, judges=_people_of_judges(table))


def _annotators(table: ColumnRoles) -> list[str]:
    """Return the annotators, where nothing says which of them are LLMs."""
    who, columns = table.roles.get("annotator_id"), [*table.annotator_columns, *table.options.annotator_columns]
    if "annotator_kind" in table.settled or table.options.llms or table.options.unnamed:
        return []
    return columns if who is None else table.columns.values(who)


def _people_of_judges(table: ColumnRoles) -> list[str]:
    """Return one or two annotators, in a column called as those of LLMs often are."""
    judges = {*words_of(table.roles.get("annotator_id", ""))} & {"judge", "annotator", "evaluator"}
    names = _annotators(table) if judges and table.roles["annotator_id"] != "annotator_id" else []
    return names if len(names) <= FEW_PEOPLE else []
