"""Long tables: which column names the item, which the system, which holds the output."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from spa.errors import shortened
from spa.media import all_media, medium_of_paths
from spa.starting.found import OpenQuestion
from spa.starting.input_rows import FILE, LINE, NamedColumns, SheetRows, joined, varies
from spa.starting.names import (
    FILES_GIVEN,
    NAMES,
    PROMPTS_FIRST,
    PROMPTS_WITH,
    Role,
    is_answer,
    is_beside,
    is_passages,
    is_person,
    last_part,
    place_in,
)
from spa.tables.scale_words import LEVELS

MOST_SYSTEMS, LONGEST_NAME = 100, 120
ENOUGH, PERFECT = 0.3, 0.99  # share of rows that must join; where nothing else is tried
PLAINEST = 4  # names of prompts that are nothing else
VARIED = 0.5  # share of items within which a rival's texts differ
ALIKE = 0.05  # share of items whose prompts may differ
WORDY = 15  # characters of a prompt on average
TRIED = 6  # columns for a role
INPUT = "input"  # of an instruction: shown however short
ITEMS: tuple[Role, ...] = ("item", "prompt")  # what names items: ids, else what every system was given
OTHER: tuple[Role, ...] = ("item", "system", "prompt", "reference", "aside")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The columns of a long table, or :data:`FILE` and :data:`LINE`; ``prompts`` stand one below the other."""

    item: str
    system: str
    output: str
    prompts: tuple[str, ...]
    share: float  # of the rows, those of items that two systems answer
    rank: float  # the same, less where prompts differ within items

    @property
    def columns(self) -> frozenset[str]:
        """Every column that has a role."""
        return frozenset((self.item, self.system, self.output, *self.prompts))


def roles_in(rows: SheetRows, named: NamedColumns) -> Roles | None:
    """Return the columns that fit best; ``None`` where no item joins two systems.

    A column fits by its name and by what it holds: systems are few and recur with many items, outputs differ within an
    item, prompts do not.
    """
    best: Roles | None = None
    for output in outputs_in(rows, named):
        found = _with_output(rows, named, output)
        if found is not None and (best is None or found.rank > best.rank):
            best = found
        if best is not None and best.rank >= ENOUGH:
            break
    return best


def _with_output(rows: SheetRows, given: NamedColumns, output: str) -> Roles | None:
    texts = rows.column(output).cells
    best: Roles | None = None
    for named in (True, False):
        for system in _systems_in(rows, given, output, named=named):
            names = rows.identified(system)
            for item in items_in(rows, given, (output, system)):
                items = rows.identified(item)
                if item == LINE and system != FILE:
                    continue
                fits = joined(names, items, texts)
                if (
                    fits.shared == 0
                    or (fits.items < 2 and not named)
                    or (fits.shared > 2 and varies(items, rows.identified(output)) == 0.0)
                ):
                    continue
                prompts = prompts_in(rows, given, items, {item, system, output})
                share = min(1.0, fits.share * _samples(rows, names, item))
                rank = share * _agreeing(rows, given, items, {item, system, output})
                if item == LINE and 2 * rank < share:
                    continue  # rows in one place were given different prompts
                if best is None or rank > best.rank + 0.01:
                    best = Roles(
                        item=item, system=system, output=output, prompts=prompts, share=share, rank=rank
                    )  # fmt: skip
                if best is not None and best.rank > PERFECT:
                    return _prompted(rows, given, best)
        if best is not None and best.rank >= ENOUGH:
            break
    return None if best is None else _prompted(rows, given, best)


def _samples(rows: SheetRows, systems: Sequence[str | None], item: str) -> int:
    """Return how often each system answers each of the prompts that name the items; 1 where that differs.

    So it is as well where anything else that may name items differs within them: then rows are parts, no samples.
    """
    if place_in("prompt", item) is None or is_passages(item):
        return 1
    items = rows.identified(item)
    counts = {*Counter((system, one) for system, one in zip(systems, items, strict=True) if system and one).values()}
    others = [name for name in rows.names if name != item and any(place_in(role, name) is not None for role in ITEMS)]
    if len(counts) != 1 or any(varies(items, rows.identified(name)) > 0 for name in others if not _is_answered(name)):
        return 1
    return counts.pop()


