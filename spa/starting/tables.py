"""Answers from tables: long, wide, or one file for each system."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from spa.errors import StudyError, shortened
from spa.media import JOINED, PLAIN, medium_of, medium_of_paths, text_with_files
from spa.media.medium import Medium
from spa.starting.columns import AS_JSON, LAST, OutputColumn
from spa.starting.dialogues import Dialogues, with_dialogues
from spa.starting.found import SHOWN, Answer, FoundOutputs, OpenQuestion, names_listed, systems_listed
from spa.starting.input_rows import FILE, LINE, NamedColumns, SheetRows, varies
from spa.starting.names import ITEM_NAMES, NAMES, is_passages, last_part, place_in
from spa.starting.refusals import why_no_study
from spa.starting.roles import (
    ALIKE,
    ENOUGH,
    PLAINEST,
    Roles,
    answers_of_people,
    doubtful_output,
    of_one_system,
    roles_in,
)
from spa.starting.sheets import OutputSheet
from spa.starting.spoken import Spoken
from spa.starting.wide import WideRoles, are_places, check_columns, wide_roles_in
from spa.study.output_files import display_files
from spa.tables.other_rows import totals
from spa.tables.paths import MARKS

SAMPLES = frozenset("sample sample_id sample_idx sample_index sample_number try attempt repeat replicate".split())
FEW = 20  # values of a column that tells answers of one system apart
BEGINNING = 3  # columns in which a row's first cell stands
FAILURE = re.compile(  # what tools write in the place of an output
    r"(?is)#(?:N/A|NAME\?|VALUE!|REF!|DIV/0!|NUM!|NULL!)$|(?:nan|none|null|n/a|undefined|\[?(?:object Object)\]?)$"
    r"|Traceback \(most recent call last\)|(?:\w*Error|\w*Exception|HTTP [45]\d\d|Error code)\s*:"
    r"|\{\s*[\"']error[\"']\s*:|(?:<!doctype html>\s*)?<html\b.{0,300}?<title>\s*(?:[45]\d\d|error)\b"
)
Words = str | None


def found_in_tables(
    sheets: Sequence[OutputSheet], named: NamedColumns, settle: Callable[[OpenQuestion], str]
) -> FoundOutputs:
    """Return the answers of tables, each row or each cell of which is one; ``settle`` says which of two columns it is.

    Raise StudyError, in one line, where no study can be made of them, with what is missing.
    """
    rows = SheetRows(sheets)
    check_columns(rows, named)
    if named.output is None and len(named.systems) < 2 and (names := answers_of_people(rows)):
        place = display_files(sheet.file for sheet in rows.sheets)
        raise StudyError(
            f"{place}: expected the systems' outputs as texts, got what people answered ({names_listed(names)}); a "
            "report of finished answers: spa report FILE; if a column holds outputs, name it with --output"
        )
    long = roles_in(rows, named) if len(named.systems) < 2 else None
    one_column = bool(named.output) or len(named.systems) == 1
    unnamed = long is not None and long.item == LINE and place_in("output", long.output) is None
    settled = long is not None and long.share >= ENOUGH and not unnamed
    wide = None if one_column or settled else wide_roles_in(rows, named)
    if long is not None and (wide is None or place_in("system", long.system) is not None):
        if question := doubtful_output(rows, named, long):
            chosen = settle(question)
            if chosen != long.output:
                return found_in_tables(sheets, replace(named, output=chosen), settle)
        return _of_long(rows, named, long)
    if wide is not None:
        return _of_wide(rows, named, wide)
    raise StudyError(why_no_study(rows, named))


def _check_places(rows: SheetRows, roles: Roles) -> None:
    """Refuse to pair rows by their places in files that have not as many."""
    names = {sheet.label: sheet.file.name for sheet in reversed(rows.sheets)}  # parts of one table have one label
    counts = Counter[str]()
    for sheet in rows.sheets:
        if roles.output in sheet.columns:
            counts[names[sheet.label]] += len(sheet.numbers)
    if roles.item == LINE and len({*counts.values()}) > 1:
        listed = ", ".join(f"{count:,} in {shortened(name, 60)}" for name, count in [*counts.items()][:3])
        raise StudyError(
            f"{display_files(sheet.file for sheet in rows.sheets)}: expected a column that names the item, or as many "
            f"rows in each file, got {listed}; add ids or prompts, and name them with --item"
        )


def _of_long(rows: SheetRows, given: NamedColumns, roles: Roles) -> FoundOutputs:
    _check_places(rows, roles)
    outputs = rows.column(roles.output)
    asked = [roles.output in sheet.columns for sheet in rows.sheets for _ in sheet.numbers]
    named = enumerate(zip(rows.identified(roles.system), outputs.cells, strict=True))
    return _found(
        rows,
        given,
        roles,
        [(row, system, output) for row, (system, output) in named if asked[row]],
        system=_said(rows, roles.system),
        output=_said(rows, roles.output),
        columns=(outputs,),
        caveats=tuple(_tells_apart(rows, roles, asked)),
    )


def _of_wide(rows: SheetRows, given: NamedColumns, roles: WideRoles) -> FoundOutputs:
    columns = {name: rows.column(name) for name in roles.systems}
    return _found(
        rows,
        given,
        roles,
        [
            (row, system, columns[name].cells[row])
            for row in range(rows.height)
            for name, system in roles.systems.items()
            if name in rows.sheet_of(row).columns
        ],
        system="a column each",
        output="the cells of these columns",
        columns=tuple(columns.values()),
        caveats=_places(roles),
    )


def _places(roles: WideRoles) -> tuple[str, ...]:
    if not are_places([*roles.systems]):
        return ()
    names = names_listed([*roles.systems.values()])
    return (f"{names} are compared as systems: right only where each is one system's in all rows",)


def _found(
    rows: SheetRows,
    given: NamedColumns,
    roles: Roles | WideRoles,
    cells: Iterable[tuple[int, Words, Words]],
    *,
    system: str,
    output: str,
    columns: Sequence[OutputColumn],
    caveats: Sequence[str] = (),
) -> FoundOutputs:
    """Return the answers in ``cells`` (row, system, output), which stand in ``columns``, with what is said of them."""
    items = rows.identified(roles.item)
    prompts, item_kind, of_files = _given_files(rows, items, roles.prompts)
    reference = _reference(rows, items, roles.columns)
    answers: list[Answer] = []
    empty = Counter[str]()
    nameless: dict[str, set[int]] = {}
    for row, name, text in cells:
        item = items[row]
        if name is None or item is None:
            nameless.setdefault("system" if name is None else "item", set()).add(row)
        elif text is None or not text.strip():
            empty[name] += 1
        else:
            answers.append(Answer(item=item, system=name, output=text, prompt=prompts.get(item), place=rows.place(row)))
    dialogues = with_dialogues(answers, prompts, given.kind)
    answers = list(dialogues.answers)
    medium = _medium(given, [answer.output for answer in answers])
    whole = tuple(f"{column.name}{mark}" for column in columns if column.description == AS_JSON for mark in MARKS)
    taken = {*roles.columns, *(name for name in rows.names if name.startswith(whole))}
    if dialogues.whole:
        medium = medium_of(dialogues.kind)
        named = [column.name.removesuffix(LAST) for column in columns]
        taken |= {*named}
        output = f"column{'s' * (len(named) > 1)} {names_listed(named)}, all of each conversation"
    if medium.files is not None:
        answers = [replace(answer, output=str(_with_file(rows, answer.output))) for answer in answers]
    longest = max(columns, key=lambda column: column.length)
    return FoundOutputs(
        answers=tuple(answers),
        kind=medium.key,
        item_kind=item_kind if dialogues.item_kind == PLAIN else dialogues.item_kind,
        took=(
            f"system: {system} {systems_listed(answers)}",
            f"item: {_said(rows, roles.item)} ({len({answer.item for answer in answers}):,} items)",
            f"output: {output}{f' ({medium.many})' if dialogues.whole else _size(longest, medium)}",
            *_prompt_lines(rows, roles.prompts, dialogues),
            *of_files,
            *(() if dialogues.note is None else (dialogues.note,)),
            *(f"references for metrics: {_said(rows, name)}" for name in reference),
        ),
        left_out=(
            *(f"rows without a name of the {what}: {len(found):,}" for what, found in nameless.items()),
            *_empty_lines(empty),
            *(line for column in columns for line in _further(column)),
            *_unused(rows, {*taken, *reference}),
        ),
        caveats=(
            *rows.notes,
            *caveats,
            *(() if dialogues.refused is None else (dialogues.refused,)),
            *(() if dialogues.whole else _differing(rows, items, roles.prompts)),
            *_passages_aside(rows, items, roles.columns),
            *_failures(answers),
            *_totals(rows),
        ),
        references=_prompts(rows, items, reference),
        item_name=_item_name(roles.prompts),
    )


def _totals(rows: SheetRows) -> Iterator[str]:
    """Name rows at the end of a file that look like totals, which are no items."""
    for sheet in rows.sheets:
        if found := totals({name: column.cells for name, column in [*sheet.columns.items()][:BEGINNING]}):
            name, words = found
            drop = " --drop ".join(shlex.quote(f"{name}={word}") for word in words)
            yield f"{sheet.file.name}: rows at the end begin with {names_listed(words)}, as totals do: --drop {drop}"


def _failures(answers: Sequence[Answer]) -> Iterator[str]:
    """Say how many outputs are what a program wrote where there was none: an error, NaN, a cell's #NAME?."""
    found = [answer for answer in answers if FAILURE.match(answer.output.strip())]
    if found:
        by_system = Counter(answer.system for answer in found)
        whose = ", ".join(f"{count:,} of {shortened(system, 40)}" for system, count in [*by_system.items()][:SHOWN])
        first = shortened(" ".join(found[0].output.split()), 60)
        yield (
            f"outputs that look like failures and are shown as they stand: {len(found):,} ({whose}; first: {first}); "
            "--drop COLUMN=VALUE leaves rows out"
        )


