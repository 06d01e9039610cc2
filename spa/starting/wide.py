"""Wide tables: a column for each system."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from spa.errors import StudyError
from spa.media import medium_of_paths
from spa.starting.columns import LAST
from spa.starting.input_rows import LINE, NamedColumns, SheetRows, identified
from spa.starting.names import is_unnamed, last_part, place_in
from spa.starting.roles import is_other, items_in, prompts_in, with_files, with_item
from spa.tables.verdicts import FAMILIES

WORDY = 0.1  # share of the longest column's characters that another column of outputs has on average
MOST_COLUMNS = 60
FIRST = "[0]"  # ends the name of the first value of a list
PLACES = frozenset("chosen rejected preferred dispreferred better worse a b c d e f 1 2 3 4 5 6 7 8".split()) | {
    word for family in FAMILIES for word in family
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WideRoles:
    """The columns of a wide table: of the item, of the systems with what they are called, of prompts."""

    item: str
    systems: dict[str, str]
    prompts: tuple[str, ...]

    @property
    def columns(self) -> frozenset[str]:
        """Every column that has a role."""
        return frozenset((self.item, *self.systems, *self.prompts))


def wide_roles_in(rows: SheetRows, named: NamedColumns) -> WideRoles | None:
    """Return the columns that are systems, with what every system was given; ``None`` where fewer than two fit."""
    item, prompts = _item_of(rows, named)
    systems = _given_systems(rows, named) or _systems_in(rows, {item, *prompts, named.item, *named.prompts})
    if len(systems) < 2 or len(systems) > MOST_COLUMNS:
        return None
    return WideRoles(item=item, systems=_called(rows, systems), prompts=prompts or _asked_alike(rows, systems))


def _asked_alike(rows: SheetRows, systems: Sequence[str]) -> tuple[str, ...]:
    """Return what was asked in the first system's conversations, where the others were asked the same."""
    asked = [name.removesuffix(LAST) for name in systems if name.endswith(LAST)]
    if len(asked) < len(systems) or not {*asked} <= {*rows.names}:
        return ()
    return (asked[0],) if all(rows.column(one).cells == rows.column(asked[0]).cells for one in asked) else ()


def _item_of(rows: SheetRows, given: NamedColumns) -> tuple[str, tuple[str, ...]]:
    """Return the column of items, whose names must tell rows of one file apart, and those of prompts."""
    candidates = [*items_in(rows, given, given.systems), LINE]
    chosen = next((name for name in candidates if _tells_apart(rows, name)), LINE)
    items = rows.identified(chosen)
    prompts = prompts_in(rows, given, items, {chosen, *given.systems}, long=bool(_given_systems(rows, given)))
    return chosen, with_files(rows, given, chosen, with_item(rows, given, chosen, prompts), given.systems)


def _tells_apart(rows: SheetRows, name: str) -> bool:
    for sheet in rows.sheets:
        cells = identified(sheet.cells(name)) if name in sheet.columns else []
        if name != LINE and not is_unnamed(name) and len({*cells}) < len(cells):
            return False
    return name == LINE or any(name in sheet.columns for sheet in rows.sheets)


def _given_systems(rows: SheetRows, given: NamedColumns) -> list[str]:
    return list(given.systems) if len(given.systems) > 1 else []


def _systems_in(rows: SheetRows, taken: set[str | None]) -> list[str]:
    """Return the columns of a mapping of systems, else those of texts that have no other usual name."""
    free = [name for name in rows.names if name not in taken and rows.column(name).filled]
    mapped = [name for name in free if rows.column(name).system is not None and not rows.column(name).is_number]
    if len({rows.column(name).system for name in mapped}) > 1:
        leaves = {re.sub(r".*\]|.*\.", "", name) for name in mapped}
        best = [name for name in mapped if place_in("output", name) is not None and place_in("aside", name) is None]
        nested = len({rows.column(name).system for name in mapped}) < len(mapped)
        return best if nested and len(best) > 1 else mapped if not nested or len(leaves) == 1 else best
    texts = [name for name in free if not rows.column(name).is_number and _is_shown(rows, name)]
    texts = [name for name in texts if f"{name}{LAST}" not in rows.names and not is_other(name.removesuffix(LAST))]
    if any(_of_one_system([name for name in texts if name in sheet.columns]) for sheet in rows.sheets):
        return []
    texts = _without_asides(texts)
    longest = max((rows.column(name).length for name in texts), default=0.0)
    return [
        name
        for name in texts
        if rows.column(name).length >= WORDY * longest
        and (rows.column(name).distinct > 0.2 * len(rows.column(name).filled) or len(rows.column(name).filled) < 5)
    ]


