"""Items that are named by output, such as ``oak_1`` and ``elm_1``: told, and cut to what names the input."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from analysis.answers.groups import distinct
from analysis.answers.reading import RawTable
from spa.errors import AnalysisError, ArgumentProblem, shortened

JOINTS = "-_/.:#|@ "  # characters that stand between the name of a system and the rest of an id
FIRST = 5_000  # rows that are looked at before all are
SHARED = 0.5  # of what is left of the ids that more than one system must have


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedOutputs:
    """Ids that hold their system's name: two of one item, what is left of both, and a pattern that finds the item."""

    examples: tuple[str, str]
    item: str
    n_ids: int
    n_items: int
    pattern: str | None = None

    def words(self) -> str:
        """Say so, with the option."""
        first, second = (shortened(one, 40) for one in self.examples)
        return (
            f"each of the {self.n_ids:,} ids of items occurs with one system, and they differ by its name ({first}, "
            f"{second}), so nothing is compared on one item; --cut-system takes it out ({shortened(self.item, 40)})"
            f"{'' if self.pattern is None else f', or --item-from {shlex.quote(self.pattern)}'}, "
            f"which leaves {self.n_items:,} items"
        )


def cut(item: str, system: str) -> str | None:
    """Return an id without its system's name, which stands at its start or end or between joints; ``None`` without it.

    >>> cut("oak_1", "oak"), cut("1-oak", "oak"), cut("doc/oak/3", "oak"), cut("oaken", "oak")
    ('1', '1', 'doc/3', None)
    """
    place = item.find(system)
    while place >= 0:
        before, after = item[:place], item[place + len(system) :]
        if (not before or before[-1] in JOINTS) and (not after or after[0] in JOINTS):
            left = before.rstrip(JOINTS) + (before[-1] if before and after else "") + after.lstrip(JOINTS)
            return left or None
        place = item.find(system, place + 1)
    return None


def find_own_items(pairs: Iterable[tuple[str, str]]) -> NamedOutputs | None:
    """Tell whether every id occurs with one system and holds its name.

    ``pairs`` are the item and the system of every output of one table.
    """
    found = list(dict.fromkeys(pairs))
    systems = {system for _, system in found}
    if len(systems) < 2 or len({item for item, _ in found}) < len(found):
        return None
    left: dict[str, list[str]] = {}
    for item, system in found:
        short = cut(item, system)
        if short is None:
            return None
        left.setdefault(short, []).append(item)
    several = [items for items in left.values() if len(items) > 1]
    if len(several) < SHARED * len(left):
        return None
    short = next(short for short, items in left.items() if len(items) > 1)
    return NamedOutputs(
        examples=(left[short][0], left[short][1]),
        item=short,
        n_ids=len(found),
        n_items=len(left),
        pattern=_pattern(found, len(left)),
    )


def _pattern(found: Sequence[tuple[str, str]], n_items: int) -> str | None:
    """Return a pattern of what stands before the system's name in all ids, if it leaves as many items; else None."""
    item, system = found[0]
    at = item.find(system)
    rest = item[at + len(system) :]
    if at < 2 or item[at - 1] not in JOINTS or any(character in JOINTS.replace(".", "") for character in rest):
        return None
    joint = item[at - 1]
    pattern = f"(.+){re.escape(joint)}[^{re.escape(joint)}]+"
    cut_out = [re.fullmatch(pattern, one) for one, _ in found]
    named = [
        one is not None and f"{one[1]}{joint}{system}{rest}" == item
        for one, (item, system) in zip(cut_out, found, strict=True)
    ]
    return pattern if all(named) and len({one[1] for one in cut_out if one is not None}) == n_items else None


def own_items_words(tables: Mapping[str, Sequence[RawTable]]) -> dict[str, list[str]]:
    """Return what is to be said of each table of outputs whose ids are named by system."""
    said = {}
    for kind, parts in tables.items():
        named = [part.frame for part in parts if {"item_id", "system"} <= {*part.frame.columns}]
        if not named or any(_outputs(frame.head(FIRST))["item_id"].is_duplicated().any() for frame in named):
            continue
        found = find_own_items(pair for frame in named for pair in _outputs(frame).iter_rows())
        if found is not None:
            said[kind] = [found.words()]
    return said


