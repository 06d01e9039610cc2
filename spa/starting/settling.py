"""Answers made a study's: names that it may hold, one answer a cell, items that every system answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from spa.errors import StudyError, shortened
from spa.records.clean_text import cleaned
from spa.records.toml_table import NOTHING
from spa.starting.found import Answer, FoundOutputs, OpenQuestion
from spa.starting.input_rows import identified
from spa.tables.near_matches import as_shown, near_matches

LONGEST = 80  # characters of an id
ENOUGH_ITEMS = 20  # that all systems answer, or half of all items, for the others to be left out
LEAST_ITEMS = 3
LISTED = 3
ItemsKept = Literal["common", "single"]
Repeats = Literal["samples", "first", "last"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a study is made of: answers under its ids, and what systems and items are called in the files."""

    answers: tuple[Answer, ...]
    kind: str
    item_kind: str
    systems: Mapping[str, str]  # id -> the file's words
    references: Mapping[str, str]  # item -> a text that metrics compare with
    item_name: str | None  # what people read above a prompt, in English
    single: bool  # whether single outputs are rated, as systems leave items out
    left_out: tuple[str, ...]
    caveats: tuple[str, ...]
    within: Mapping[str, Path]  # the files that texts name, by their paths there

    @property
    def items(self) -> tuple[str, ...]:
        """The items, in the order of the files."""
        return tuple(dict.fromkeys(answer.item for answer in self.answers))


def without_repeats(outputs: FoundOutputs) -> tuple[FoundOutputs, OpenQuestion | None]:
    """Return what was found without rows that repeat another word for word, and what to ask of further answers."""
    seen: dict[tuple[str, ...], Answer] = {}
    for answer in outputs.answers:
        seen.setdefault((answer.item, answer.system, answer.output, answer.sample or ""), answer)
    repeated = len(outputs.answers) - len(seen)
    left = (f"rows that repeat another word for word: {repeated:,}",) if repeated else ()
    outputs = replace(outputs, answers=tuple(seen.values()), left_out=(*outputs.left_out, *left))
    if (several := _several(outputs.answers)) and all(answer.sample is None for answer in several):
        keys = dict.fromkeys((answer.system, answer.item) for answer in several)
        first = ", ".join(f"{shortened(system, 30)} to {shortened(item, 30)}" for system, item in list(keys)[:LISTED])
        question = (
            f"{len(keys):,} times a system has several answers to one item ({first}{', ...' * (len(keys) > LISTED)}). "
            "Take all, as samples of the system, or only the first or the last?"
        )
        return outputs, OpenQuestion(key="repeats", question=question, choices=("samples", "first", "last"))
    return outputs, None


def with_samples(outputs: FoundOutputs, which: Repeats) -> FoundOutputs:
    """Return what was found with several answers numbered, or with one of them."""
    counts: Counter[tuple[str, str]] = Counter()
    kept: dict[tuple[str, str, str], Answer] = {}
    for answer in outputs.answers:
        key = (answer.item, answer.system)
        counts[key] += 1
        if which == "samples":
            kept[(*key, str(counts[key]))] = replace(answer, sample=answer.sample or str(counts[key]))
        elif which == "last" or counts[key] == 1:
            kept[(*key, "")] = answer
    left = len(outputs.answers) - len(kept)
    lines = (f"further answers of a system to an item: {left:,}; the {which} is kept",) if left else ()
    return replace(outputs, answers=tuple(kept.values()), left_out=(*outputs.left_out, *lines))


def _several(answers: Iterable[Answer]) -> list[Answer]:
    cells: dict[tuple[str, str], list[Answer]] = defaultdict(list)
    for answer in answers:
        cells[answer.item, answer.system].append(answer)
    return [answer for own in cells.values() if len(own) > 1 for answer in own]


def same_names(outputs: FoundOutputs) -> OpenQuestion | None:
    """Return what to ask of systems whose names differ in letter case or in blanks, and that share no item."""
    items: dict[str, set[str]] = defaultdict(set)
    for answer in outputs.answers:
        items[answer.system].add(answer.item)
    near = [match.names for match in near_matches(items) if _apart(items[name] for name in match.names)]
    if not near:
        return None
    listed = "; ".join(" and ".join(as_shown(name) for name in names) for names in near[:LISTED])
    question = f"Are names that are nearly the same and share no item one system's ({listed})?"
    return OpenQuestion(key="same-names", question=question, choices=("one", "apart"), default="one")


def with_one_name(outputs: FoundOutputs) -> FoundOutputs:
    """Return what was found with one name, the plainest, for systems of nearly the same names."""
    names = dict.fromkeys(answer.system for answer in outputs.answers)
    plainest = {name: match.names[0] for match in near_matches(names) for name in match.names}
    answers = (replace(answer, system=plainest.get(answer.system, answer.system)) for answer in outputs.answers)
    return replace(outputs, answers=tuple(answers))


def _apart(sets: Iterable[set[str]]) -> bool:
    counted = Counter(item for one in sets for item in one)
    return all(count == 1 for count in counted.values())