def _without_asides(texts: list[str]) -> list[str]:
    """Return the columns without those that stand beside two outputs or more: lists of texts, as contexts and turns.

    Where outputs are called as places of a row are, other texts are none.

    >>> _without_asides(["contexts[0]", "gpt", "t5"]), _without_asides(["answer_a", "answer_b", "passages"])
    (['gpt', 't5'], ['answer_a', 'answer_b'])
    """
    single = [name for name in texts if not name.endswith(FIRST)]
    texts = single if len(single) > 1 else texts
    rests: dict[str, list[str]] = {}
    for name in texts:
        rests.setdefault("_".join(word for word in _place_words(name) if word not in PLACES), []).append(name)
    placed = [names for names in rests.values() if are_places(names)]
    return placed[0] if len(placed) == 1 else texts


def _place_words(name: str) -> list[str]:
    """Return the words of a column's name, of which one may be that of a place."""
    return last_part(name.removesuffix(LAST)).split("_")


def _is_shown(rows: SheetRows, name: str) -> bool:
    """Return whether a column holds texts, or paths of files; ids are neither."""
    return not rows.column(name).is_code or medium_of_paths(rows.column(name).filled) is not None


def _of_one_system(columns: Sequence[str]) -> bool:
    """Return whether columns are the output of one system and texts beside it.

    One is called as outputs are, where the others are not alike but for their places.
    """
    usual = any(place_in("output", name) is not None for name in columns)
    return usual and len({last_part(name) for name in columns}) > 1 and not are_places(columns)


def _called(rows: SheetRows, systems: Sequence[str]) -> dict[str, str]:
    """Return what each column's system is called.

    That is the key of a mapping, the file where each has its own under a usual name, the column, or what differs of
    paths.
    """
    homes = {name: [sheet.label for sheet in rows.sheets if name in sheet.columns] for name in systems}
    if any(place_in("output", name) is not None for name in systems) and all(len(home) == 1 for home in homes.values()):
        labels = {name: home[0] for name, home in homes.items()}
        if len({*labels.values()}) == len(labels):
            return labels
    if all(name.endswith(LAST) for name in systems):
        return {name: name.removesuffix(LAST) for name in systems}
    keys = [rows.column(name).system for name in systems]
    if all(keys) and len({*keys}) == len(keys):
        return {name: str(key) for name, key in zip(systems, keys, strict=True)}
    if not all("." in name for name in systems):
        return {name: name for name in systems}
    parts = [name.split(".") for name in systems]
    while len({one[0] for one in parts}) == 1 and min(map(len, parts)) > 1:
        parts = [one[1:] for one in parts]
    while len({one[-1] for one in parts}) == 1 and min(map(len, parts)) > 1:
        parts = [one[:-1] for one in parts]
    return {name: ".".join(one) for name, one in zip(systems, parts, strict=True)}


def are_places(systems: Sequence[str]) -> bool:
    """Return whether columns are called as places of a row are, in which any system's output may stand.

    >>> are_places(["response_1", "response_2"]), are_places(["chosen", "rejected"]), are_places(["gpt_1", "gpt_2"])
    (True, True, False)
    """
    words = [_place_words(name) for name in systems]
    places = [[word for word in one if word in PLACES] for one in words]
    rests = {"_".join(word for word in one if word not in PLACES) for one in words}
    if (
        len(systems) < 2
        or any(len(one) != 1 for one in places)
        or len({one[0] for one in places}) < len(systems)
        or len(rests) != 1
    ):
        return False
    (rest,) = rests
    return not rest or place_in("output", rest) is not None


def check_columns(rows: SheetRows, named: NamedColumns) -> None:
    """Raise StudyError where a column that is named is in no file."""
    for option, names in (
        ("--item", (named.item,)),
        ("--system", named.systems),
        ("--output", (named.output,)),
        ("--prompt", named.prompts),
    ):
        for name in names:
            if name is not None and name not in rows.names:
                from spa.errors import expected_got, shortened
                from spa.records.problems import nearest

                there = nearest(name, rows.names)
                raise StudyError(
                    expected_got(f"{option} {shortened(name)}", "a column of the files", "none of that name", there)
                )