def _outputs(frame: pl.DataFrame) -> pl.DataFrame:
    return distinct(frame, "item_id", "system").drop_nulls()


def without_systems(tables: Mapping[str, Sequence[RawTable]]) -> dict[str, list[RawTable]]:
    """Take each system's name out of the ids of its items, in every table that has both.

    Raises
    ------
    AnalysisError
        When an id does not hold the name, or two outputs of a system would be one item.
    """
    return {kind: [_without_system(table) for table in parts] for kind, parts in tables.items()}


def with_items(tables: Mapping[str, Sequence[RawTable]], pattern: str) -> dict[str, list[RawTable]]:
    """Take the item out of the ids of items in every table that has them, by a pattern that fits each as a whole.

    Raises
    ------
    AnalysisError
        When an id does not fit, or two outputs of a system would be one item.
    """
    return {kind: [_with_item(table, re.compile(pattern)) for table in parts] for kind, parts in tables.items()}


def _with_item(table: RawTable, pattern: re.Pattern[str]) -> RawTable:
    frame = table.frame
    if "item_id" not in frame.columns:
        return table
    group: str | int = "item" if "item" in pattern.groupindex else 1
    ids = frame["item_id"].cast(pl.String).unique().drop_nulls().to_list()
    fits = {one: pattern.fullmatch(one) for one in ids}
    wrong = min((one for one, fit in fits.items() if fit is None or not fit[group]), default=None)
    if wrong is not None:
        after = f": expected a pattern that fits each item_id as a whole, got {shortened(repr(wrong), 80)}"
        raise AnalysisError(_of_pattern(table, pattern, after))
    items = {one: fit[group] for one, fit in fits.items() if fit is not None}
    made = frame["item_id"].cast(pl.String).replace_strict(items, return_dtype=pl.String)
    if "system" in frame.columns:
        outputs = _outputs(frame.select("system", item_id="item_id")).with_columns(pl.all().cast(pl.String))
        short = outputs.select("system", item=pl.col("item_id").replace_strict(items, return_dtype=pl.String))
        if short.is_duplicated().any():
            item = short.filter(short.is_duplicated())["item"][0]
            after = f": expected one output of a system for an item, got several for {shortened(repr(item), 60)}"
            raise AnalysisError(_of_pattern(table, pattern, after))
    return replace(table, frame=frame.with_columns(made.cast(frame.schema["item_id"]).alias("item_id")))


def _of_pattern(table: RawTable, pattern: re.Pattern[str], after: str) -> ArgumentProblem:
    written = shortened(pattern.pattern, 80)
    return ArgumentProblem(
        "item_from", before=f"{table.place}: ", in_python=f"={written!r}", in_command=f" {written}", after=after
    )


def _without_system(table: RawTable) -> RawTable:
    frame = table.frame
    if not {"item_id", "system"} <= {*frame.columns}:
        return table
    outputs = _outputs(frame)
    short = [cut(item, system) for item, system in outputs.iter_rows()]
    problem = None
    if None in short:
        item, system = outputs.row(short.index(None))
        problem = f"{table.place}: expected an item_id with the name of {shortened(repr(system), 40)}"
        problem += f", got {shortened(repr(item), 60)}"
    made = outputs.with_columns(cut=pl.Series(short, dtype=pl.String))
    if problem is None and made.select("cut", "system").is_duplicated().any():
        item = made.filter(made.select("cut", "system").is_duplicated())["cut"][0]
        problem = (
            f"{table.place}: expected one output of a system for an item, got several for {shortened(repr(item), 60)}"
        )
    if problem is not None:
        raise AnalysisError(ArgumentProblem("cut_system", before=f"{problem}; leave out ", after=""))
    strings = frame.select(pl.col("item_id", "system").cast(pl.String))
    items = strings.join(made, on=["item_id", "system"], how="left", maintain_order="left")["cut"]
    kind = frame.schema["item_id"]
    return replace(table, frame=frame.with_columns(items.cast(kind).alias("item_id")))