def _tells_apart(rows: SheetRows, roles: Roles, asked: Sequence[bool]) -> Iterator[str]:
    """Yield the column that tells several answers of a system to an item apart: both may name the system."""
    cells = list(zip(rows.identified(roles.system), rows.identified(roles.item), strict=True))
    if FILE in roles.columns or len({cell for cell, there in zip(cells, asked, strict=True) if there}) >= sum(asked):
        return
    for name in rows.names:
        column = rows.column(name)
        if name in roles.columns or not 1 < column.distinct <= FEW or len(column.filled) < sum(asked):
            continue
        both = {(*cell, one) for cell, one, there in zip(cells, column.cells, asked, strict=True) if there}
        if len(both) == sum(asked):
            if last_part(name) in SAMPLES:
                yield f"{shortened(name)} numbers the answers of one system: --repeats samples takes them so"
                return
            both_named = f"{roles.system}+{name}"
            yield f"{shortened(name)} tells answers of one system apart: --system {shlex.quote(both_named)} names both"
            return


def _prompts(rows: SheetRows, items: Sequence[Words], columns: Sequence[str]) -> dict[str, str]:
    """Return the prompt of each item: the first text of each column, one below the other."""
    found: dict[str, dict[str, str]] = {}
    for name in columns:
        for item, cell in zip(items, rows.column(name).cells, strict=True):
            if item and cell and cell.strip():
                found.setdefault(item, {}).setdefault(name, cell)
    return {
        item: next(iter(texts.values()))
        if len(texts) == 1
        else "\n\n".join(texts[one] for one in columns if one in texts)
        for item, texts in found.items()
    }