def _is_answered(name: str) -> bool:
    return place_in("output", name) is not None and place_in("item", name) is None


def _prompted(rows: SheetRows, given: NamedColumns, roles: Roles) -> Roles:
    prompts = with_item(rows, given, roles.item, roles.prompts)
    return replace(roles, prompts=with_files(rows, given, roles.item, prompts, {roles.system, roles.output}))


def with_files(
    rows: SheetRows, named: NamedColumns, item: str, prompts: tuple[str, ...], taken: Collection[str]
) -> tuple[str, ...]:
    """Return the columns of prompts after one, under a usual name, with paths of files that systems were given."""
    items = rows.identified(item)
    found = [
        name
        for name in rows.names
        if last_part(name) in FILES_GIVEN
        and name not in (item, *prompts, *taken)
        and medium_of_paths(rows.column(name).filled) is not None
        and varies(items, rows.identified(name)) <= ALIKE
    ]
    return prompts if named.prompts else (*found[:1], *prompts)


def with_item(rows: SheetRows, named: NamedColumns, item: str, prompts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of prompts, of which what names the items is one, or a part, where it is no id: files are.

    What few items have beside their instruction (an input) is a part, too.
    """
    if not named.prompts and last_part(item) in FILES_GIVEN and medium_of_paths(rows.column(item).filled) is not None:
        return (item, *prompts)
    if named.prompts or not is_prompt(rows, item) or (prompts and place_in("prompt", item) is None):
        return prompts
    first = [name for name in prompts if last_part(name) in PROMPTS_FIRST]
    if first and last_part(item) in PROMPTS_WITH:
        return (first[0], item)
    if last_part(item) not in PROMPTS_FIRST:
        return (item,)
    items = rows.identified(item)
    others = [name for name in rows.names if name not in (item, *prompts, *named.columns)]
    others = [name for name in others if not of_one_system(rows, name)]
    below = [
        name
        for name in (*prompts, *others)
        if last_part(name) in PROMPTS_WITH
        and not _stands_in(rows, name, item)
        and (last_part(name) == INPUT or _is_wordy(rows, name))
        and (name in prompts or _belongs(rows, items, name))
    ]
    return (item, *below[:1])


def _belongs(rows: SheetRows, items: Sequence[str | None], name: str) -> bool:
    """Return whether a column has one text for each item that has any there, mostly another: no data set's name."""
    cells = rows.column(name).cells
    having = {item for item, cell in zip(items, cells, strict=True) if item and cell and cell.strip()}
    telling = last_part(name) == INPUT or 2 * rows.column(name).distinct >= len(having)
    return bool(having) and telling and varies(items, rows.identified(name)) <= ALIKE


def outputs_in(rows: SheetRows, named: NamedColumns) -> list[str]:
    """Return the columns that may hold outputs, the likeliest first."""
    if named.output is not None:
        return [named.output]
    texts = [name for name in rows.names if rows.column(name).filled and not rows.column(name).is_number]
    taken = {named.item, *named.systems, *named.prompts}
    called = sorted((at, name) for name in texts if (at := place_in("output", name)) is not None and name not in taken)
    known = [name for _, name in called]
    others = [name for name in texts if name not in known and name not in taken and not is_other(name)]
    others = [name for name in others if not (rows.column(name).is_code or is_answer(name))]
    return [*known, *sorted(others, key=lambda name: -rows.column(name).length)][:TRIED]


def answers_of_people(rows: SheetRows) -> tuple[str, str] | None:
    """Return the columns of who answered and of an answer, where no column of texts may hold outputs."""
    filled = [name for name in rows.names if rows.column(name).filled]
    people = [name for name in filled if is_person(name)]
    answers = [name for name in filled if is_answer(name)]
    answers += [name for name in filled if rows.column(name).is_number and place_in("item", name) is None]
    answers += [name for name in filled if _are_levels(rows, name)]
    answers = [name for name in answers if name not in people]
    if not people or not answers or any(_may_be_outputs(rows, name) for name in filled):
        return None
    return people[0], answers[0]


def _are_levels(rows: SheetRows, name: str) -> bool:
    """Return whether a column holds the levels of a scale in words."""
    words = {" ".join(cell.casefold().split()) for cell in rows.column(name).filled}
    return len(words) > 1 and any(words <= {*scale} for scale in LEVELS)


def _may_be_outputs(rows: SheetRows, name: str) -> bool:
    column, named = rows.column(name), place_in("output", name) is not None
    if (is_other(name) and not named) or place_in("item", name) is not None or column.is_number:
        return False
    files = any(medium.holds_path(cell) for medium in all_media() for cell in column.filled[:TRIED])
    return files or (column.length >= WORDY and column.distinct > 1 and (named or not column.is_code))


def doubtful_output(rows: SheetRows, named: NamedColumns, roles: Roles) -> OpenQuestion | None:
    """Return what to ask where several columns are called as outputs are, and hold texts that differ within items."""
    if named.output is not None:
        return None
    items = rows.identified(roles.item)
    rivals = [
        name
        for name in outputs_in(rows, named)
        if name not in roles.columns
        and place_in("output", name) is not None
        and _is_wordy(rows, name)
        and 2 * len(rows.column(name).filled) > len(rows.column(roles.output).filled)
        and varies(items, rows.identified(name)) > VARIED
    ]
    if not rivals:
        return None
    choices = (roles.output, *rivals)
    question = f"Which column holds the outputs: {', '.join(shortened(name, 60) for name in choices)}?"
    return OpenQuestion(key="output", question=question, choices=choices, default=roles.output)


def is_other(name: str) -> bool:
    """Return whether a column's name says that it holds no outputs; of who answered, neither items nor systems."""
    return (
        is_beside(name)
        or is_person(name)
        or is_passages(name)
        or any(place_in(role, name) is not None for role in OTHER)
    )


def _systems_in(rows: SheetRows, given: NamedColumns, output: str, *, named: bool) -> Iterator[str]:
    """Yield the columns that may name the system: by their names, and the files; or by what they hold."""
    if given.systems:
        yield from given.systems[:1] if named else ()
        return
    known = sorted((at, name) for name in rows.names if (at := place_in("system", name)) is not None)
    found = [name for _, name in known if name != output and _names_few(rows, name)]
    if named:
        yield from found[:TRIED]
        if len(rows.sheets) > 1:
            yield FILE
        return
    others = [name for name in rows.names if name not in found and name not in {output, given.item, *given.prompts}]
    few = [name for name in others if _names_few(rows, name) and _is_text(rows, name) and not is_other(name)]
    few = [name for name in few if not is_answer(name)]
    yield from sorted(few, key=lambda name: rows.column(name).distinct)


def _names_few(rows: SheetRows, name: str) -> bool:
    column = rows.column(name)
    longest = 10 * LONGEST_NAME if place_in("system", name) is not None else LONGEST_NAME
    few = min(MOST_SYSTEMS, max(2, len(column.filled) // (1 if place_in("system", name) is not None else 2)))
    return 1 < column.distinct <= few and max(map(len, column.filled), default=0) <= longest


def items_in(rows: SheetRows, named: NamedColumns, taken: Sequence[str]) -> list[str]:
    """Return the columns that may name the item, the likeliest first: ids, prompts, the place in the file."""
    if named.item is not None:
        return [named.item]
    found: list[str] = []
    for role in ITEMS:
        known = sorted((at, name) for name in rows.names if (at := place_in(role, name)) is not None)
        found += [name for _, name in known if name not in taken and name not in found and rows.column(name).filled]
    found = [name for name in named.prompts if name not in found] + found
    if any(place_in("item", name) is not None for name in found):
        return found
    others = [name for name in rows.names if name not in found and name not in taken and not is_other(name)]
    others = [name for name in others if not is_answer(name)]
    recurring = [name for name in others if 1 < rows.column(name).distinct <= rows.height // 2]
    return [*found[: 2 * TRIED], *recurring[:TRIED], LINE]


def prompts_in(
    rows: SheetRows, named: NamedColumns, items: Sequence[str | None], taken: set[str], *, long: bool = True
) -> tuple[str, ...]:
    """Return the columns with what every system was given: the same text within an item, under a usual name.

    In ``long`` tables a column of another name will do, as there it recurs.
    """
    if named.prompts:
        return named.prompts
    names = [name for name in rows.names if not of_one_system(rows, name)]
    known = sorted((at, name) for name in names if (at := place_in("prompt", name)) is not None)
    fitting = [
        name for _, name in known if name not in taken and rows.column(name).filled and _is_text(rows, name)
        and varies(items, rows.identified(name)) <= ALIKE
    ]  # fmt: skip
    needed = len({item for item in items if item})
    telling = [name for name in fitting if 2 * rows.column(name).distinct >= needed]
    plain = [name for name in fitting if last_part(name) in NAMES["prompt"][:PLAINEST]]
    chosen = (telling or plain)[:1]  # a "source" of few values is a data set
    if chosen and last_part(chosen[0]) in PROMPTS_FIRST:
        below = [name for name in fitting if last_part(name) in PROMPTS_WITH and name not in chosen]
        below = [name for name in below if not _stands_in(rows, name, chosen[0])]
        chosen += [name for name in below if not rows.column(name).is_code and rows.column(name).distinct > 1][:1]
    if not chosen and long:
        others = [name for name in rows.names if name not in taken and not is_other(name) and _is_wordy(rows, name)]
        telling = [name for name in others if 2 * rows.column(name).distinct >= needed]
        chosen = [name for name in telling if varies(items, rows.identified(name)) == 0.0][:1]
    return tuple(chosen)


def of_one_system(rows: SheetRows, name: str) -> bool:
    """Return whether a column holds passages of one system of a wide table, beside those of another."""
    if not is_passages(name):
        return False
    alike = [one for one in rows.names if is_passages(one) and last_part(one) == last_part(name)]
    return rows.column(name).system is not None or len(alike) > 1


def _stands_in(rows: SheetRows, name: str, other: str) -> bool:
    """Return whether all texts of a column stand within those of another, be it paragraph by paragraph."""
    pairs = zip(rows.column(name).cells, rows.column(other).cells, strict=True)
    return all(not one or all(part.strip() in (text or "") for part in one.split("\n\n")) for one, text in pairs)


def _is_wordy(rows: SheetRows, name: str) -> bool:
    """Return whether a column holds texts of some words."""
    column = rows.column(name)
    return column.length >= WORDY and column.distinct > 1 and not column.is_number and not column.is_code


def is_prompt(rows: SheetRows, item: str) -> bool:
    """Return whether a column that names the items is what every system was given."""
    return item != LINE and (place_in("prompt", item) is not None or _is_wordy(rows, item))


def _is_text(rows: SheetRows, name: str) -> bool:
    return not rows.column(name).is_number


def _agreeing(rows: SheetRows, given: NamedColumns, items: Sequence[str | None], taken: set[str]) -> float:
    """Return the share of items whose prompt, by its plainest name, is the same for all systems; 1 without such."""
    plain = NAMES["prompt"][:PLAINEST]
    names = given.prompts or tuple(name for name in rows.names if last_part(name) in plain and name not in taken)
    agreeing = [1 - varies(items, rows.identified(name)) for name in names if _is_text(rows, name)]
    return max(min(agreeing, default=1.0), 0.01)
