"""Names in a file whose columns were found that may be one, or no system, and scores that may be ranks: asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from analysis.answers.column_contents import Columns
from analysis.answers.column_names import ranks_named, words_of
from analysis.answers.controls import called_control
from analysis.answers.options import Reading
from analysis.answers.same_names import CALLED
from analysis.answers.unsettled import Unsettled
from spa.tables.near_matches import NearMatch, near_matches
from spa.tables.orders import places_of
from spa.tables.verdicts import is_place

SYSTEMS = ("system", "system_x", "system_y")
ORDERED = ("annotator_id", "item_id", "criterion")  # one order each
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
    named = {*systems.values(), *(value for role in SYSTEMS if role in read for value in columns.values(read[role]))}
    if matches := _open("system", named, options):
        unsettled.names_that_may_be_one("system", matches)
    for role in ("annotator_id", "item_id"):
        names = columns.values(read[role]) if role in read else []
        matches = _open(role, names, options)
        if 2 * sum(len(match.names) for match in matches) > len(names):  # written in two ways throughout
            unsettled.names_that_may_be_one(role, matches)
    ordered = _ordered(columns, read) - {*options.names}
    if ordered and all(map(is_place, ordered)):
        unsettled.places_in_orders(read["rank"], sorted(ordered))
    controls = [name for name in sorted(named - {*options.controls, *options.system_roles}) if called_control(name)]
    controls = [name for name in controls if not ARMS & {*words_of(name)}]
    if controls and len(controls) < len(named):
        unsettled.systems_that_may_be_controls(controls[:ASKED])
    if options.scales:
        return
    wide = [*systems] if not ranks_named([*systems]) else []
    if wide and columns.each_once(wide):
        unsettled.scores_that_may_be_ranks(wide, roles)
    elif "score" in roles and columns.each_once_within(roles["score"], [roles[r] for r in ORDERED if r in roles]):
        unsettled.scores_that_may_be_ranks([roles["score"]], {})


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