def _reference(rows: SheetRows, items: Sequence[Words], taken: frozenset[str]) -> tuple[str, ...]:
    """Return the column with a reference text for each item, under a usual name."""
    known = sorted((at, name) for name in rows.names if (at := place_in("reference", name)) is not None)
    return tuple(
        name
        for _, name in known
        if name not in taken
        and rows.column(name).filled
        and not rows.column(name).is_number
        and (rows.column(name).distinct > 1 or len({*items}) == 1)
        and varies(items, rows.identified(name)) == 0.0
    )[:1]


def _differing(rows: SheetRows, items: Sequence[Words], prompts: Sequence[str]) -> Iterator[str]:
    if not prompts:
        for name in rows.names:
            share = varies(items, rows.identified(name)) if last_part(name) in NAMES["prompt"][:PLAINEST] else 0.0
            if share > ALIKE:
                yield f"{shortened(name)} differs within {share:.0%} of the items and is not shown: are they the same?"
    for name in prompts:
        if share := varies(items, rows.identified(name)):
            mixed = ", also beside what systems made of other passages" if is_passages(name) else ""
            yield f"{shortened(name)} differs within {share:.1%} of the items: the first is shown{mixed}"


def _passages_aside(rows: SheetRows, items: Sequence[Words], taken: frozenset[str]) -> Iterator[str]:
    """Name passages that stand beside the prompt and are not shown, as each system was given, or found, its own."""
    names = [name for name in rows.names if is_passages(name) and name not in taken and rows.column(name).filled]
    differ = [name for name in names if varies(items, rows.identified(name)) > ALIKE]
    own = [name for name in names if name not in differ]
    if differ:
        yield (
            f"{names_listed(differ)}: passages that differ by system, and are not shown: answers are judged without "
            "what each system was given; what it was given is part of what is compared"
        )
    if len(own) > 1 or any(of_one_system(rows, name) for name in own):
        yield (
            f"{names_listed(own)}: passages that are not shown, as they may be a single system's: answers are judged "
            "without; those that all systems were given are shown with --prompt"
        )


