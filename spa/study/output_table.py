"""Sorts the rows of output files into cells: what one system made of one item, sample by sample."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from spa.records.clean_text import cleaned
from spa.records.covariates import control_columns
from spa.records.outputs import Key
from spa.records.problems import nearest, quote
from spa.records.raters import rater_variants
from spa.records.study import Study
from spa.records.toml_table import NOTHING
from spa.study.output_files import OutputFileRow, display_files
from spa.tables.near_matches import matches_shown, near_matches
from spa.tables.source import Number

LISTED = 5  # how many of many like mistakes are listed


@dataclass(frozen=True, slots=True)
class RawOutput:
    """An output as it stands in its file; ``value`` is empty where the cell is."""

    row: OutputFileRow
    sample: str | None
    value: str

    @property
    def place(self) -> str:
        """Return the file and row."""
        return self.row.place


@dataclass(frozen=True, slots=True)
class Cells:
    """All rows, sorted: item texts in the order of the files, outputs by item and system."""

    texts: dict[str, str | None]
    outputs: dict[Key, tuple[RawOutput, ...]]
    first: dict[str, OutputFileRow]  # the first row of each item
    references: dict[str, tuple[str, ...]]  # different texts of an item in the columns of references
    item_notes: dict[Key, RawOutput] = field(default_factory=dict)  # rubric and reference of each item that has them
    notes: tuple[str, ...] = ()  # what is to be said of how the files were read


def required_columns(study: Study) -> tuple[str, ...]:
    """Return the columns that a study reads from its output files."""
    outputs = study.outputs
    names = [outputs.item] if isinstance(outputs.item, str) else list(outputs.item)
    names += [one.id for one in study.systems] if outputs.layout == "wide" else [outputs.system, outputs.output]
    names += [name for name in (outputs.sample, outputs.item_text) if name is not None]
    names += [*outputs.notes.values(), *reference_columns(study), *control_columns(study.analysis.control)]
    return tuple(dict.fromkeys(names))


def reference_columns(study: Study) -> list[str]:
    """Return the references that are columns; the others are systems."""
    systems = {one.id for one in study.systems}
    return [name for name in study.outputs.references if name not in systems]


def sort_rows(study: Study, rows: Iterable[OutputFileRow]) -> tuple[Cells, list[str]]:
    """Sort rows into cells.

    Returns what could be sorted, and one line per problem; similar problems are reported together.
    """
    identified, problems = _identify(study, rows)
    texts, first, more = _item_texts(study, identified)
    problems += more
    noted, more = _item_notes(study, identified)
    problems += more
    gathered: dict[Key, list[RawOutput]] = {}
    unknown: dict[str, list[OutputFileRow]] = defaultdict(list)
    known = [one.id for one in study.systems]
    needed = systems_answering_every_item(study)
    for item_id, row in identified:
        for system, value in _answers(study, row):
            if value is None and study.outputs.layout == "wide" and system not in needed:
                continue  # an empty cell: not asked
            if system not in known:
                unknown[system].append(row)
                continue
            if isinstance(value, Number):
                expected = f"the output of {quote(system)} as text"
                problems.append(f"{row.place}: expected {expected}, got the number {value}; write it in quotes")
            sample = row.values[study.outputs.sample] if study.outputs.sample else None
            gathered.setdefault((item_id, system), []).append(RawOutput(row, sample, value or ""))
    problems += _unknown_systems(unknown, known)
    ordered = {}
    for key, samples in gathered.items():
        ordered[key], mistakes = _in_order(study, key, samples)
        problems += mistakes
    files = display_files(study.outputs.files)
    absent = _absent(files, texts, ordered, needed)
    problems += [*absent, *(_nearly_the_same(files, known, texts) if absent else ())]
    problems += [
        f"{files}: expected outputs of {quote(system)}, got none; add some or remove the system"
        for system in known
        if system not in needed and all(answered != system for _, answered in ordered)
    ]
    return Cells(texts, ordered, first, _references(study, identified), noted), problems


def _references(study: Study, identified: Iterable[tuple[str, OutputFileRow]]) -> dict[str, tuple[str, ...]]:
    """Gather the reference texts of each item, each once; empty cells are none."""
    columns = reference_columns(study)
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for item_id, row in identified:
        for column in columns:
            text = cleaned(row.values[column] or "")
            if text.strip():
                found[item_id][text] = None
    return {item_id: tuple(texts) for item_id, texts in found.items()}


def _nearly_the_same(files: str, systems: Iterable[str], items: Iterable[str]) -> Iterator[str]:
    """Yield the systems and items that may be one, where outputs are missing because they count as two."""
    for what, near in (("systems", near_matches(systems, versions=True)), ("items", near_matches(items))):
        if near:
            yield f"{files}: {what} {matches_shown(near)} may be the same; write each in one way"


def systems_answering_every_item(study: Study) -> list[str]:
    """Return the systems that must answer every item; where single outputs are dealt, those shown beside others."""
    if not study.single_outputs or study.outputs.match_length_of is not None:
        return [one.id for one in study.systems]
    beside = {variant.protocol.reference for rater in study.raters for variant in rater_variants(rater)}
    return [one.id for one in study.systems if one.role == "reference" or one.id in beside]


def first_few(lines: Sequence[str], noun: str) -> list[str]:
    """Return the first few of many like lines, then how many more there are."""
    rest = len(lines) - LISTED
    return [*lines[:LISTED], *([f"... and {rest} more {noun}"] if rest > 0 else [])]


def _identify(study: Study, rows: Iterable[OutputFileRow]) -> tuple[list[tuple[str, OutputFileRow]], list[str]]:
    columns = (study.outputs.item,) if isinstance(study.outputs.item, str) else study.outputs.item
    identified: list[tuple[str, OutputFileRow]] = []
    lines: list[str] = []
    for row in rows:
        parts = [row.values[column] for column in columns]
        item_id = cleaned("/".join(part for part in parts if part is not None))
        if all(parts) and item_id not in NOTHING:
            identified.append((item_id, row))
        elif all(parts):
            expected = f'an item id in column "{", ".join(columns)}"'
            lines.append(f"{row.place}: expected {expected}, got {quote(item_id)}, a missing value; give it another")
        else:
            empty = columns[[bool(part) for part in parts].index(False)]
            lines.append(f'{row.place}: expected an item id in column "{empty}", got nothing; fill it in')
    return identified, first_few(lines, "rows without an item id")


def _item_texts(
    study: Study, identified: Iterable[tuple[str, OutputFileRow]]
) -> tuple[dict[str, str | None], dict[str, OutputFileRow], list[str]]:
    column = study.outputs.item_text
    texts: dict[str, str | None] = {}
    first: dict[str, OutputFileRow] = {}
    lines: list[str] = []
    for item_id, row in identified:
        value = (row.values[column] or "") if column is not None else None
        if item_id not in first:
            first[item_id], texts[item_id] = row, value
            if isinstance(value, Number):
                lines.append(f'{row.place}: expected text in "{column}", got the number {value}; write it in quotes')
        elif texts[item_id] != value:
            lines.append(
                f'{row.place}: expected the same "{column}" for all rows of item {quote(item_id)}, '
                f"got another than in {first[item_id].place}; make them equal"
            )
    return texts, first, first_few(lines, "item texts that differ")


def _item_notes(
    study: Study, identified: Iterable[tuple[str, OutputFileRow]]
) -> tuple[dict[Key, RawOutput], list[str]]:
    """Gather what is noted of each item; a row may leave it empty, but no two rows of an item may differ."""
    found: dict[Key, RawOutput] = {}
    lines: list[str] = []
    for item_id, row in identified:
        for note, column in study.outputs.notes.items():
            value = row.values[column] or ""
            if not value.strip():
                continue
            known = found.setdefault((item_id, note), RawOutput(row, None, value))
            if known.value != value:
                lines.append(
                    f'{row.place}: expected the same "{column}" for all rows of item {quote(item_id)}, '
                    f"got another than in {known.place}; make them equal"
                )
            elif known.row is row and isinstance(value, Number):
                lines.append(f'{row.place}: expected text in "{column}", got the number {value}; write it in quotes')
    return found, first_few(lines, "notes of items that differ")


def _answers(study: Study, row: OutputFileRow) -> Iterator[tuple[str, str | None]]:
    if study.outputs.layout == "wide":
        for system in study.systems:
            yield system.id, row.values[system.id]
    else:
        yield row.values[study.outputs.system] or "", row.values[study.outputs.output]


def _unknown_systems(unknown: dict[str, list[OutputFileRow]], known: Sequence[str]) -> list[str]:
    lines = [
        f"{rows[0].place}: expected the id of a system, got {quote(system) if system else 'nothing'} "
        f"({len(rows)} row{'s' if len(rows) > 1 else ''}); {nearest(system, known)} "
        "(add it to [[systems]], or leave its rows out)"
        for system, rows in unknown.items()
    ]
    return first_few(lines, "unknown systems")


def _in_order(study: Study, key: Key, samples: list[RawOutput]) -> tuple[tuple[RawOutput, ...], list[str]]:
    """Put the samples of a cell in order: by number where all are numbers, else by text."""
    item_id, system = key
    if study.outputs.sample is None:
        if len(samples) == 1:
            return tuple(samples), []
        places = ", ".join(one.place for one in samples[:LISTED])
        return tuple(samples), [
            f"{places}: expected one output of {quote(system)} for item {quote(item_id)}, got {len(samples)}; "
            "remove rows or name the column that numbers them in [outputs] sample"
        ]
    problems = [
        f'{one.place}: expected a sample in column "{study.outputs.sample}", got {one.sample or "nothing"}; fill it in'
        for one in samples
        if not one.sample or one.sample in NOTHING
    ]
    first: dict[str | None, RawOutput] = {}
    for one in samples:
        if one.sample in first and one.sample:
            problems.append(
                f"{first[one.sample].place}, {one.place}: expected each sample once, got {quote(one.sample)} of "
                f"{quote(system)} for item {quote(item_id)} again; renumber or remove one"
            )
        first.setdefault(one.sample, one)
    return tuple(sorted(samples, key=lambda one: _sample_order(one.sample or ""))), problems


def _sample_order(sample: str) -> tuple[int, float, str]:
    try:
        return 0, float(sample), sample
    except ValueError:
        return 1, 0.0, sample


def _absent(
    files: str, texts: dict[str, str | None], outputs: dict[Key, tuple[RawOutput, ...]], known: Sequence[str]
) -> list[str]:
    absent = [(item_id, system) for item_id in texts for system in known if (item_id, system) not in outputs]
    if not absent:
        return []
    listed = ", ".join(f"{quote(item_id)} by {quote(system)}" for item_id, system in absent[:LISTED])
    more = f" and {len(absent) - LISTED} more" if len(absent) > LISTED else ""
    return [
        f"{files}: expected an output of every system for every item, got none for item {listed}{more}; "
        'add these rows, leave those items out, or rate single outputs (pages = "output")'
    ]
