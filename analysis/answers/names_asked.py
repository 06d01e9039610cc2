"""Names in a file whose columns were found that may be one, or no system, and scores that may be ranks: asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.answers.checked_tables import CheckedTables, check_tables
from analysis.answers.column_contents import Columns, shown
from analysis.answers.column_names import is_llm, ranks_named, words_of
from analysis.answers.columns import WITH_ITEMS
from analysis.answers.controls import called_control, is_check
from analysis.answers.identity import Identified
from analysis.answers.options import Reading
from analysis.answers.reading import RawTable
from analysis.answers.same_names import CALLED, Names
from analysis.answers.unsettled import Unsettled
from spa.errors import AnalysisError
from spa.tables.near_matches import NearMatch, near_matches
from spa.tables.orders import places_of
from spa.tables.verdicts import is_place

SYSTEMS = ("system", "system_x", "system_y")
WHO_AND_WHAT = ("annotator_id", "item_id")
ORDERED = ("annotator_id", "item_id", "criterion")  # one order each
MOST_RANKS = 50  # outputs in an order
ASKED = 3  # attention checks that a line names
ARMS = frozenset(("control", "bad"))  # words of controls that arms of an experiment are called by, too


def ask_of_names(
    columns: Columns, roles: Mapping[str, str], systems: Mapping[str, str], options: Reading, unsettled: Unsettled
) -> None:
    """Ask whether names that differ so little are one, whether a system is an attention check, and scores are ranks.

    Parameters
    ----------
    columns : Columns
        Of the file.
    roles : mapping of str to str
        Our column -> the file's.
    systems : mapping of str to str
        Columns that are a system each -> the system.
    options : Reading
        What is settled already: ``same``, ``names``, ``controls``, ``system_roles``, and rows that are chosen.
    unsettled : Unsettled
        Is told what is not.
    """
    chosen = {*options.keep, *options.drop}
    read = {role: name for role, name in roles.items() if not {role, name} & chosen}
    systems_named = {value for role in SYSTEMS if role in read for value in columns.values(read[role])}
    named = {role: columns.values(read[role]) for role in WHO_AND_WHAT if role in read}
    _ask_of({**named, "system": {*systems.values(), *systems_named}}, options, unsettled, read.get("item_id", ""))
    ordered = _ordered(columns, read) - {*options.names}
    if ordered and all(map(is_place, ordered)):
        unsettled.places_in_orders(read["rank"], sorted(ordered))
    if options.scales:
        return
    wide = [*systems] if not ranks_named([*systems]) else []
    if wide and columns.each_once(wide):
        unsettled.scores_that_may_be_ranks(wide, roles)
    elif "score" in roles and columns.each_once_within(roles["score"], [roles[r] for r in ORDERED if r in roles]):
        unsettled.scores_that_may_be_ranks([roles["score"]], {})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AskedTables:
    """Checked tables of which nothing is left to ask, and how they are read.

    ``llms`` says of which annotators it was said that they are LLMs, by their names.
    """

    checked: CheckedTables
    reading: Reading
    llms: tuple[str, ...] = ()


def check_and_ask(
    raw: Mapping[str, Sequence[RawTable]], reading: Reading, identified: Identified | None, problems: list[str]
) -> AskedTables:
    """Check tables, and ask of those with our names what :func:`ask_of_names` asks of others, where it is to be asked.

    Rows of totals are named where they may be why a check failed; who is an LLM is told by names where nothing says it.

    Parameters
    ----------
    raw : mapping of str to sequence of RawTable
        As they stand after all that options make of them.
    reading : Reading
        How they are read; ``asked`` where nobody explained the columns.
    identified : Identified, optional
        The same tables with ids written in one way; none where problems came before, or a study's ids are agreed.
    problems : list of str
        What was found before; mistakes are added.

    Raises
    ------
    AnalysisError
        With a line for each mistake; where there is none, for each thing that no option settles.
    """
    try:
        checked = check_tables(raw, reading, problems)
    except AnalysisError as error:
        if reading.asked:
            _ask_of_totals((table for kind, parts in raw.items() if kind in WITH_ITEMS for table in parts), reading)
        raise AnalysisError(*error.problems, *(() if identified is None else identified.about_people())) from error
    if identified is None or not reading.asked:
        return AskedTables(checked=checked, reading=reading)
    _ask_of_tables(identified, checked.tables.get("ratings"))
    reading, llms = _with_llms_named(identified)
    return AskedTables(checked=checked, reading=reading, llms=llms)


def _ask_of_tables(known: Identified, ratings: pl.DataFrame | None) -> None:
    """Ask of names, and of scores (a row each, checked) that may be ranks."""
    options = known.reading
    unsettled = Unsettled(next(table.place for tables in known.tables.values() for table in tables), (), ())
    own_item = next((old for old, new in options.mapping.items() if new == "item_id"), "item_id")
    _ask_of(known.own_names, options, unsettled, own_item)
    if ratings is not None and not options.scales and _may_be_ranks(ratings["value"]):
        keys = ["item_id", "criterion"] if options.unnamed or options.means else [*ORDERED]
        if Columns(ratings.select(pl.col(*keys, "value").cast(pl.String))).each_once_within("value", keys):
            own = {new: old for old, new in options.mapping.items()}
            wide = [*options.systems]
            unsettled.scores_that_may_be_ranks(wide or [own.get("score", "score")], own if wide else {})
    unsettled.refuse()


def _ask_of_totals(tables: Iterable[RawTable], options: Reading) -> None:
    """Refuse rows of totals at the end of tables that could not be read, with the option that leaves them out."""
    own = {new: old for old, new in options.mapping.items()}
    for table in tables:
        if (ended := Columns(table.frame.with_columns(pl.all().cast(pl.String))).totals()) is not None:
            unsettled = Unsettled(table.place, table.columns, ())
            unsettled.totals(own.get(ended[0], ended[0]), ended[1])
            unsettled.refuse()


def _with_llms_named(known: Identified) -> tuple[Reading, tuple[str, ...]]:
    """Return the options with annotators who have names of LLMs, where nothing says who is one, and what to say."""
    reading, columns = known.reading, (table.frame.columns for tables in known.tables.values() for table in tables)
    llms = sorted(filter(is_llm, known.together["annotator_id"]))
    if not llms or reading.llms or reading.unnamed or any("annotator_kind" in own for own in columns):
        return reading, ()
    said = f"LLMs, by their names: {shown(llms)} (if people: --set annotator_kind=human)"
    return replace(reading, llms=tuple(llms)), (said,)


def _ask_of(names: Names, options: Reading, unsettled: Unsettled, item_column: str) -> None:
    """Ask of names that are nearly the same, and of systems and items that are called as attention checks are."""
    systems = {*names.get("system", ())}
    if matches := _open("system", systems, options):
        unsettled.names_that_may_be_one("system", matches)
    for role in WHO_AND_WHAT:
        own = names.get(role, ())
        matches = _open(role, own, options)
        if 2 * sum(len(match.names) for match in matches) > len(own):  # written in two ways throughout
            unsettled.names_that_may_be_one(role, matches)
    controls = [name for name in sorted(systems - {*options.controls, *options.system_roles}) if called_control(name)]
    controls = [name for name in controls if not ARMS & {*words_of(name)}]
    if controls and len(controls) < len(systems):
        unsettled.systems_that_may_be_controls(controls[:ASKED])
    checks = sorted({*filter(is_check, names.get("item_id", ()))} - {*options.names})
    if checks and len(checks) < len(names["item_id"]) and not {item_column, "item_id"} & {*options.keep, *options.drop}:
        unsettled.items_that_may_be_checks(item_column, checks)


def _may_be_ranks(scores: pl.Series) -> bool:
    """Whether scores are the whole numbers from 1 on, each as often as the others: a look before a long one."""
    counts = scores.drop_nulls().value_counts(name="n").sort(scores.name)
    places = [float(n) for n in range(1, counts.height + 1)]
    return 1 < counts.height <= MOST_RANKS and counts["n"].n_unique() == 1 and counts[scores.name].to_list() == places


def _ordered(columns: Columns, roles: Mapping[str, str]) -> set[str]:
    """Return the names in cells that hold whole orders."""
    if "system" in roles or "rank" not in roles:
        return set()
    orders = [places_of(cell) or [] for cell in columns.values(roles["rank"])]
    return {name for order in orders for place in order for name in place}


def _open(column: str, names: Collection[str], options: Reading) -> list[NearMatch]:
    """Return the names that are nearly the same, of which no option says whether they are one."""
    if any(text == column or text.startswith(f"{column}:") for text in options.same):
        return []
    old = {text.partition("=")[0] for text in options.same if text.partition(":")[0] not in CALLED}
    return [
        match for match in near_matches(names) if not {*match.names} <= {*options.names} and not {*match.names} & old
    ]