def _medium(given: NamedColumns, outputs: Sequence[str]) -> Medium:
    """Return the medium of outputs: what is said of it, else that of which nearly all are paths, else texts."""
    if given.kind is not None:
        return medium_of(given.kind)
    return medium_of_paths(outputs) or medium_of(PLAIN)


def _with_file(rows: SheetRows, path: str) -> Path:
    """Return the path of a file: beside the table, else in the working folder."""
    folders = (*(sheet.file.parent for sheet in rows.sheets), Path())
    named = Path(path.strip())
    paths = (folder / named for folder in folders)
    return next((path for path in paths if len(str(path)) < 1000 and path.is_file()), named)


def _given_files(
    rows: SheetRows, items: Sequence[Words], columns: Sequence[str]
) -> tuple[dict[str, str], str, Iterator[str]]:
    """Return prompts of which some columns hold the paths of files, the key of their medium, and what is said of it."""
    of_files = {name: medium for name in columns if (medium := medium_of_paths(rows.column(name).filled))}
    if not of_files:
        return _prompts(rows, items, columns), PLAIN, iter(())
    kind = JOINED if len(columns) > 1 else next(iter(of_files.values())).key
    found: dict[str, list[str | Path]] = {}
    for name in columns:
        for item, text in _prompts(rows, items, (name,)).items():
            found.setdefault(item, []).append(Path(text.strip()) if name in of_files else text)
    if kind != JOINED:
        return {item: str(_with_file(rows, str(parts[0]))) for item, parts in found.items()}, kind, iter(())
    listed = " and ".join(f"{medium.many} ({shortened(name, 40)})" for name, medium in of_files.items())
    return (
        {item: text_with_files(parts) for item, parts in found.items()},
        kind,
        iter((f"prompts are {kind}, with {listed}",)),
    )


def _said(rows: SheetRows, name: str) -> str:
    if name == FILE:
        return "the file" if len({sheet.file for sheet in rows.sheets}) == len(rows.sheets) else "the sheet"
    if name == LINE:
        only = "its place in the file" if len(rows.sheets) == 1 else "its place in each file: rows are paired in order"
        return f"{only}, as no column names it"
    said = rows.column(name).description
    return f"column {shortened(name)}" + (f", {said}" if said else "")


def _item_name(prompts: Sequence[str]) -> str | None:
    return ITEM_NAMES.get(last_part(prompts[0])) if prompts else None


def _size(column: OutputColumn, medium: Medium) -> str:
    size = f" of {column.length:,.0f} characters on average" if medium.files is None else ""
    return f" ({medium.many}{size})"


def _prompt_lines(rows: SheetRows, prompts: Sequence[str], dialogues: Dialogues) -> Iterator[str]:
    """Name the columns of prompts; what was taken of dialogues is said with these."""
    told = dialogues.note is not None
    talks = {name for name in prompts if told and any(isinstance(cell, Spoken) for cell in rows.column(name).cells)}
    named = [
        f"column {shortened(name)}" if name in talks else _said(rows, name)
        for name in prompts
        if name not in talks or not dialogues.whole
    ]
    if named:
        yield "prompt: " + ", below it ".join(named)


def _empty_lines(empty: Mapping[str, int]) -> Iterator[str]:
    if empty:
        by_system = ", ".join(f"{count:,} of {shortened(system, 40)}" for system, count in [*empty.items()][:SHOWN])
        yield f"empty answers: {sum(empty.values()):,} ({by_system})"


def _further(column: OutputColumn) -> Iterator[str]:
    if column.more:
        base = column.name.removesuffix("[0]")
        do = f"; --each {shlex.quote(base)} makes a row of each" if base != column.name and "[" not in base else ""
        yield f"further values of lists, in {column.more:,} rows: {shortened(column.name)} is the first{do}"


def _unused(rows: SheetRows, taken: Iterable[str]) -> Iterator[str]:
    rest = [name for name in rows.names if name not in {*taken} and rows.column(name).filled]
    if rest:
        yield f"other columns: {len(rest)} ({names_listed(rest)})"
    if unread := rows.unread:
        yield f"columns that are not read: {len(unread)} ({names_listed(unread)})"
    if any(sheet.unnamed for sheet in rows.sheets):
        yield "an index without a name"