def missing_outputs(outputs: FoundOutputs) -> OpenQuestion | None:
    """Return what to ask where systems leave items out, with the items and systems; ``None`` where none does.

    Raise StudyError where fewer than two systems are left.
    """
    by_item, systems = _by_item(outputs.answers)
    if len(systems) < 2:
        only = f"of one ({shortened(next(iter(systems)), 40)})" if systems else "none"
        raise StudyError(f"expected outputs of two systems or more, got {only}; give the other systems' outputs, too")
    lacking = {item: own for item, own in by_item.items() if len(own) < len(systems)}
    if not lacking:
        return None
    common = len(by_item) - len(lacking)
    answered = Counter(system for own in by_item.values() for system in own)
    fewest = ", ".join(f"{shortened(name, 30)} {count:,}" for name, count in answered.most_common()[: -LISTED - 1 : -1])
    first = ", ".join(shortened(item, 30) for item in list(lacking)[:LISTED]) + ", ..." * (len(lacking) > LISTED)
    question = (
        f"{len(lacking):,} of {len(by_item):,} items lack a system's answer ({first}; answered least: {fewest}). Take "
        f"the {common:,} items common to all, or all items, in a form that rates single outputs?"
    )
    if common < LEAST_ITEMS:
        return OpenQuestion(key="missing-outputs", question=question, choices=("single",), default="single")
    default = "common" if common >= ENOUGH_ITEMS or 2 * common >= len(by_item) else "single"
    return OpenQuestion(key="missing-outputs", question=question, choices=("common", "single"), default=default)


def with_items(outputs: FoundOutputs, which: ItemsKept) -> FoundOutputs:
    """Return what was found with the items common to all systems, or with all."""
    by_item, systems = _by_item(outputs.answers)
    if which == "single" and all(len(own) == 1 for own in by_item.values()):
        firsts = {next(iter(own)): item for item, own in reversed(by_item.items())}
        listed = ", ".join(f"{shortened(firsts[one], 30)} of {shortened(one, 30)}" for one in [*systems][:LISTED])
        caveat = f"no item has outputs of two systems ({listed}); where these are the same items, name them alike"
        return replace(outputs, caveats=(*outputs.caveats, caveat))
    if which == "single":
        return outputs
    kept = tuple(answer for answer in outputs.answers if len(by_item[answer.item]) == len(systems))
    items = sum(len(own) < len(systems) for own in by_item.values())
    line = f"items that not every system answers: {items:,}, with {len(outputs.answers) - len(kept):,} answers"
    return replace(outputs, answers=kept, left_out=(*outputs.left_out, line) if items else outputs.left_out)


def _by_item(answers: Sequence[Answer]) -> tuple[dict[str, set[str]], dict[str, None]]:
    by_item: dict[str, set[str]] = {}
    for answer in answers:
        by_item.setdefault(answer.item, set()).add(answer.system)
    return by_item, dict.fromkeys(answer.system for answer in answers)


def settled(outputs: FoundOutputs, *, single: bool) -> Settled:
    """Return the answers under ids that a study may have; prompts are left out where items lack them.

    Words that are no id (too long, with control characters, ...) are changed, made distinct and said.
    """
    left, caveats = list(outputs.left_out), list(outputs.caveats)
    answers = outputs.answers
    texts = {answer.item: answer.prompt for answer in answers if answer.prompt and answer.prompt.strip()}
    items = dict.fromkeys(answer.item for answer in answers)
    absent = [item for item in items if item not in texts]
    if texts and absent:
        left.append(f"the prompts, as {len(absent):,} of {len(items):,} items have none ({shortened(absent[0], 40)})")
        texts = {}
    systems = _distinct(dict.fromkeys(answer.system for answer in answers), _system_id)
    renamed = [f"{shortened(repr(old), 50)} is {shortened(new, 50)}" for old, new in systems.items() if old != new]
    if renamed:
        caveats.append(f"names of systems that are no ids: {'; '.join(renamed[:LISTED])}")
    by_prompt = all(item == identified([text])[0] for item, text in texts.items()) and bool(texts)
    if by_prompt or any(len(item) > LONGEST for item in items):
        ids = {item: str(number) for number, item in enumerate(items, start=1)}
        caveats.append(f"the {len(ids):,} items are numbered, as only their texts tell them apart")
    else:
        ids = _distinct(items, _item_id)
        changed = [f"{shortened(repr(old), 50)} is {shortened(new, 50)}" for old, new in ids.items() if old != new]
        if changed:
            caveats.append(f"names of items that are no ids: {'; '.join(changed[:LISTED])}")
    return Settled(
        answers=tuple(
            replace(one, item=ids[one.item], system=systems[one.system], prompt=texts.get(one.item)) for one in answers
        ),
        kind=outputs.kind,
        item_kind=outputs.item_kind,
        systems={new: _name(old) for old, new in systems.items()},
        references={ids[item]: text for item, text in outputs.references.items() if item in ids},
        item_name=outputs.item_name if texts else None,
        single=single,
        left_out=tuple(left),
        caveats=tuple(caveats),
        within=outputs.within,
    )


def _name(word: str) -> str:
    return " ".join(cleaned(word).split()) or "-"


def _system_id(word: str) -> str:
    """Return a word as an id: at most 80 characters, none of control, no slash at its start."""
    plain = _name(word).lstrip("/\\ ")
    plain = plain if len(plain) <= LONGEST else plain[:LONGEST].strip()
    return f"system {plain}" if plain in (*NOTHING, "") else plain


def _item_id(word: str) -> str:
    plain = _name(word)
    return f"item {plain}" if plain in NOTHING else plain


def _distinct(words: Iterable[str], as_id: Callable[[str], str]) -> dict[str, str]:
    """Return an id for each word; those that would be the same get numbers."""
    found: dict[str, str] = {}
    given: set[str] = set()
    words = list(words)
    taken = {word for word in words if as_id(word) == word}
    for word in words:
        new = first = as_id(word)
        number = 2
        while (new in taken and new != word) or new in given:
            new, number = f"{first[: LONGEST - 4]}-{number}", number + 1
        found[word] = new
        given.add(new)
    return found
